"""Tool calls and their results as the APIs demand them: each call has an id of its own and one result after it.

Anthropic refuses a conversation in which two calls have the same id, in which a call has no result, or a result no call
("`tool_use` ids must be unique", "`tool_use` ids were found without `tool_result` blocks immediately after"); OpenAI
refuses it as well. https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use,
https://platform.openai.com/docs/guides/function-calling
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orbiter.models.message_parts import blocks_of
from orbiter.types import AssistantMessage, Message, TextBlock, ToolCall, ToolResult, UserMessage

NO_RESULT = "No result of this call is recorded."


def pair_tool_calls(messages: Iterable[Message]) -> list[Message]:
    """The conversation in a form that can be sent, whatever its history lacks.

    Some servers give their calls no ids, or the same ones in each reply, and a run may go on with another model. A
    history that a program has cut or kept may lack a call or a result. What is complete stays as it is; the same
    history gives the same messages each time, so that a provider's cache holds.
    """
    paired: list[Message] = []
    taken: set[str] = set()
    for turn in _turns(messages):
        first, rest = turn[0], turn[1:]
        if isinstance(first, AssistantMessage) and first.tool_calls:
            ids = [_free_id(call.id, taken) for call in first.tool_calls]
            paired.append(_with_call_ids(first, ids))
            paired += _answered(first.tool_calls, ids, rest)
        else:
            paired += [_without_call(each) if isinstance(each, ToolResult) else each for each in turn]
    return paired


def _turns(messages: Iterable[Message]) -> list[list[Message]]:
    """The messages, split before each reply of a model."""
    turns: list[list[Message]] = []
    for message in messages:
        if isinstance(message, AssistantMessage) or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def _free_id(wanted: str, taken: set[str]) -> str:
    """`wanted`, or one made of it where that is taken or empty; it is taken then."""
    found, number = wanted, 1
    while not found or found in taken:
        number += 1
        found = f"{wanted or 'call'}_{number}"
    taken.add(found)
    return found


def _with_call_ids(message: AssistantMessage, ids: Sequence[str]) -> AssistantMessage:
    """The message with these ids of its calls, also where its provider put something into it by their ids."""
    before = [call.id for call in message.tool_calls]
    if list(ids) == before:
        return message
    calls = [call.model_copy(update={"id": new}) for call, new in zip(message.tool_calls, ids, strict=True)]
    data = message.provider_data
    if data and (extras := data.get("calls")):
        renamed = {new: extras[old] for old, new in zip(before, ids, strict=True) if old in extras}
        data = {**data, "calls": renamed}
    return message.model_copy(update={"tool_calls": calls, "provider_data": data})


def _answered(calls: Sequence[ToolCall], ids: Sequence[str], rest: Sequence[Message]) -> list[Message]:
    """What follows a reply with calls: a result for each, then what else was said."""
    results: dict[str, ToolResult] = {}
    others: list[Message] = []
    for message in rest:
        if not isinstance(message, ToolResult):
            others.append(message)
            continue
        pairs = zip(calls, ids, strict=True)
        waiting = {new: call.name for call, new in pairs if call.id == message.tool_call_id and new not in results}
        # Of calls with the same id, that of the tool whose result it is; else the first.
        named = (new for new, name in waiting.items() if name == message.tool_name)
        call_id = next(named, None) or next(iter(waiting), None)
        if call_id is None:
            others.append(_without_call(message))
        else:
            same = call_id == message.tool_call_id
            results[call_id] = message if same else message.model_copy(update={"tool_call_id": call_id})
    for call, call_id in zip(calls, ids, strict=True):
        if call_id not in results:
            results[call_id] = ToolResult(tool_call_id=call_id, tool_name=call.name, error=NO_RESULT)
    return [*(results[call_id] for call_id in ids), *others]


def _without_call(result: ToolResult) -> UserMessage:
    """A result whose call is not in the conversation, as a user says it."""
    said = f"[Result of the tool {result.tool_name}, called earlier]"
    if result.error is not None:
        said = f"{said}\nError: {result.error}"
    return UserMessage(content=[TextBlock(text=said), *blocks_of(result.content)])
