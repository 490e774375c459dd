"""What a model provider returns: a whole reply, or chunks of one."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from orbiter.errors import ModelError
from orbiter.types import ToolCall, Usage

__all__ = ["FinishReason", "ModelError", "ModelResponse", "StreamChunk", "ToolCallDelta"]

FinishReason = Literal["stop", "tool_calls", "length", "content_filter"]
"""Why the model stopped: it was done, it wants tools run, it hit the token limit, or a filter cut it off."""


class ModelResponse(BaseModel):
    """A model's whole reply to one call.

    Attributes:
        content: What the model says.
        tool_calls: The tools that it asks for.
        usage: The tokens of the call.
        finish_reason: Why it stopped.

    Examples:
        >>> from orbiter.models import ModelResponse
        >>> ModelResponse(content="64.60 EUR").finish_reason
        'stop'
    """

    model_config = ConfigDict(frozen=True)

    id: str = ""
    """The provider's id of the reply; empty where it gives none."""
    model: str = ""
    """The model that answered, as the provider names it: may be more exact than what was asked for."""
    content: str = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    usage: Usage = Field(default_factory=Usage)
    finish_reason: FinishReason = "stop"
    reasoning_content: str = ""
    """What the model thought aloud before its answer, where the provider shows it."""
    provider_data: dict[str, Any] | None = None
    """What this provider wants back with the conversation (signed thoughts); belongs into the `AssistantMessage`."""


class ToolCallDelta(BaseModel):
    """A piece of one tool call: `index` says of which, `arguments` continues its JSON text.

    Attributes:
        index: Which call of the reply, counted from 0.
        id: The call's id, in its first piece.
        name: The tool's name, in its first piece.
        arguments: More of the arguments' JSON text.
    """

    model_config = ConfigDict(frozen=True)

    index: int = 0
    id: str | None = None
    name: str | None = None
    arguments: str = ""


class StreamChunk(BaseModel):
    """A piece of a reply. Text and arguments add up; finish reason and usage come once, usually with the last piece.

    Attributes:
        delta: More of the text.
        tool_call_deltas: More of the tool calls.
        finish_reason: Why the model stopped; None while it goes on.
        reasoning_content: More of what it thought aloud.
        id: The provider's id of the reply.
        model: The model that answers.
        provider_data: As of `ModelResponse`.
    """

    model_config = ConfigDict(frozen=True)

    delta: str = ""
    tool_call_deltas: list[ToolCallDelta] = Field(default_factory=list)
    finish_reason: FinishReason | None = None
    usage: Usage = Field(default_factory=Usage)
    """Tokens of the whole call so far, not of this piece; all zero in pieces that say nothing of it."""
    reasoning_content: str = ""
    id: str = ""
    model: str = ""
    provider_data: dict[str, Any] | None = None
