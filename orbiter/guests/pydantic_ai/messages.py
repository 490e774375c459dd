"""Conversations of pydantic-ai as ours, for people and digests, and ours as pydantic-ai's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from orbiter.guests.typed_values import as_json
from orbiter.types import AssistantMessage, Message, SystemMessage, ToolCall, ToolResult, UserMessage, content_text


def to_ours(messages: Iterable[ModelMessage]) -> list[Message]:
    """The conversation as our messages. What has no counterpart is left out: times, ids, reasoning, signatures."""
    found: list[Message] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            found.append(_reply(message))
        else:
            found.extend(each for part in message.parts if (each := _said(part)) is not None)
    return found


def _reply(message: ModelResponse) -> AssistantMessage:
    texts = [part.content for part in message.parts if isinstance(part, TextPart)]
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    return AssistantMessage(
        content="\n".join(texts),
        tool_calls=[
            ToolCall(id=each.tool_call_id, name=each.tool_name, arguments=arguments_text(each)) for each in calls
        ],
    )


def arguments_text(call: ToolCallPart) -> str:
    """The arguments of a call as JSON text; as the model wrote them, where it wrote text."""
    return call.args if isinstance(call.args, str) else json.dumps(call.args or {}, ensure_ascii=False)


def _said(part: ModelRequestPart) -> Message | None:
    if isinstance(part, SystemPromptPart):
        return SystemMessage(content=part.content)
    if isinstance(part, UserPromptPart):
        return UserMessage(content=_plain_text(part.content))
    if isinstance(part, ToolReturnPart):
        return ToolResult(tool_call_id=part.tool_call_id, tool_name=part.tool_name, content=part.model_response_str())
    if isinstance(part, RetryPromptPart):
        if part.tool_name is None:
            return UserMessage(content=part.model_response())
        return ToolResult(tool_call_id=part.tool_call_id, tool_name=part.tool_name, error=part.model_response())
    content = getattr(part, "content", None)
    return None if content is None else UserMessage(content=_plain_text(content))


def _plain_text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(as_json(content))


def to_theirs(messages: Sequence[Message]) -> list[ModelMessage]:
    """Our conversation as pydantic-ai's, without our agents' instructions: the agent has its own."""
    found: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, UserMessage):
            found.append(ModelRequest(parts=[UserPromptPart(content=content_text(message.content))]))
        elif isinstance(message, AssistantMessage):
            calls = [
                ToolCallPart(each.name, each.arguments or "{}", tool_call_id=each.id) for each in message.tool_calls
            ]
            text = content_text(message.content)
            found.append(ModelResponse(parts=[*([TextPart(text)] if text else []), *calls]))
        elif isinstance(message, ToolResult):
            said = message.error if message.error is not None else content_text(message.content)
            found.append(
                ModelRequest(parts=[ToolReturnPart(message.tool_name, said, tool_call_id=message.tool_call_id)])
            )
    return found
