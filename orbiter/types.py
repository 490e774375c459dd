"""What passes between models, agents, tools and callers: messages, results, usage, stream events.

All models are frozen pydantic models. Names and defaults are those of the seeds; fields that the seeds do not have
carry defaults and are left out of a dump while they hold them, so that a dump of old fields reads as it always did.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Generic, Literal, Protocol

from pydantic import Field
from typing_extensions import TypeVar

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
    "ChatProvider",
    "Content",
    "ContentBlock",
    "DocumentBlock",
    "ErrorEvent",
    "ImageDataBlock",
    "ImageURLBlock",
    "Message",
    "OrbiterError",
    "OutputT_co",
    "ReasoningEvent",
    "RunResult",
    "Runnable",
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


OutputT_co = TypeVar("OutputT_co", covariant=True, default=Any)
"""The type of `parsed`: an agent's `output_type`; Any where it has none."""


class Runnable(Protocol):
    """What `run` takes: an `Agent`, a `Swarm`, a group, a guest, or an object of your own with these two.

    Attributes:
        name: The name of its node in the run's tree.
        run: The coroutine function that runs it: ``(input, *, messages, provider, max_retries)``.

    Examples:
        >>> from orbiter import Agent, Runnable
        >>> runnable: Runnable = Agent(name="writer", model="openai:gpt-4o")
        >>> runnable.name
        'writer'
    """

    @property
    def name(self) -> str:
        """The name of its node."""
        ...

    @property
    def run(self) -> Callable[..., Awaitable[Any]]:
        """The coroutine function that runs it on an input.

        Its parameters: ``(input, *, messages, provider, max_retries)``.
        """
        ...


class ChatProvider(Protocol):
    """What answers for a model: a `ModelProvider`, or an object of your own with this method.

    Attributes:
        complete: The coroutine function that answers: ``(messages, *, tools, temperature, max_tokens)``.

    Examples:
        >>> from types import SimpleNamespace
        >>> from orbiter import Agent, run
        >>> class Parrot:
        ...     async def complete(self, messages, *, tools=None, temperature=None, max_tokens=None):
        ...         return SimpleNamespace(content=messages[-1].content, tool_calls=[], usage=None)
        >>> run.sync(Agent(name="echo"), "Polly?", provider=Parrot()).output
        'Polly?'
    """

    @property
    def complete(self) -> Callable[..., Awaitable[Any]]:
        """The coroutine function that answers a conversation; its result has `content`, `tool_calls` and `usage`.

        Its parameters: ``(messages, *, tools, temperature, max_tokens)``.
        """
        ...


def _absent(value: object) -> bool:
    return not value


def _none(value: object) -> bool:
    return value is None


# --- messages ---------------------------------------------------------------------------------------------------------


class ToolCall(Frozen):
    """A call that a model asks for; `arguments` is a JSON string as the model wrote it.

    Attributes:
        id: The model's own id of the call; its result carries the same.
        name: The tool's name.
        arguments: The arguments as JSON text, unchecked.

    Examples:
        >>> from orbiter import ToolCall
        >>> ToolCall(id="call-1", name="search", arguments='{"text": "lamps"}').name
        'search'
    """

    id: str
    name: str
    arguments: str = ""


class UserMessage(Frozen):
    """What a user, or the agent before, says.

    Attributes:
        role: Always ``user``.
        content: Text, or a list of content blocks (text, images, audio, documents).

    Examples:
        >>> from orbiter import UserMessage
        >>> UserMessage(content="What do three lamps cost?").role
        'user'
    """

    role: Literal["user"] = "user"
    content: Content


class SystemMessage(Frozen):
    """An agent's instructions.

    Attributes:
        role: Always ``system``.
        content: The instructions.

    Examples:
        >>> from orbiter import SystemMessage
        >>> SystemMessage(content="Answer in one sentence.").role
        'system'
    """

    role: Literal["system"] = "system"
    content: Content


class AssistantMessage(Frozen):
    """A model's reply. `provider_data` is opaque to all but the provider that wrote it and wants it back.

    Attributes:
        role: Always ``assistant``.
        content: What the model says; may be empty where it only calls tools.
        tool_calls: The tools that it asks for.
        provider_data: What the provider needs back with the next request, for example the signature of its reasoning.

    Examples:
        >>> from orbiter import AssistantMessage, ToolCall
        >>> reply = AssistantMessage(tool_calls=[ToolCall(id="call-1", name="search")])
        >>> [call.name for call in reply.tool_calls]
        ['search']
    """

    role: Literal["assistant"] = "assistant"
    content: Content = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    provider_data: dict[str, Any] | None = Field(default=None, exclude_if=_absent)


class ToolResult(Frozen):
    """A tool's answer to one call: `content`, or `error` for the model to read and correct.

    Attributes:
        role: Always ``tool``.
        tool_call_id: The id of the call that it answers.
        tool_name: The tool's name.
        content: What the tool returned, as text or content blocks.
        error: Why it failed; None where it did not.

    Examples:
        >>> from orbiter import ToolResult
        >>> ToolResult(tool_call_id="call-1", tool_name="search", content="3 lamps").error is None
        True
    """

    role: Literal["tool"] = "tool"
    tool_call_id: str
    tool_name: str
    content: Content = ""
    error: str | None = None


Message = UserMessage | SystemMessage | AssistantMessage | ToolResult
"""One message of a conversation; `role` tells which. A list of them is what `run(…, messages=…)` takes and
`RunResult.messages` holds.
"""
_AnyMessage = Annotated[Message, Field(discriminator="role")]


class ActionModel(Frozen):
    """A tool call with its arguments parsed.

    Attributes:
        tool_call_id: The id of the call.
        tool_name: The tool's name.
        arguments: The arguments by name.
    """

    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


# --- usage, input, output ---------------------------------------------------------------------------------------------


class Usage(Frozen):
    """Tokens. `cached_tokens` and `cache_write_tokens` are parts of the input, `reasoning_tokens` of the output.

    Attributes:
        input_tokens: Tokens that the model read.
        output_tokens: Tokens that it wrote.
        total_tokens: Both.
        cached_tokens: Input tokens that came from the provider's cache.
        cache_write_tokens: Input tokens that were written to it.
        reasoning_tokens: Output tokens that were reasoning.

    Examples:
        >>> from orbiter import Usage
        >>> (Usage(input_tokens=10, total_tokens=10) + Usage(output_tokens=5, total_tokens=5)).total_tokens
        15
    """

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
    """A question with the conversation before it.

    Attributes:
        query: What the user says.
        messages: The conversation before.
    """

    query: str
    messages: list[_AnyMessage] = Field(default_factory=list)


class AgentOutput(Frozen, Generic[OutputT_co]):
    """One reply of an agent's model.

    Attributes:
        text: What the model says.
        tool_calls: The tools that it asks for.
        usage: The tokens of this one call.
        reasoning: Its reasoning, where the provider shows it.
        finish_reason: Why the model stopped: ``stop``, ``tool_calls``, ``length``, ``content_filter``, or empty.
        parsed: The instance of the agent's `output_type`, where it has one.

    Examples:
        >>> from orbiter import AgentOutput
        >>> AgentOutput(text="64.60 EUR").text
        '64.60 EUR'
    """

    text: str = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    usage: Usage = NO_USAGE
    reasoning: str = Field(default="", exclude_if=_absent)
    finish_reason: str = Field(default="", exclude_if=_absent)
    parsed: OutputT_co | None = Field(default=None, exclude_if=_none)


class RunResult(Frozen, Generic[OutputT_co]):
    """What a run came to.

    Of a swarm, `output`, `messages`, `usage` and `steps` are the last agent's; `total_usage` and `total_steps` are the
    swarm's own.

    Attributes:
        output: The last answer, as text.
        messages: The conversation, without the system message.
        usage: Tokens of the last agent.
        steps: Runs of an agent: 1 for an agent.
        parsed: The instance of the agent's `output_type`, where it has one.
        run_id: The id under a runtime; empty under plain `run`.
        agent: The name of the agent whose output it is.
        stop_reason: ``stop``, ``max_steps``, ``length``, ``content_filter`` or empty.
        state: ``completed``, ``degraded`` (a part failed, and a policy accepted that), ``failed``, or empty.
        error: What failed; None where nothing did.
        warnings: What a reader of the output should know, for example that a step limit was reached.
        total_usage: Tokens of all agents of a swarm; None for an agent.
        total_steps: Runs of agents in a swarm.
        outputs: The output of each agent of a swarm by name, in the order in which they ran.

    Examples:
        >>> from orbiter import Agent, run
        >>> from orbiter.models.scripted.provider import Reply, script
        >>> _ = script("price", [Reply("64.60 EUR")])
        >>> result = run.sync(Agent(name="clerk", model="scripted:price"), "What do three lamps cost?")
        >>> result.output, result.steps
        ('64.60 EUR', 1)
    """

    output: str = ""
    messages: list[_AnyMessage] = Field(default_factory=list)
    usage: Usage = NO_USAGE
    steps: int = Field(default=0, ge=0)
    parsed: OutputT_co | None = Field(default=None, exclude_if=_none)
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
