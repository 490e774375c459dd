"""A tool call as a step: what is recorded of it, and how it is changed by a decision.

A tool's failure is told to the model where the SDK does so; that text is made where the tool failed, by the tool's own
`failure_error_function`. Where the SDK would end the run, a person is asked.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from agents import ToolOutputFileContent, ToolOutputImage, ToolOutputText
from pydantic import TypeAdapter

from orbiter.guests.call_codec import CallCodec
from orbiter.guests.openai_agents.context_changes import Fields, change_again, changed_fields, fields_of
from orbiter.guests.openai_agents.life import entered
from orbiter.guests.typed_values import is_json, pack, unpack

_TEXTS = ("text", "object")
_Part = ToolOutputText | ToolOutputImage | ToolOutputFileContent
_PARTS: TypeAdapter[list[_Part]] = TypeAdapter(list[_Part])


@dataclass(slots=True, eq=False)
class ToolAsk:
    """One call of a tool. `arguments` are what the model gave, as JSON.

    `invoke` makes the call. `explain` gives what the model is told of a failure, None where the run would end, and
    `late` the same of a call that took too long. `told` is what `explain` gave. `context` is the context of the run,
    `before` what stood in it, and `made` whether the call was made in this life.
    """

    tool_name: str
    call_id: str
    arguments: dict[str, Any]
    invoke: Callable[[dict[str, Any]], Awaitable[Any]]
    explain: Callable[[Exception], Awaitable[str | None]]
    late: str | None = None
    failure: str = ""
    told: str | None = None
    context: Any = None
    before: Fields = field(init=False)
    made: bool = False

    def __post_init__(self) -> None:
        self.before = fields_of(self.context)


async def call_tool(ask: ToolAsk) -> dict[str, Any]:
    """What the tool gave. Agents that it runs are part of this step."""
    ask.told, ask.made = None, True
    try:
        with entered(None):
            return returned(ask, await ask.invoke(ask.arguments))
    except Exception as exc:
        ask.told = await ask.explain(exc)
        raise


def returned(ask: ToolAsk, value: Any) -> dict[str, Any]:
    """A result: text, parts of the SDK's (images, files), JSON, objects whose classes are known, or else the text that
    the model would get. With it, what the call changed of the context.
    """
    named: dict[str, Any] = {"tool_name": ask.tool_name, "tool_call_id": ask.call_id}
    changed = changed_fields(ask.before, ask.context) if ask.made else {}
    if changed:
        named["context"] = changed
    if isinstance(value, str):
        return {**named, "kind": "text", "value": value}
    parts = value if isinstance(value, list) else [value]
    if parts and all(isinstance(each, _Part) for each in parts):
        dumped = _PARTS.dump_python(parts, mode="json", exclude_none=True)
        return {**named, "kind": "parts" if isinstance(value, list) else "part", "value": dumped}
    if is_json(value):
        return {**named, "kind": "json", "value": value}
    try:
        return {**named, "kind": "object", "value": str(value), "packed": pack(value)}
    except (TypeError, ValueError):
        return {**named, "kind": "text", "value": str(value)}


def outcome(ask: ToolAsk, result: dict[str, Any]) -> Any:
    """What the SDK is given of a result. What a recalled call changed of the context is changed again."""
    if not ask.made:
        change_again(ask.context, result.get("context", {}))
    return value_of(result)


def value_of(result: dict[str, Any]) -> Any:
    """The value that a result stands for; of objects whose class is not loaded, the text that the model gets."""
    if "error" in result:
        return result["error"]
    if result["kind"] == "object":
        try:
            return unpack(result["packed"])
        except LookupError:
            return result["value"]
    if result["kind"] in ("part", "parts"):
        parts = _PARTS.validate_python(result["value"])
        return parts if result["kind"] == "parts" else parts[0]
    return result["value"]


class ToolCallCodec(CallCodec[ToolAsk, dict[str, Any]]):
    """Arguments and results of tool calls."""

    def dump(self, result: dict[str, Any]) -> Any:
        """What is a result or an error stands at the top, as in our own results, and only there."""
        found = {name: result[name] for name in ("tool_name", "tool_call_id", "context", "packed") if name in result}
        if "error" in result:
            return {**found, "error": result["error"]}
        value = result["value"]
        content = value if result["kind"] in _TEXTS else json.dumps(value, ensure_ascii=False)
        return {**found, "content": content, "kind": result["kind"]}

    def load(self, value: Any) -> dict[str, Any]:
        found = {name: value[name] for name in ("tool_name", "tool_call_id", "context", "packed") if name in value}
        if "error" in value:
            return {**found, "error": value["error"]}
        content = value["content"] if value["kind"] in _TEXTS else json.loads(value["content"])
        return {**found, "kind": value["kind"], "value": content}

    def _told_anyway(self, arguments: ToolAsk, exc: Exception) -> dict[str, Any] | None:
        """The result where the SDK has a text for the model."""
        told = arguments.late if isinstance(exc, TimeoutError) and arguments.told is None else arguments.told
        return None if told is None else self._failed(arguments, told)

    def _failed(self, arguments: ToolAsk, message: str) -> dict[str, Any]:
        changed = changed_fields(arguments.before, arguments.context) if arguments.made else {}
        named = {"tool_name": arguments.tool_name, "tool_call_id": arguments.call_id, "error": message}
        return {**named, "context": changed} if changed else named

    def by_hand(self, arguments: ToolAsk, value: Any) -> dict[str, Any]:
        return returned(arguments, value)


TOOL_CALL = ToolCallCodec()
