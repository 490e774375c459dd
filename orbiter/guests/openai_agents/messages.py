"""Conversations of the OpenAI Agents SDK (items of the Responses API) as ours, and ours as theirs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents import ModelBehaviorError

from orbiter._internal.output_parser import OutputParseError
from orbiter._internal.output_parser import read_arguments as arguments_of
from orbiter.types import AssistantMessage, Message, SystemMessage, ToolCall, ToolResult, UserMessage, content_text


def to_ours(items: Iterable[Any]) -> list[Message]:
    """The conversation as our messages. What has no counterpart is left out: ids, reasoning, calls of hosted tools.

    Items of one reply are one message.
    """
    found: list[Message] = []
    names: dict[str, str] = {}
    for item in map(_as_mapping, items):
        call_id = str(item.get("call_id") or "")
        if item.get("role") == "assistant":
            _add_to_reply(found, text_of(item.get("content")), [])
        elif "role" in item:
            found.append(_said(str(item["role"]), text_of(item.get("content"))))
        elif "output" in item and call_id:
            name = names.get(call_id, "")
            found.append(ToolResult(tool_call_id=call_id, tool_name=name, content=text_of(item["output"])))
        elif call_id:
            names[call_id] = call_name(item)
            _add_to_reply(found, "", [ToolCall(id=call_id, name=names[call_id], arguments=call_arguments(item))])
    return found


def _add_to_reply(found: list[Message], text: str, calls: list[ToolCall]) -> None:
    """Add to the reply that is under way: the latest message, or a new one."""
    last = found.pop() if found and isinstance(found[-1], AssistantMessage) else AssistantMessage(content="")
    assert isinstance(last, AssistantMessage)
    before = content_text(last.content)
    said = f"{before}\n{text}" if before and text else before or text
    found.append(AssistantMessage(content=said, tool_calls=[*last.tool_calls, *calls]))


def call_name(item: Mapping[str, Any]) -> str:
    """What is called by an item that is a call: its name, else the kind of tool (`shell`)."""
    return str(item.get("name") or str(item.get("type", "")).removesuffix("_call"))


def call_arguments(item: Mapping[str, Any]) -> str:
    """The arguments of a call as the model wrote them; as JSON where they are not text."""
    for key in ("arguments", "input", "action", "operation"):
        given = item.get(key)
        if given is not None:
            return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return "{}"


def read_arguments(name: str, arguments: str) -> dict[str, Any]:
    """The arguments of a call, as they are recorded, shown and compared.

    Raises:
        agents.ModelBehaviorError: They are not an object of JSON, as the SDK raises it.
    """
    try:
        return arguments_of(ToolCall(id="", name=name, arguments=arguments))
    except OutputParseError as exc:
        raise ModelBehaviorError(f"Invalid JSON input for tool {name}: {exc}") from exc


def text_of(content: Any) -> str:
    """The text of a message or a result; what is not text, as JSON."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False, default=str)
    return "\n".join(_text_of_part(_as_mapping(part)) for part in content)


def _text_of_part(part: Mapping[str, Any]) -> str:
    for key in ("text", "refusal"):
        if isinstance(part.get(key), str):
            return str(part[key])
    return json.dumps(part, ensure_ascii=False, default=str)


def _as_mapping(item: Any) -> Mapping[str, Any]:
    if isinstance(item, Mapping):
        return item
    dumped: Mapping[str, Any] = item.model_dump(mode="json", exclude_unset=True)
    return dumped


def _said(role: str, text: str) -> Message:
    return UserMessage(content=text) if role == "user" else SystemMessage(content=text)


def to_theirs(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Our conversation as items, without our agents' instructions: the agent has its own."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, UserMessage):
            found.append({"role": "user", "content": content_text(message.content)})
        elif isinstance(message, AssistantMessage):
            if text := content_text(message.content):
                found.append({"role": "assistant", "content": text})
            found.extend(
                {"type": "function_call", "call_id": each.id, "name": each.name, "arguments": each.arguments or "{}"}
                for each in message.tool_calls
            )
        elif isinstance(message, ToolResult):
            said = message.error if message.error is not None else content_text(message.content)
            found.append({"type": "function_call_output", "call_id": message.tool_call_id, "output": said})
    return found


def call_ids(output: Iterable[Any]) -> list[str]:
    """The ids of the calls in a reply, in its order."""
    found = (getattr(item, "call_id", None) or _request_id(item) for item in output)
    return [each for each in found if each]


def _request_id(item: Any) -> str:
    return str(item.id) if getattr(item, "type", "") == "mcp_approval_request" else ""


def first_calls(output: Iterable[Any]) -> dict[str, str]:
    """The ids of the calls in a reply, by what they call; the first of each."""
    found: dict[str, str] = {}
    for item in output:
        if call_id := getattr(item, "call_id", None):
            found.setdefault(str(getattr(item, "name", "")), call_id)
    return found
