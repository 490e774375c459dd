"""Events of `run.stream`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from orbiter._internal.values.frozen import Frozen
from orbiter._internal.values.results import Usage


class TextEvent(Frozen):
    """A piece of a reply's text.

    Attributes:
        type: Always ``text``.
        text: The piece.
        agent_name: The agent that says it.

    Examples:
        >>> from orbiter import Agent, TextEvent, run
        >>> from orbiter.models.scripted.provider import Reply, script
        >>> _ = script("greeting", [Reply("Good morning.")])
        >>> async def said():
        ...     agent = Agent(name="host", model="scripted:greeting")
        ...     events = run.stream(agent, "Hello")
        ...     return "".join([event.text async for event in events if isinstance(event, TextEvent)])
        >>> import asyncio
        >>> asyncio.run(said())
        'Good morning.'
    """

    type: Literal["text"] = "text"
    text: str
    agent_name: str = ""


class ToolCallEvent(Frozen):
    """A model asks for a tool.

    Attributes:
        type: Always ``tool_call``.
        tool_name: The tool's name.
        tool_call_id: The id of the call.
        agent_name: The agent that asks.

    Examples:
        >>> from orbiter import ToolCallEvent
        >>> ToolCallEvent(tool_name="search", tool_call_id="call-1").type
        'tool_call'
    """

    type: Literal["tool_call"] = "tool_call"
    tool_name: str
    tool_call_id: str
    agent_name: str = ""


class StepEvent(Frozen):
    """A step of an agent (one reply and its tool calls) began or ended.

    Attributes:
        type: Always ``step``.
        step_number: Counted from 1.
        agent_name: The agent.
        status: ``started`` or ``completed``.
        started_at: Unix time in seconds.
        completed_at: Unix time in seconds; None while it goes on.
        usage: The tokens of its model call; None while it goes on.

    Examples:
        >>> from orbiter import StepEvent
        >>> StepEvent(step_number=1, status="started").completed_at is None
        True
    """

    type: Literal["step"] = "step"
    step_number: int
    agent_name: str = ""
    status: Literal["started", "completed"]
    started_at: float = 0.0
    completed_at: float | None = None
    usage: Usage | None = None


class ToolResultEvent(Frozen):
    """A tool answered.

    Attributes:
        type: Always ``tool_result``.
        tool_name: The tool's name.
        tool_call_id: The id of the call.
        arguments: What it was called with.
        result: What it returned, as text.
        error: Why it failed; None where it did not.
        success: Whether it did not fail.
        duration_ms: Milliseconds of this call alone.
        agent_name: The agent that asked.

    Examples:
        >>> from orbiter import ToolResultEvent
        >>> ToolResultEvent(tool_name="search", tool_call_id="call-1", result="3 lamps").success
        True
    """

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
    """A piece of a reply's reasoning.

    Attributes:
        type: Always ``reasoning``.
        text: The piece.
        agent_name: The agent whose model reasons.

    Examples:
        >>> from orbiter import ReasoningEvent
        >>> ReasoningEvent(text="Three lamps at 21.53 EUR").type
        'reasoning'
    """

    type: Literal["reasoning"] = "reasoning"
    text: str
    agent_name: str = ""


class ErrorEvent(Frozen):
    """Something failed. The stream raises the error after it.

    Attributes:
        type: Always ``error``.
        error: What failed, in words.
        error_type: The name of the error's class.
        agent_name: The agent in which it failed.
        step_number: The step, counted from 1; None outside any.
        recoverable: Whether the same operation can be made to succeed.

    Examples:
        >>> from orbiter import ErrorEvent
        >>> ErrorEvent(error="the model is overloaded", error_type="ModelServiceUnavailableError").recoverable
        False
    """

    type: Literal["error"] = "error"
    error: str
    error_type: str = ""
    agent_name: str = ""
    step_number: int | None = None
    recoverable: bool = False


class StatusEvent(Frozen):
    """The run came to another state.

    Attributes:
        type: Always ``status``.
        status: ``starting``, ``running``, ``waiting_for_tool``, ``completed``, ``cancelled`` or ``error``.
        agent_name: The agent.
        message: More about it, for a reader.

    Examples:
        >>> from orbiter import StatusEvent
        >>> StatusEvent(status="running").type
        'status'
    """

    type: Literal["status"] = "status"
    status: Literal["starting", "running", "waiting_for_tool", "completed", "cancelled", "error"]
    agent_name: str = ""
    message: str = ""


class UsageEvent(Frozen):
    """Tokens that one model call used.

    Attributes:
        type: Always ``usage``.
        usage: The tokens of the call.
        agent_name: The agent.
        step_number: The step, counted from 1.
        model: The model that answered.

    Examples:
        >>> from orbiter import Usage, UsageEvent
        >>> UsageEvent(usage=Usage(input_tokens=10, total_tokens=10), model="gpt-4o").usage.total_tokens
        10
    """

    type: Literal["usage"] = "usage"
    usage: Usage
    agent_name: str = ""
    step_number: int = 0
    model: str = ""


StreamEvent = (
    TextEvent | ToolCallEvent | StepEvent | ToolResultEvent | ReasoningEvent | ErrorEvent | StatusEvent | UsageEvent
)
"""What `run.stream` yields; `type` tells which."""
