"""Messages, arguments and results as the GenAI conventions write them: roles with parts, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.judgement.reports.transcript import TranscriptMessage, build_transcript
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallContent:
    """What went into a call and what came out, as JSON has it; None: not known."""

    input: Any = None
    output: Any = None
    system: Any = None


def chat_content(state: DurableRun, ended: ev.StepEnded) -> CallContent:
    """What a model was sent, put together from the record, and what it said. `state`: with `ended` in it."""
    sent = build_transcript(state, ended.node_id).messages
    return CallContent(
        [_message(each) for each in sent if each.role != "system"] or None,
        _reply(ended.result),
        [{"type": "text", "content": each.text} for each in sent if each.role == "system"] or None,
    )


def tool_content(arguments: Any, result: Any) -> CallContent:
    """What a tool was given, and what it gave back."""
    if isinstance(result, Mapping) and "tool_call_id" in result:
        result = result.get("error") if result.get("error") is not None else result.get("content")
    return CallContent(arguments, result)


def composite_arguments(task: str) -> Any:
    """What a tool that runs agents or asks a server was given: the arguments, or only the task."""
    given = _given(task)
    return given if isinstance(given, dict) else {"task": task} if task else None


def user_message(text: str) -> list[Message]:
    """A task, as the conventions write it."""
    return [{"role": "user", "parts": [{"type": "text", "content": text}]}]


def assistant_message(text: str) -> list[Message]:
    """What an agent or a run came to."""
    return [{"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}]


def _message(sent: TranscriptMessage) -> Message:
    if sent.role == "tool":
        response: dict[str, Any] = {"type": "tool_call_response", "id": "".join(sent.ids[:1]) or None}
        return {"role": "tool", "parts": [{**response, "name": sent.name, "response": sent.text}]}
    calls = zip(sent.ids, sent.calls, strict=False)
    return {"role": sent.role, "parts": _parts(sent.text, ((name, id_, given) for id_, (name, given) in calls))}


def _reply(result: Any) -> list[Message] | None:
    if not isinstance(result, Mapping):
        return None
    found = result.get("tool_calls") or ()
    calls = [(str(each.get("name", "")), str(each.get("id", "")), each.get("arguments")) for each in found]
    parts = _parts(str(result.get("text") or ""), calls)
    return [{"role": "assistant", "parts": parts, "finish_reason": str(result.get("finish_reason") or "stop")}]


def _parts(text: str, calls: Iterable[tuple[str, str, Any]]) -> list[dict[str, Any]]:
    said = [{"type": "text", "content": text}] if text else []
    return [
        *said,
        *({"type": "tool_call", "id": id_ or None, "name": name, "arguments": _given(x)} for name, id_, x in calls),
    ]


def _given(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
