"""Ids of tool calls, one for each call of a conversation, as the APIs demand.

Anthropic refuses a conversation in which two calls have the same id ("`tool_use` ids must be unique"), and OpenAI one
with an empty id. https://docs.claude.com/en/api/messages, https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

from collections.abc import Iterable

from orbiter.types import AssistantMessage, Message, ToolResult


def give_each_call_an_id(messages: Iterable[Message]) -> list[Message]:
    """The conversation with an id for each call that no other has, as APIs demand; results have the id of their call.

    Some servers give no ids, or the same ones in each reply, and a run may go on with another model. What has an id of
    its own keeps it, and the others get the same one in each request, so that the provider's cache holds.
    """
    found: list[Message] = []
    taken: set[str] = set()
    waiting: dict[str, list[str]] = {}
    for message in messages:
        if isinstance(message, AssistantMessage) and message.tool_calls:
            given = [_free_id(call.id, taken) for call in message.tool_calls]
            waiting = {}
            for call, call_id in zip(message.tool_calls, given, strict=True):
                waiting.setdefault(call.id, []).append(call_id)
            found.append(_with_call_ids(message, given))
        elif isinstance(message, ToolResult) and (ids := waiting.get(message.tool_call_id)):
            call_id = ids.pop(0)
            same = call_id == message.tool_call_id
            found.append(message if same else message.model_copy(update={"tool_call_id": call_id}))
        else:
            found.append(message)
    return found


def _free_id(wanted: str, taken: set[str]) -> str:
    """`wanted`, or one made of it where that is taken or empty; it is taken then."""
    found, number = wanted, 1
    while not found or found in taken:
        number += 1
        found = f"{wanted or 'call'}_{number}"
    taken.add(found)
    return found


def _with_call_ids(message: AssistantMessage, ids: list[str]) -> AssistantMessage:
    """The message with these ids of its calls, also where its provider put something into it by their ids."""
    before = [call.id for call in message.tool_calls]
    if ids == before:
        return message
    calls = [call.model_copy(update={"id": new}) for call, new in zip(message.tool_calls, ids, strict=True)]
    data = message.provider_data
    if data and (extras := data.get("calls")):
        renamed = {new: extras[old] for old, new in zip(before, ids, strict=True) if old in extras}
        data = {**data, "calls": renamed}
    return message.model_copy(update={"tool_calls": calls, "provider_data": data})
