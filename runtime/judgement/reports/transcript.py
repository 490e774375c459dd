"""The transcript of a model's call, put together from a run's state. Pure.

The first question of an agent is recorded with its messages; later ones only with their number, since they follow from
it: the replies, the results of the calls, and what operators put in between (`orbiter._internal.loop.model_step`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.rewind import place_of


class TranscriptMessage(NamedTuple):
    """One message, as text. `calls` are the tools that it asks for, each with its arguments as they were written, and
    `ids` the ids of these calls; of a tool's result, the id of the call that it answers. An id may be empty.
    """

    role: str
    text: str
    name: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    ids: tuple[str, ...] = ()


class Transcript(NamedTuple):
    """What a model was sent, oldest first. `number` is how many messages it was by the record: where it is another
    number, something in between (a hook's words, a corrected reply) stands in no record of its own.
    """

    messages: tuple[TranscriptMessage, ...] = ()
    number: int = 0


def build_transcript(state: DurableRun, node_id: str) -> Transcript:
    """The messages that a model's call was made with; none for any other node."""
    node = state.nodes.get(node_id)
    if node is None or node.kind != "llm":
        return Transcript()
    if (whole := _recorded_messages(node)) is not None:
        return Transcript(tuple(map(_parse_message, whole)), len(whole))
    messages = tuple(_put_together(state, node))
    count = node.requested.get("count")
    return Transcript(messages, count if isinstance(count, int) else len(messages))


def _recorded_messages(node: Node) -> list[Any] | None:
    """The messages in full, where they are recorded so: the latest version of them."""
    for source in (node.effective, node.edits or {}, node.requested):
        if isinstance(found := source.get("messages"), list):
            return found
    return None


def _put_together(state: DurableRun, node: Node) -> Iterator[TranscriptMessage]:
    agent = state.nodes.get(node.parent_id)
    if agent is None:
        return
    here = place_of(node.id)[0]
    earlier = [state.nodes[child] for child in agent.children if place_of(child)[0] < here]
    asked = [each for each in earlier if each.kind == "llm" and _recorded_messages(each) is not None]
    if not asked:
        return
    first = asked[-1]
    yield from map(_parse_message, _recorded_messages(first) or ())
    by_turn: dict[int, list[Node]] = {}
    for each in earlier:
        by_turn.setdefault(place_of(each.id)[0], []).append(each)
    for turn in range(place_of(first.id)[0], here):
        nodes = by_turn.get(turn, [])
        yield from (reply_message(each) for each in nodes if each.kind == "llm" and each.recorded)
        calls = [each for each in nodes if each.kind == "tool" and each.terminal]
        yield from (result_message(each) for each in sorted(calls, key=lambda each: place_of(each.id)[1] or 0))
        yield from (TranscriptMessage("user", text) for text in agent.delivered.get(turn + 1, ()))


def _parse_message(message: Any) -> TranscriptMessage:
    if not isinstance(message, dict):
        return TranscriptMessage("", _text(message))
    found = message.get("tool_calls")
    calls = found if isinstance(found, list | tuple) else ()
    error = message.get("error")
    answers = message.get("tool_call_id")
    return TranscriptMessage(
        str(message.get("role", "")),
        _text(error) if error else _text(message.get("content")),
        str(message.get("tool_name") or message.get("name") or ""),
        tuple(_call(call) for call in calls),
        (str(answers),)
        if answers
        else tuple(str(call.get("id", "")) if isinstance(call, dict) else "" for call in calls),
    )


def reply_message(node: Node) -> TranscriptMessage:
    """What a model's call came back with."""
    if not isinstance(node.result, dict):
        return TranscriptMessage("assistant", _text(node.result))
    return _parse_message({**node.result, "role": "assistant", "content": node.result.get("text", "")})


def result_message(node: Node) -> TranscriptMessage:
    """What a tool's call came back with."""
    if isinstance(node.result, dict):
        return _parse_message({"tool_name": node.name, **node.result, "role": "tool"})
    call_id = node.requested.get("id") or node.info.get("id")
    text = _text(node.error or node.output or node.result)
    return TranscriptMessage("tool", text, node.name, ids=(str(call_id),) if call_id else ())


def _call(call: Any) -> tuple[str, str]:
    if not isinstance(call, dict):
        return "", _text(call)
    return str(call.get("name", "")), _text(call.get("arguments"))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
