"""OpenAI's Chat Completions, as OpenAI and all compatible endpoints speak it: our messages in its form, and back.

Source: https://platform.openai.com/docs/api-reference/chat. Imports no SDK.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from orbiter.models.message_parts import (
    blocks_of,
    provider_data_of,
    render_result,
    result_parts,
    split_runs,
    to_valid_id,
    unsupported_error,
)
from orbiter.models.model_errors import CallContext
from orbiter.models.types import FinishReason, ModelResponse
from orbiter.types import (
    AssistantMessage,
    AudioBlock,
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

_ID = re.compile(r".{1,40}")
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


def to_wire(messages: Iterable[Message], *, provider: str, model: str) -> list[dict[str, Any]]:
    """The conversation. Images among tool results follow in a user message: the API has no other place for them.

    Raises:
        ModelError: Content that the API has no form for (code `unsupported_content`).
    """
    wire: list[dict[str, Any]] = []
    for run in split_runs(messages):
        first = run[0]
        if isinstance(first, SystemMessage):
            wire.append({"role": "system", "content": content_text(first.content)})
        elif isinstance(first, AssistantMessage):
            wire.append(_assistant(first, provider))
        elif isinstance(first, ToolResult):
            wire += _results([each for each in run if isinstance(each, ToolResult)], provider, model)
        elif isinstance(first.content, str):
            wire.append({"role": "user", "content": first.content})
        else:
            parts = [_part(block, provider, model) for block in blocks_of(first.content)]
            wire.append({"role": "user", "content": parts or ""})
    return wire


def _call_id(call_id: str, provider: str) -> str:
    # Mistral: "Tool call id has to be defined and of length 9, made of a-z, A-Z, 0-9". OpenAI: 40 characters at most.
    return to_valid_id(call_id, _MISTRAL_ID, 9) if provider == "mistral" else to_valid_id(call_id, _ID, 32)


def _assistant(message: AssistantMessage, provider: str) -> dict[str, Any]:
    own = provider_data_of(message, provider)
    text = content_text(message.content)
    wire: dict[str, Any] = {"role": "assistant", "content": text or None, **own.get("message", {})}
    if message.tool_calls:
        extras = own.get("calls", {})
        wire["tool_calls"] = [
            {
                "id": _call_id(call.id, provider),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
                **extras.get(call.id, {}),
            }
            for call in message.tool_calls
        ]
    elif not text:
        wire["content"] = ""
    return wire


def _results(results: list[ToolResult], provider: str, model: str) -> list[dict[str, Any]]:
    wire: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for result in results:
        others = result_parts(result, partial(_part, provider=provider, model=model))
        text = render_result(result)
        if others:
            shown.append({"type": "text", "text": f"Content of the result of {result.tool_name}:"})
            shown += others
            text = f"{text}\n[{len(others)} attachments follow]".strip()
        wire.append({"role": "tool", "tool_call_id": _call_id(result.tool_call_id, provider), "content": text})
    if shown:
        wire.append({"role": "user", "content": shown})
    return wire


def _part(block: ContentBlock, provider: str, model: str) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, ImageURLBlock):
        return {"type": "image_url", "image_url": {"url": block.url, "detail": block.detail}}
    if isinstance(block, ImageDataBlock):
        return {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{block.data}"}}
    if isinstance(block, AudioBlock):
        return {"type": "input_audio", "input_audio": {"data": block.data, "format": block.format}}
    if isinstance(block, DocumentBlock) and block.data:
        data = f"data:{block.media_type};base64,{block.data}"
        return {"type": "file", "file": {"filename": block.title or "document.pdf", "file_data": data}}
    raise unsupported_error(block, provider, model)


def usage_from_wire(usage: Any) -> Usage:
    """Tokens; cached ones are part of the input, reasoning of the output, here as there."""
    if usage is None:
        return Usage()
    spent = getattr(usage, "prompt_tokens", None) or 0
    made = getattr(usage, "completion_tokens", None) or 0
    read = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    if read is None:
        # DeepSeek's own name for it.
        read = getattr(usage, "prompt_cache_hit_tokens", None) or 0
    thought = getattr(getattr(usage, "completion_tokens_details", None), "reasoning_tokens", None) or 0
    return Usage(
        input_tokens=spent,
        output_tokens=made,
        total_tokens=getattr(usage, "total_tokens", None) or spent + made,
        cached_tokens=read,
        reasoning_tokens=thought,
    )


def reasoning_of(message: Any) -> str:
    """The thoughts in a message or delta: `reasoning_content` (DeepSeek, xAI) or `reasoning` (OpenRouter, Groq)."""
    for name in ("reasoning_content", "reasoning"):
        value = getattr(message, name, None)
        if isinstance(value, str) and value:
            return value
    return ""


def arguments_text(function: Any) -> str:
    """The arguments of a call, or a piece of them, as text. Servers exist that send the object itself."""
    given = getattr(function, "arguments", None)
    return given if isinstance(given, str) else json.dumps(given) if given is not None else ""


def finish_from_wire(reason: str, *, calls: bool) -> FinishReason:
    """Why the model stopped. Some servers say `stop` and call tools; a reason new to us is an ordinary stop."""
    found = _FINISH.get(reason, "stop")
    return "tool_calls" if calls and found == "stop" else found


@dataclass(slots=True)
class RoundTripData:
    """What a provider wants to have back with the conversation: thoughts that it refuses to go on without.

    DeepSeek wants `reasoning_content` of a reply that calls tools, OpenRouter `reasoning_details`, Google the
    `extra_content` (thought signatures) of each call.
    """

    provider: str
    reasoning: list[str] = field(default_factory=list)
    details: list[Any] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)

    def note(self, message: Any) -> None:
        """Take what a message or delta has of it, apart from calls."""
        if self.provider == "deepseek":
            self.reasoning.append(reasoning_of(message))
        if self.provider == "openrouter":
            self.details += getattr(message, "reasoning_details", None) or ()

    def note_call(self, call_id: str, call: Any) -> None:
        """Take what a call has of it."""
        extra = getattr(call, "extra_content", None)
        if extra:
            self.extras[call_id] = {"extra_content": extra}

    def data(self, *, calls: bool) -> dict[str, Any] | None:
        """The message's `provider_data`, None if nothing is wanted back."""
        message: dict[str, Any] = {}
        reasoning = "".join(self.reasoning)
        if reasoning and calls:
            message["reasoning_content"] = reasoning
        if self.details:
            message["reasoning_details"] = self.details
        if not message and not self.extras:
            return None
        return {"provider": self.provider, "message": message, "calls": self.extras}


def response_from_wire(reply: Any, call: CallContext) -> ModelResponse:
    """A whole completion.

    Raises:
        ModelError: An error body under a good status (OpenRouter), no choice at all, or no finish reason.
    """
    error = getattr(reply, "error", None)
    if error:
        raise call.body_error(error)
    choice = reply.choices[0]
    message = choice.message
    if not choice.finish_reason:
        raise call.truncated_error(request_id=getattr(reply, "_request_id", "") or "", got=len(message.content or ""))
    if choice.finish_reason == "error":
        raise call.body_error(getattr(choice, "error", None) or {"message": "The model stopped with an error"})
    back = RoundTripData(call.provider)
    back.note(message)
    calls: list[ToolCall] = []
    for each in message.tool_calls or ():
        call_id = each.id or f"call_{uuid4().hex[:24]}"
        back.note_call(call_id, each)
        calls.append(ToolCall(id=call_id, name=each.function.name, arguments=arguments_text(each.function)))
    refusal = getattr(message, "refusal", None)
    return ModelResponse(
        id=reply.id or "",
        model=reply.model or "",
        content=message.content or refusal or "",
        tool_calls=calls,
        usage=usage_from_wire(reply.usage),
        finish_reason="content_filter" if refusal else finish_from_wire(choice.finish_reason, calls=bool(calls)),
        reasoning_content=reasoning_of(message),
        provider_data=back.data(calls=bool(calls)),
    )
