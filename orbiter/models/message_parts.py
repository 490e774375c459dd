"""What both wire formats need of messages: their parts, valid ids, and data that a provider wants back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

from orbiter.models.types import ModelError
from orbiter.types import AssistantMessage, ContentBlock, Message, TextBlock, ToolResult


def blocks_of(content: str | list[ContentBlock]) -> list[ContentBlock]:
    """Content as blocks, empty texts left out: no API takes them."""
    if isinstance(content, str):
        return [TextBlock(text=content)] if content else []
    return [block for block in content if not isinstance(block, TextBlock) or block.text]


def render_result(result: ToolResult) -> str:
    """What a model reads of a tool's result, images and the like apart; errors say that they are errors."""
    text = "\n".join(block.text for block in blocks_of(result.content) if isinstance(block, TextBlock))
    if result.error is None:
        return text
    return f"Error: {result.error}\n{text}" if text else f"Error: {result.error}"


def result_parts(result: ToolResult, part: Callable[[ContentBlock], dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of a tool's result that are not texts. One that the API has no form for becomes a text that says so:
    a tool has no other form to offer, and the conversation could never be sent again.

    Args:
        result: The result.
        part: How the API wants one block. Raises `ModelError`, code `unsupported_content`, for one that it cannot take.
    """
    parts = []
    for block in blocks_of(result.content):
        if isinstance(block, TextBlock):
            continue
        try:
            parts.append(part(block))
        except ModelError as exc:
            if exc.code != "unsupported_content":
                raise
            parts.append(part(TextBlock(text=f"[{block.type}: left out, this model takes no content of this kind]")))
    return parts


def provider_data_of(message: AssistantMessage, provider: str) -> dict[str, Any]:
    """What this provider put into the message to have it back; nothing if another one wrote it."""
    data = message.provider_data or {}
    return data if data.get("provider") == provider else {}


def to_valid_id(call_id: str, shape: re.Pattern[str], length: int) -> str:
    """A tool call's id as an API takes it: unchanged if it fits, else made of it, the same each time.

    Ids travel between providers: a run may go on with another model after a failure.
    """
    if shape.fullmatch(call_id):
        return call_id
    return sha256(call_id.encode()).hexdigest()[:length]


def unsupported_error(block: ContentBlock, provider: str, model: str) -> ModelError:
    """The error for content that an API has no form for."""
    return ModelError(
        f"Provider '{provider}' takes no content of type '{block.type}' in this form",
        provider=provider,
        model=model,
        code="unsupported_content",
        type="invalid_request_error",
        where="client",
        hint="Send the data itself instead of a URL (or the other way round), or text made of it.",
    )


def split_runs(messages: Iterable[Message]) -> list[list[Message]]:
    """Messages in runs of tool results, and everything else one by one."""
    runs: list[list[Message]] = []
    for message in messages:
        if runs and isinstance(message, ToolResult) and isinstance(runs[-1][-1], ToolResult):
            runs[-1].append(message)
        else:
            runs.append([message])
    return runs
