"""What a call of a model, an agent and a run came to, and the tokens that it took."""

from __future__ import annotations

from typing import Any, Generic, Literal

from pydantic import Field
from typing_extensions import TypeVar

from orbiter._internal.values.frozen import Frozen, is_empty, is_none
from orbiter._internal.values.messages import AnyMessage, ToolCall

OutputT_co = TypeVar("OutputT_co", covariant=True, default=Any)
"""The type of `parsed`: an agent's `output_type`; Any where it has none."""


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
    cached_tokens: int = Field(default=0, exclude_if=is_empty)
    cache_write_tokens: int = Field(default=0, exclude_if=is_empty)
    reasoning_tokens: int = Field(default=0, exclude_if=is_empty)

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


NO_USAGE = Usage.model_construct()
"""No tokens: what a sum begins with. Made without validation, which would build a validator while modules load."""


class AgentInput(Frozen):
    """A question with the conversation before it.

    Attributes:
        query: What the user says.
        messages: The conversation before.
    """

    query: str
    messages: list[AnyMessage] = Field(default_factory=list)


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
    reasoning: str = Field(default="", exclude_if=is_empty)
    finish_reason: str = Field(default="", exclude_if=is_empty)
    parsed: OutputT_co | None = Field(default=None, exclude_if=is_none)


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
    messages: list[AnyMessage] = Field(default_factory=list)
    usage: Usage = NO_USAGE
    steps: int = Field(default=0, ge=0)
    parsed: OutputT_co | None = Field(default=None, exclude_if=is_none)
    run_id: str = Field(default="", exclude_if=is_empty)
    agent: str = Field(default="", exclude_if=is_empty)
    stop_reason: str = Field(default="", exclude_if=is_empty)
    state: Literal["", "completed", "degraded", "failed"] = Field(default="", exclude_if=is_empty)
    error: str | None = Field(default=None, exclude_if=is_empty)
    warnings: list[str] = Field(default_factory=list, exclude_if=is_empty)
    total_usage: Usage | None = Field(default=None, exclude_if=is_empty)
    total_steps: int = Field(default=0, ge=0, exclude_if=is_empty)
    outputs: dict[str, str] = Field(default_factory=dict, exclude_if=is_empty)
