"""Anthropic's Messages API: our messages in its form, its replies and stream events in ours.

Source: https://docs.anthropic.com/en/api/messages and …/messages-streaming. Imports no SDK.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from orbiter._internal.output_parser import arguments_object
from orbiter.models.message_parts import (
    blocks_of,
    provider_data_of,
    render_result,
    result_parts,
    split_runs,
    to_valid_id,
    unsupported_error,
)
from orbiter.models.tool_schemas import tool_functions
from orbiter.models.types import FinishReason, ModelResponse, StreamChunk, ToolCallDelta
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

_ID = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_FINISH: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


def to_wire(messages: Iterable[Message], *, provider: str, model: str) -> tuple[str, list[dict[str, Any]]]:
    """The system text, and the conversation in alternating turns: results and what follows them are one user turn.

    Raises:
        ModelError: Content that the API has no form for (code `unsupported_content`).
    """
    system: list[str] = []
    turns: list[dict[str, Any]] = []
    for run in split_runs(messages):
        first = run[0]
        if isinstance(first, SystemMessage):
            system.append(content_text(first.content))
            continue
        if isinstance(first, AssistantMessage):
            role, content = "assistant", _assistant(first, provider)
        elif isinstance(first, ToolResult):
            role = "user"
            content = [_result(each, provider, model) for each in run if isinstance(each, ToolResult)]
        else:
            role = "user"
            content = [_block(each, provider, model) for each in blocks_of(first.content) if not _is_blank(each)]
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(content)
        else:
            turns.append({"role": role, "content": content})
    for turn in turns:
        turn["content"] = turn["content"] or [{"type": "text", "text": "(no content)"}]
    return "\n\n".join(text for text in system if text.strip()), turns


def tools_to_wire(tools: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tool schemas from OpenAI's function form."""
    return [
        {
            "name": function["name"],
            "description": function.get("description") or "",
            "input_schema": function.get("parameters") or {"type": "object", "properties": {}},
        }
        for function in tool_functions(tools)
    ]


def earlier_tools(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The tools that were called in a conversation, for an agent that has none (it was handed over): "Requests which
    include `tool_use` or `tool_result` blocks must define tools."
    """
    replies = (each for each in messages if isinstance(each, AssistantMessage))
    names = dict.fromkeys(call.name for each in replies for call in each.tool_calls)
    return [{"name": name, "description": "", "input_schema": {"type": "object", "properties": {}}} for name in names]


def is_thinking_missing(messages: Iterable[Message], provider: str) -> bool:
    """Whether a tool loop is under way whose signed thoughts we lack: then thinking must be off for this call."""
    last = next((each for each in reversed(list(messages)) if not isinstance(each, ToolResult)), None)
    return isinstance(last, AssistantMessage) and bool(last.tool_calls) and not provider_data_of(last, provider)


def _assistant(message: AssistantMessage, provider: str) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = list(provider_data_of(message, provider).get("thinking", ()))
    # Trailing white space in a last assistant turn is refused, and white space alone is not text.
    text = content_text(message.content).rstrip()
    if text:
        content.append({"type": "text", "text": text})
    content += [
        {
            "type": "tool_use",
            "id": to_valid_id(call.id, _ID, 32),
            "name": call.name,
            "input": arguments_object(call, unfit="arguments"),
        }
        for call in message.tool_calls
    ]
    return content


def _result(result: ToolResult, provider: str, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    text = render_result(result)
    if text.strip():
        content.append({"type": "text", "text": text})
    content += result_parts(result, partial(_block, provider=provider, model=model))
    found: dict[str, Any] = {"type": "tool_result", "tool_use_id": to_valid_id(result.tool_call_id, _ID, 32)}
    if content:
        found["content"] = content
    if result.error is not None:
        found["is_error"] = True
    return found


def _is_blank(block: ContentBlock) -> bool:
    """Whether it is a text that the API refuses: "text content blocks must contain non-whitespace text"."""
    return isinstance(block, TextBlock) and not block.text.strip()


def _block(block: ContentBlock, provider: str, model: str) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ImageURLBlock):
        return {"type": "image", "source": {"type": "url", "url": block.url}}
    if isinstance(block, ImageDataBlock):
        return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": block.data}}
    if isinstance(block, DocumentBlock):
        source: dict[str, Any] = (
            {"type": "url", "url": block.url}
            if block.url
            else {"type": "base64", "media_type": block.media_type, "data": block.data}
        )
        return {"type": "document", "source": source} | ({"title": block.title} if block.title else {})
    raise unsupported_error(block, provider, model)


def usage_from_wire(usage: Any) -> Usage:
    """Tokens. The API's `input_tokens` leave the cached ones out; ours are all of the input."""
    if usage is None:
        return Usage()
    read = getattr(usage, "cache_read_input_tokens", None) or 0
    written = getattr(usage, "cache_creation_input_tokens", None) or 0
    spent = (getattr(usage, "input_tokens", None) or 0) + read + written
    made = getattr(usage, "output_tokens", None) or 0
    thought = getattr(getattr(usage, "output_tokens_details", None), "thinking_tokens", None) or 0
    return Usage(
        input_tokens=spent,
        output_tokens=made,
        total_tokens=spent + made,
        cached_tokens=read,
        cache_write_tokens=written,
        reasoning_tokens=thought,
    )


def finish_from_wire(reason: str) -> FinishReason:
    """Why the model stopped; a reason that is new to us counts as an ordinary stop."""
    return _FINISH.get(reason, "stop")


def response_from_wire(reply: Any, provider: str) -> ModelResponse:
    """A whole message. The caller has seen to it that it has a stop reason."""
    text: list[str] = []
    reasoning: list[str] = []
    calls: list[ToolCall] = []
    signed: list[dict[str, Any]] = []
    for block in reply.content:
        if block.type == "text":
            text.append(block.text)
        elif block.type == "tool_use":
            calls.append(ToolCall(id=block.id, name=block.name, arguments=_json(block.input)))
        elif block.type == "thinking":
            reasoning.append(block.thinking)
            signed.append({"type": "thinking", "thinking": block.thinking, "signature": block.signature})
        elif block.type == "redacted_thinking":
            signed.append({"type": "redacted_thinking", "data": block.data})
    return ModelResponse(
        id=reply.id or "",
        model=reply.model or "",
        content="".join(text),
        tool_calls=calls,
        usage=usage_from_wire(reply.usage),
        finish_reason=finish_from_wire(reply.stop_reason),
        reasoning_content="".join(reasoning),
        provider_data={"provider": provider, "thinking": signed} if signed else None,
    )


@dataclass(slots=True)
class AnthropicReader:
    """Reads the stream's events. Block numbers are the API's; tool calls are numbered from 0 among themselves."""

    provider: str
    finished: bool = False
    _calls: dict[int, int] = field(default_factory=dict)
    _inputs: dict[int, Any] = field(default_factory=dict)
    """Input of a call whose arguments have not begun to come: some servers send it whole at the block's start."""
    _signed: dict[int, dict[str, Any]] = field(default_factory=dict)
    _usage: Usage = field(default_factory=Usage)

    def read(self, event: Any) -> StreamChunk | None:
        """The chunk in an event. Kinds that are new to us are passed over, as the API asks of its clients."""
        match event.type:
            case "message_start":
                self._usage = usage_from_wire(event.message.usage)
                return StreamChunk(id=event.message.id or "", model=event.message.model or "")
            case "content_block_start":
                return self._start(event.index, event.content_block)
            case "content_block_delta":
                return self._delta(event.index, event.delta)
            case "content_block_stop":
                return self._stop(event.index)
            case "message_delta":
                return self._end(event)
        return None

    def _start(self, index: int, block: Any) -> StreamChunk | None:
        if block.type == "tool_use":
            number = self._calls[index] = len(self._calls)
            self._inputs[index] = block.input
            return StreamChunk(tool_call_deltas=[ToolCallDelta(index=number, id=block.id, name=block.name)])
        if block.type == "thinking":
            self._signed[index] = {"type": "thinking", "thinking": block.thinking or "", "signature": ""}
            return StreamChunk(reasoning_content=block.thinking) if block.thinking else None
        if block.type == "redacted_thinking":
            self._signed[index] = {"type": "redacted_thinking", "data": block.data}
        elif block.type == "text" and block.text:
            return StreamChunk(delta=block.text)
        return None

    def _delta(self, index: int, delta: Any) -> StreamChunk | None:
        if delta.type == "text_delta":
            return StreamChunk(delta=delta.text)
        if delta.type == "input_json_delta":
            if not delta.partial_json:
                return None
            self._inputs.pop(index, None)
            piece = ToolCallDelta(index=self._calls[index], arguments=delta.partial_json)
            return StreamChunk(tool_call_deltas=[piece])
        if delta.type == "thinking_delta":
            self._signed[index]["thinking"] += delta.thinking
            return StreamChunk(reasoning_content=delta.thinking)
        if delta.type == "signature_delta":
            self._signed[index]["signature"] += delta.signature
        return None

    def _stop(self, index: int) -> StreamChunk | None:
        if index not in self._inputs:
            return None
        whole = ToolCallDelta(index=self._calls[index], arguments=_json(self._inputs.pop(index)))
        return StreamChunk(tool_call_deltas=[whole])

    def _end(self, event: Any) -> StreamChunk:
        # Counts here are of the whole message; the input's are often missing and then stand as they began.
        told = usage_from_wire(event.usage)
        parts = told if told.input_tokens else self._usage
        self._usage = parts.model_copy(
            update={
                "output_tokens": told.output_tokens,
                "total_tokens": parts.input_tokens + told.output_tokens,
                "reasoning_tokens": told.reasoning_tokens,
            }
        )
        reason = event.delta.stop_reason
        self.finished = self.finished or bool(reason)
        signed = [self._signed[index] for index in sorted(self._signed)]
        return StreamChunk(
            finish_reason=finish_from_wire(reason) if reason else None,
            usage=self._usage,
            provider_data={"provider": self.provider, "thinking": signed} if signed else None,
        )


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value or {}, ensure_ascii=False)
