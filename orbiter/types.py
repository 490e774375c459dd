"""What passes between models, agents, tools and callers: messages, results, usage, stream events.

All models are frozen pydantic models. Names and defaults are those of the seeds; fields that the seeds do not have
carry defaults and are left out of a dump while they hold them, so that a dump of old fields reads as it always did.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from orbiter._internal.content_blocks import (
    AudioBlock,
    Content,
    ContentBlock,
    DocumentBlock,
    Frozen,
    ImageDataBlock,
    ImageURLBlock,
    TextBlock,
    VideoBlock,
    content_text,
)
from orbiter.errors import OrbiterError

__all__ = [
    "ActionModel",
    "AgentInput",
    "AgentOutput",
    "AssistantMessage",
    "AudioBlock",
    "Content",
    "ContentBlock",
    "DocumentBlock",
    "ErrorEvent",
    "ImageDataBlock",
    "ImageURLBlock",
    "Message",
    "OrbiterError",
    "ReasoningEvent",
    "RunResult",
    "StatusEvent",
    "StepEvent",
    "StreamEvent",
    "SystemMessage",
    "TextBlock",
    "TextEvent",
    "ToolCall",
    "ToolCallEvent",
    "ToolResult",
    "ToolResultEvent",
    "Usage",
    "UsageEvent",
    "UserMessage",
    "VideoBlock",
    "content_text",
]


def _absent(value: object) -> bool:
    return not value


def _none(value: object) -> bool:
    return value is None


# --- messages ---------------------------------------------------------------------------------------------------------


class ToolCall(Frozen):
    """A call that a model asks for; `arguments` is a JSON string as the model wrote it."""

    id: str
    name: str
    arguments: str = ""


class UserMessage(Frozen):
    """What a user, or the agent before, says."""

    role: Literal["user"] = "user"
    content: Content


class SystemMessage(Frozen):
    """An agent's instructions."""

    role: Literal["system"] = "system"
    content: Content


class AssistantMessage(Frozen):
    """A model's reply. `provider_data` is opaque to all but the provider that wrote it and wants it back."""

    role: Literal["assistant"] = "assistant"
    content: Content = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    provider_data: dict[str, Any] | None = Field(default=None, exclude_if=_absent)


class ToolResult(Frozen):
    """A tool's answer to one call: `content`, or `error` for the model to read and correct."""

    role: Literal["tool"] = "tool"
    tool_call_id: str
    tool_name: str
    content: Content = ""
    error: str | None = None


Message = UserMessage | SystemMessage | AssistantMessage | ToolResult
_AnyMessage = Annotated[Message, Field(discriminator="role")]


class ActionModel(Frozen):
    """A tool call with its arguments parsed."""

    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


# --- usage, input, output ---------------------------------------------------------------------------------------------


class Usage(Frozen):
    """Tokens. `cached_tokens` and `cache_write_tokens` are parts of the input, `reasoning_tokens` of the output."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = Field(default=0, exclude_if=_absent)
    cache_write_tokens: int = Field(default=0, exclude_if=_absent)
    reasoning_tokens: int = Field(default=0, exclude_if=_absent)

    def __add__(self, other: Usage) -> Usage:
        """The sum, field by field."""
        if not isinstance(other, Usage):
            return NotImplemented
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            total_tokens=self.total_tokens + other.total_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


NO_USAGE = Usage()


class AgentInput(Frozen):
    """A question with the conversation before it."""

    query: str
    messages: list[_AnyMessage] = Field(default_factory=list)


class AgentOutput(Frozen):
    """One reply of an agent's model; `usage` is that of the last call alone.

    `parsed` is the instance of the agent's `output_type`, where it has one.
    """

    text: str = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    usage: Usage = NO_USAGE
    reasoning: str = Field(default="", exclude_if=_absent)
    finish_reason: str = Field(default="", exclude_if=_absent)
    parsed: Any = Field(default=None, exclude_if=_none)


class RunResult(Frozen):
    """What a run came to.

    Of a swarm, `output`, `messages`, `usage` and `steps` are the last agent's; the swarm's own totals are
    `total_usage` and `total_steps`, and `outputs` has each agent's output text by name, in the order in which they ran.
    `steps` counts one per agent run. `stop_reason` is ``stop``, ``max_steps``, ``length``, ``content_filter`` or empty.
    """

    output: str = ""
    messages: list[_AnyMessage] = Field(default_factory=list)
    usage: Usage = NO_USAGE
    steps: int = Field(default=0, ge=0)
    parsed: Any = Field(default=None, exclude_if=_none)
    run_id: str = Field(default="", exclude_if=_absent)
    agent: str = Field(default="", exclude_if=_absent)
    stop_reason: str = Field(default="", exclude_if=_absent)
    state: Literal["", "completed", "degraded", "failed"] = Field(default="", exclude_if=_absent)
    error: str | None = Field(default=None, exclude_if=_absent)
    warnings: list[str] = Field(default_factory=list, exclude_if=_absent)
    total_usage: Usage | None = Field(default=None, exclude_if=_absent)
    total_steps: int = Field(default=0, ge=0, exclude_if=_absent)
    outputs: dict[str, str] = Field(default_factory=dict, exclude_if=_absent)


# --- stream events ----------------------------------------------------------------------------------------------------


class TextEvent(Frozen):
    """A piece of a reply's text."""

    type: Literal["text"] = "text"
    text: str
    agent_name: str = ""


class ToolCallEvent(Frozen):
    """A model asks for a tool."""

    type: Literal["tool_call"] = "tool_call"
    tool_name: str
    tool_call_id: str
    agent_name: str = ""


class StepEvent(Frozen):
    """A step of an agent (one reply and its tool calls) began or ended. Steps count from 1; times are Unix seconds."""

    type: Literal["step"] = "step"
    step_number: int
    agent_name: str = ""
    status: Literal["started", "completed"]
    started_at: float = 0.0
    completed_at: float | None = None
    usage: Usage | None = None


class ToolResultEvent(Frozen):
    """A tool answered. `duration_ms` is this call's own."""

    type: Literal["tool_result"] = "tool_result"
    tool_name: str
    tool_call_id: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: str = ""
    error: str | None = None
    success: bool = True
    duration_ms: float = 0.0
    agent_name: str = ""


class ReasoningEvent(Frozen):
    """A piece of a reply's reasoning."""

    type: Literal["reasoning"] = "reasoning"
    text: str
    agent_name: str = ""


class ErrorEvent(Frozen):
    """Something failed; `error_type` is the class's name."""

    type: Literal["error"] = "error"
    error: str
    error_type: str = ""
    agent_name: str = ""
    step_number: int | None = None
    recoverable: bool = False


class StatusEvent(Frozen):
    """The run came to another state."""

    type: Literal["status"] = "status"
    status: Literal["starting", "running", "waiting_for_tool", "completed", "cancelled", "error"]
    agent_name: str = ""
    message: str = ""


class UsageEvent(Frozen):
    """Tokens that one model call used."""

    type: Literal["usage"] = "usage"
    usage: Usage
    agent_name: str = ""
    step_number: int = 0
    model: str = ""


StreamEvent = (
    TextEvent | ToolCallEvent | StepEvent | ToolResultEvent | ReasoningEvent | ErrorEvent | StatusEvent | UsageEvent
)
