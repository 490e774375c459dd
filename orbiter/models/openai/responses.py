"""OpenAI's Responses API, for models that speak nothing else: our messages as its items, its events as our chunks.

Nothing is stored at the provider: the conversation is ours, and encrypted reasoning travels with it.
Source: https://platform.openai.com/docs/api-reference/responses. Imports no SDK.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from orbiter.models.message_parts import (
    blocks_of,
    provider_data_of,
    render_result,
    result_parts,
    to_valid_id,
    unsupported_error,
)
from orbiter.models.model_errors import CallContext
from orbiter.models.response_format import reply_schema
from orbiter.models.sdk_provider import ModelRequest
from orbiter.models.tool_schemas import add_missing_items, tool_functions
from orbiter.models.types import FinishReason, ModelError, ModelResponse, StreamChunk, ToolCallDelta
from orbiter.types import (
    AssistantMessage,
    ContentBlock,
    DocumentBlock,
    ImageDataBlock,
    ImageURLBlock,
    Message,
    SystemMessage,
    TextBlock,
    ToolCall,
    ToolResult,
    Usage,
    content_text,
)

_ID = re.compile(r".{1,64}")
_REASONS = re.compile(r"o\d|gpt-[5-9]|codex|computer-use")


def build_request(asked: ModelRequest, common: dict[str, Any], call: CallContext) -> dict[str, Any]:
    """The request's fields; `common`: those that both of OpenAI's APIs have.

    Raises:
        ModelError: Content that the API has no form for (code `unsupported_content`).
    """
    found: dict[str, Any] = {**common, "store": False, "input": to_wire(asked.messages, call)}
    system = "\n\n".join(content_text(each.content) for each in asked.messages if isinstance(each, SystemMessage))
    if system:
        found["instructions"] = system
    if _REASONS.match(call.model):
        found.setdefault("include", ["reasoning.encrypted_content"])
    if asked.tools:
        found["tools"] = [
            {
                "type": "function",
                "name": function["name"],
                "description": function.get("description") or "",
                "parameters": add_missing_items(function.get("parameters")) or {"type": "object", "properties": {}},
                "strict": False,
            }
            for function in tool_functions(asked.tools)
        ]
    if asked.max_tokens is not None:
        found["max_output_tokens"] = asked.max_tokens
    if asked.output_type is not None:
        schema, strict = reply_schema(asked.output_type)
        form = {"type": "json_schema", "name": asked.output_type.__name__[:64], "schema": schema, "strict": strict}
        found["text"] = {**(found.get("text") or {}), "format": form}
    return found


def to_wire(messages: Iterable[Message], call: CallContext) -> list[dict[str, Any]]:
    """The conversation as input items, system messages apart."""
    items: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            continue
        if isinstance(message, AssistantMessage):
            items += provider_data_of(message, call.provider).get("reasoning", ())
            text = content_text(message.content)
            if text:
                items.append({"role": "assistant", "content": text})
            items += [
                {
                    "type": "function_call",
                    "call_id": to_valid_id(each.id, _ID, 32),
                    "name": each.name,
                    "arguments": each.arguments or "{}",
                }
                for each in message.tool_calls
            ]
        elif isinstance(message, ToolResult):
            others = result_parts(message, partial(_part, call=call))
            output: Any = render_result(message)
            if others:
                output = [{"type": "input_text", "text": output}, *others]
            call_id = to_valid_id(message.tool_call_id, _ID, 32)
            items.append({"type": "function_call_output", "call_id": call_id, "output": output})
        else:
            parts = [_part(block, call) for block in blocks_of(message.content)]
            items.append({"role": "user", "content": parts or ""})
    return items


def _part(block: ContentBlock, call: CallContext) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "input_text", "text": block.text}
    if isinstance(block, ImageURLBlock):
        return {"type": "input_image", "image_url": block.url, "detail": block.detail}
    if isinstance(block, ImageDataBlock):
        return {"type": "input_image", "image_url": f"data:{block.media_type};base64,{block.data}", "detail": "auto"}
    if isinstance(block, DocumentBlock):
        if block.url:
            return {"type": "input_file", "file_url": block.url}
        data = f"data:{block.media_type};base64,{block.data}"
        return {"type": "input_file", "filename": block.title or "document.pdf", "file_data": data}
    raise unsupported_error(block, call.provider, call.model)


def usage_from_wire(usage: Any) -> Usage:
    """Tokens; cached ones are part of the input, reasoning of the output."""
    if usage is None:
        return Usage()
    return Usage(
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
        total_tokens=usage.total_tokens or 0,
        cached_tokens=getattr(usage.input_tokens_details, "cached_tokens", None) or 0,
        reasoning_tokens=getattr(usage.output_tokens_details, "reasoning_tokens", None) or 0,
    )


def response_from_wire(reply: Any, call: CallContext) -> ModelResponse:
    """A whole response.

    Raises:
        ModelError: It failed, was cancelled, or never came to an end.
    """
    finish = _finish(reply, call)
    text: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    for item in reply.output:
        if item.type == "message":
            text += [part.text if part.type == "output_text" else part.refusal for part in item.content]
        elif item.type == "function_call":
            calls.append(ToolCall(id=item.call_id, name=item.name, arguments=item.arguments))
        elif item.type == "reasoning":
            thoughts += [part.text for part in item.summary]
    return ModelResponse(
        id=reply.id or "",
        model=reply.model or "",
        content="".join(text),
        tool_calls=calls,
        usage=usage_from_wire(reply.usage),
        finish_reason=finish,
        reasoning_content="\n\n".join(thoughts),
        provider_data=_wanted_back(reply, call),
    )


def _wanted_back(reply: Any, call: CallContext) -> dict[str, Any] | None:
    """The reasoning items, which the API wants before the calls that they led to."""
    items = [
        {
            "type": "reasoning",
            "id": item.id,
            "summary": [{"type": "summary_text", "text": part.text} for part in item.summary],
            "encrypted_content": item.encrypted_content,
        }
        for item in reply.output
        if item.type == "reasoning" and getattr(item, "encrypted_content", None)
    ]
    return {"provider": call.provider, "reasoning": items} if items else None


def _finish(reply: Any, call: CallContext) -> FinishReason:
    if reply.status == "completed":
        kinds = {item.type for item in reply.output}
        if "function_call" in kinds:
            return "tool_calls"
        refused = any(
            part.type == "refusal" for item in reply.output if item.type == "message" for part in item.content
        )
        return "content_filter" if refused else "stop"
    if reply.status == "incomplete":
        reason = getattr(reply.incomplete_details, "reason", None)
        return "content_filter" if reason == "content_filter" else "length"
    if reply.status == "failed":
        raise _failed(reply.error, call)
    raise call.truncated_error(got=0)


def _failed(error: Any, call: CallContext) -> ModelError:
    body = {"message": getattr(error, "message", None) or "The response failed", "code": getattr(error, "code", None)}
    return call.http_error(200, {}, json.dumps({"error": body}), where="stream")


@dataclass(slots=True)
class ResponsesReader:
    """Reads the stream's events."""

    call: CallContext
    finished: bool = False
    _calls: dict[int, int] = field(default_factory=dict)

    def read(self, event: Any) -> StreamChunk | None:
        """The chunk in an event; kinds that are new to us are passed over."""
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta":
                return StreamChunk(delta=event.delta)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return StreamChunk(reasoning_content=event.delta)
            case "response.output_item.added" if event.item.type == "function_call":
                number = self._calls[event.output_index] = len(self._calls)
                opened = ToolCallDelta(index=number, id=event.item.call_id, name=event.item.name)
                return StreamChunk(tool_call_deltas=[opened])
            case "response.function_call_arguments.delta":
                piece = ToolCallDelta(index=self._calls[event.output_index], arguments=event.delta)
                return StreamChunk(tool_call_deltas=[piece])
            case "response.completed" | "response.incomplete" | "response.failed":
                return self._end(event.response)
            case "error":
                raise _failed(event, self.call)
        return None

    def _end(self, reply: Any) -> StreamChunk:
        finish = _finish(reply, self.call)
        self.finished = True
        return StreamChunk(
            finish_reason=finish,
            usage=usage_from_wire(reply.usage),
            provider_data=_wanted_back(reply, self.call),
            id=reply.id or "",
            model=reply.model or "",
        )
