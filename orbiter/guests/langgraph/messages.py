"""Conversations of LangChain as ours, for people and digests, and ours as LangChain's; messages as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
)
from langchain_core.messages import (
    ToolCall as TheirToolCall,
)

from orbiter._internal.output_parser import arguments_object
from orbiter.guests import typed_values
from orbiter.guests.langgraph import packed_values
from orbiter.guests.typed_values import as_json, is_json
from orbiter.types import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    content_text,
)
from orbiter.types import (
    SystemMessage as OurSystemMessage,
)

_ARTIFACT = "orbiter_artifact"
"""The key of a tool's artifact that is not JSON."""


def to_ours(messages: Iterable[BaseMessage]) -> list[Message]:
    """The conversation as our messages. What has no counterpart is left out: ids, metadata, reasoning."""
    found: list[Message] = []
    for message in messages:
        text = message.text
        if isinstance(message, AIMessage):
            calls = [
                ToolCall(id=each["id"] or "", name=each["name"], arguments=arguments_text(each["args"]))
                for each in message.tool_calls
            ]
            found.append(AssistantMessage(content=text, tool_calls=calls))
        elif isinstance(message, ToolMessage):
            failed = message.status == "error"
            call_id, name = message.tool_call_id, message.name or ""
            error = text if failed else None
            found.append(ToolResult(tool_call_id=call_id, tool_name=name, content="" if failed else text, error=error))
        elif isinstance(message, SystemMessage):
            found.append(OurSystemMessage(content=text))
        else:
            found.append(UserMessage(content=text))
    return found


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """The arguments of a call as JSON text."""
    return json.dumps(arguments, ensure_ascii=False, default=str)


def to_theirs(messages: Sequence[Message]) -> list[AnyMessage]:
    """Our conversation as LangChain's, without our agents' instructions: the agent has its own."""
    found: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, UserMessage):
            found.append(HumanMessage(content_text(message.content)))
        elif isinstance(message, AssistantMessage):
            calls = [
                TheirToolCall(name=each.name, args=arguments_object(each), id=each.id) for each in message.tool_calls
            ]
            found.append(AIMessage(content_text(message.content), tool_calls=calls))
        elif isinstance(message, ToolResult):
            failed = message.error is not None
            said = message.error if message.error is not None else content_text(message.content)
            found.append(
                ToolMessage(
                    said,
                    tool_call_id=message.tool_call_id,
                    name=message.tool_name,
                    status="error" if failed else "success",
                )
            )
    return found


def dump_message(message: BaseMessage) -> dict[str, Any]:
    """A message as JSON, without what is not set. The artifact of a tool, which no model is shown, may be anything."""
    artifact = getattr(message, "artifact", None)
    if artifact is not None and not is_json(artifact):
        message = message.model_copy(update={"artifact": None})
        return {**dump_message(message), _ARTIFACT: _dump_artifact(artifact)}
    try:
        found: dict[str, Any] = message.model_dump(mode="json", fallback=str)
    except ValueError:  # bytes that are not text
        found = as_json(message.model_dump())
    return {name: each for name, each in found.items() if each not in (None, {}, []) or name in {"content", "type"}}


def load_message(value: Mapping[str, Any]) -> BaseMessage:
    """A message from what `dump_message` wrote. A class of its own comes back as the class of LangChain's that it is
    derived from.
    """
    data = dict(value)
    artifact = data.pop(_ARTIFACT, None)
    (found,) = messages_from_dict([{"type": value["type"], "data": data}])
    return found if artifact is None else found.model_copy(update={"artifact": _load_artifact(artifact)})


def _dump_artifact(artifact: Any) -> dict[str, Any]:
    """Objects of known classes with their classes, else in LangGraph's serialisation; what has neither form as JSON."""
    for name, write in (("typed", typed_values.pack), ("packed", packed_values.pack)):
        try:
            return {name: write(artifact)}
        except (TypeError, ValueError):
            continue
    return {"json": as_json(artifact)}


def _load_artifact(dumped: Mapping[str, Any]) -> Any:
    if "packed" in dumped:
        return packed_values.unpack(dumped["packed"])
    try:
        return typed_values.unpack(dumped["typed"]) if "typed" in dumped else dumped["json"]
    except LookupError:
        return dumped["typed"][-1]
