"""Agents: instructions, model, tools and handoffs of one agent, as a declaration (seeds 000 and 001).

An `Agent` is a declaration: it imports nothing of what runs it, and `Agent.run` looks that up. What happens while it
runs is in an object of its own, so one agent can be run any number of times at once.
"""

from __future__ import annotations

import asyncio as asyncio  # noqa: PLC0414 - seed 000 shows the wait here: programs replace `orbiter.agent.asyncio.sleep`
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Generic, Self

from orbiter._internal.arguments import TEXT, check_argument, check_error_functions
from orbiter._internal.declarations.agent_arguments import (
    check_agent_identity,
    check_agent_limits,
    check_agent_lists,
)
from orbiter._internal.declarations.serialization import (
    SerialisationError,
    dotted_path,
    import_dotted,
    import_tool,
    tool_path,
)
from orbiter._internal.keywords import name_nearest_keyword
from orbiter._internal.tools.tool_options import check_foreign_tool, foreign_schema
from orbiter._internal.tools.toolset import Toolset
from orbiter.config import parse_model_string
from orbiter.errors import AgentConfigurationError, AgentError
from orbiter.hooks import Hook, HookManager, HookPoint
from orbiter.policy import FailureMode, FailurePolicy, fallback_chain
from orbiter.steps import Traits
from orbiter.tool import FunctionTool, Tool
from orbiter.types import AgentOutput, ChatProvider, Message, OutputT_co

__all__ = ["Agent", "AgentError"]

_DEFAULT_FAILURE = FailurePolicy()
_PLAIN_FIELDS = ("model", "max_steps", "max_wall_time_s", "temperature", "max_tokens")
_FIELDS = frozenset(
    {"name", "instructions", *_PLAIN_FIELDS, "tools", "handoffs", "output_type", "fallbacks", "failure"}
)
"""What `from_dict` reads."""

Instructions = str | Callable[[str], str | Awaitable[str]]


class Agent(Generic[OutputT_co]):
    """An agent, declared by keywords. ``Agent[Report]`` is one whose `output_type` is ``Report``.

    Args:
        name: Unique within a swarm.
        model: ``provider:model``; without a colon the provider is ``openai``.
        instructions: The system message, or a callable (also async) that gets the agent's name and returns it; None
            or empty: no system message.
        tools: Tools; plain functions become tools. A tool set (`orbiter.mcp.mcp_tools`) is opened when the agent runs.
        handoffs: Agents to which this one may hand over in handoff mode.
        hooks: Pairs of `HookPoint` and hook.
        output_type: A pydantic model that the final answer must fit; one that does not fit goes back to the model.
        max_steps: Replies with tool calls before the agent stops with what it has.
        max_wall_time_s: Seconds that one run of the agent may take (seed 004); None: no limit. Under a runtime, waits
            for a person do not count. When the time is over, the agent has failed: the failure policy, the join policy
            or an operator decides what follows.
        temperature: For the model.
        max_tokens: For the model's reply.
        memory: Anything; kept for its owner, and not read here.
        context: Handed to tools in their `ToolContext.metadata`.
        fallbacks: Model strings for a runtime to try in turn where this agent's model fails.
        failure: What a failure means once retries are spent: a `FailurePolicy`, one word for all places, or a mapping.
        classify_error: ``(exception, context) -> classification`` for a runtime; a subclass may define it as a method.
        get_retry_policy: Gives the retry settings for this agent's model calls; a subclass may define it as a method.

    Raises:
        AgentConfigurationError: Two tools or two handoffs of one name, `max_steps` below 1, a time limit that is not
            above 0, or a value of the wrong kind: a handoff that is not an agent, hooks that are not pairs, an output
            type that is not a pydantic model.

    Examples:
        >>> from orbiter import Agent, run, tool
        >>> from orbiter.models.scripted.provider import Call, Reply, script
        >>> @tool
        ... def price(item: str) -> str:
        ...     "The price of an item."
        ...     return f"{item}: 21.53 EUR"
        >>> _ = script("shop", [Reply(calls=[Call("price", {"item": "lamp"})]), Reply("A lamp costs 21.53 EUR.")])
        >>> run.sync(Agent(name="clerk", model="scripted:shop", tools=[price]), "What does a lamp cost?").output
        'A lamp costs 21.53 EUR.'
    """

    classify_error: Callable[[Exception, dict[str, Any]], Any] | None = None
    get_retry_policy: Callable[[], Mapping[str, Any]] | None = None

    @name_nearest_keyword("Agent")
    def __init__(
        self,
        *,
        name: str,
        model: str = "openai:gpt-4o",
        instructions: Instructions | None = "",
        tools: Iterable[Tool | Toolset | Callable[..., Any]] | None = None,
        handoffs: Iterable[Agent] | None = None,
        hooks: Iterable[tuple[HookPoint, Hook]] | None = None,
        output_type: type[OutputT_co] | None = None,
        max_steps: int = 10,
        max_wall_time_s: float | None = None,
        temperature: float = 1.0,
        max_tokens: int | None = None,
        memory: object = None,
        context: object = None,
        fallbacks: Iterable[str] | str | None = None,
        failure: FailurePolicy | Mapping[str, FailureMode] | FailureMode | None = None,
        classify_error: Callable[[Exception, dict[str, Any]], Any] | None = None,
        get_retry_policy: Callable[[], Mapping[str, Any]] | None = None,
    ) -> None:
        check_agent_identity(name, model, instructions, output_type)
        check_agent_limits(name, max_steps, max_wall_time_s, temperature, max_tokens)
        check_agent_lists(name, tools=tools, handoffs=handoffs, hooks=hooks)
        self.name = name
        self.model = model
        self.provider_name, self.model_name = parse_model_string(model)
        self.instructions: Instructions = "" if instructions is None else instructions
        self.output_type = output_type
        self.max_steps = max_steps
        self.max_wall_time_s = max_wall_time_s
        self.temperature = temperature
        self.max_tokens = max_tokens
        self.memory: Any = memory
        self.context: Any = context
        self.fallbacks = fallback_chain(fallbacks, model)
        self.failure = _DEFAULT_FAILURE if failure is None else FailurePolicy.of(failure)
        self.tools: dict[str, Any] = {}
        self.toolsets: list[Toolset] = []
        for tool in tools or ():
            self._add_tool(tool)
        self.handoffs: dict[str, Agent] = {}
        for agent in handoffs or ():
            self._add_handoff(agent)
        self.hook_manager = HookManager()
        for pair in hooks or ():
            self._add_hook(pair)
        check_error_functions(f"Agent '{name}'", classify_error, get_retry_policy, AgentConfigurationError)
        if classify_error is not None:
            self.classify_error = classify_error
        if get_retry_policy is not None:
            self.get_retry_policy = get_retry_policy
        # What a runtime must know of this agent's model calls. Asking again does no harm.
        self.traits = Traits(
            idempotent=True,
            failure=self.failure.model,
            fallbacks=self.fallbacks,
            result_type=self.output_type,
            classify_error=self.classify_error,
            retry_policy=self.get_retry_policy,
        )

    def _add_tool(self, tool: Tool | Toolset | Callable[..., Any]) -> None:
        if isinstance(tool, Toolset):
            self.toolsets.append(tool)
            return
        made: Any = tool
        if not isinstance(tool, Tool) and not hasattr(tool, "execute"):
            made = FunctionTool(tool)
        elif not isinstance(tool, Tool):
            check_foreign_tool(self.name, tool)
        if made.name in self.tools:
            raise AgentConfigurationError(
                f"Duplicate tool name '{made.name}' on agent '{self.name}'",
                suggestion="Give one of them another name=.",
            )
        self.tools[made.name] = made

    def _add_hook(self, pair: Any) -> None:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise AgentConfigurationError(
                f"Agent '{self.name}': hooks are pairs of a hook point and a function, got {pair!r}",
                suggestion="Write hooks=[(HookPoint.START, my_hook)].",
            )
        self.hook_manager.add(*pair)

    def _add_handoff(self, agent: Agent) -> None:
        if not hasattr(agent, "name"):
            raise AgentConfigurationError(
                f"Agent '{self.name}': handoffs are agents, got {agent!r}", suggestion="Pass the agent, not its name."
            )
        owner = f"A handoff of agent '{self.name}'"
        check_argument(owner, "name", agent.name, TEXT, example="'writer'", error=AgentConfigurationError)
        if agent.name in self.handoffs:
            raise AgentConfigurationError(
                f"Duplicate handoff agent '{agent.name}' on agent '{self.name}'", suggestion="Name each agent once."
            )
        self.handoffs[agent.name] = agent

    async def run(
        self,
        input: str,
        *,
        messages: list[Message] | None = None,
        provider: ChatProvider | None = None,
        max_retries: int = 3,
    ) -> AgentOutput[OutputT_co]:
        """Run the tool loop until the model answers without a tool call. Only `run()` looks for endless loops.

        Args:
            input: What the user says.
            messages: The conversation before.
            provider: Who answers: anything with ``async complete(messages, *, tools, temperature, max_tokens)``.
            max_retries: Attempts for each model call, 1, 2, 4 … s apart; also how many replies in a row a model may
                spoil (malformed arguments, invalid structured output) before the run fails.

        Returns:
            The last reply; its `usage` is that of the last call alone.

        Raises:
            AgentError: No provider, attempts spent, or the conversation is too long for the model.
            OutputParseError: The model spoiled `max_retries` replies in a row.
            Exception: Whatever a hook raises.
        """
        from orbiter._internal.loop.prepared_run import get_run

        return await get_run(self, messages=messages, provider=provider, max_retries=max_retries).run(input)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in OpenAI's function-calling form."""
        return [tool.to_schema() if isinstance(tool, Tool) else foreign_schema(tool) for tool in self.tools.values()]

    def describe(self) -> dict[str, Any]:
        """The agent in a few words, JSON-able."""
        return {
            "name": self.name,
            "model": self.model,
            "tools": [*self.tools, *(each.name for each in self.toolsets)],
            "handoffs": list(self.handoffs),
            "max_steps": self.max_steps,
            "output_type": self.output_type.__name__ if self.output_type is not None else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """The agent as JSON; tools and output type as dotted paths, handoffs as agents.

        Raises:
            SerialisationError: Something has no importable name: callable instructions, hooks, closures, lambdas.
        """
        return self._to_dict()

    def _to_dict(self, above: tuple[str, ...] = ()) -> dict[str, Any]:
        """As `to_dict`. `above` names the agents whose handoffs lead here."""
        owner = f"Agent '{self.name}'"
        path = (*above, self.name)
        if self.name in above:
            raise SerialisationError(f"{owner}: handoffs go round in a circle: {' -> '.join(path)}")
        if not isinstance(self.instructions, str):
            raise SerialisationError(f"{owner}: callable instructions cannot be serialised", suggestion="Use a string.")
        if any(self.hook_manager.has_hooks(point) for point in HookPoint):
            raise SerialisationError(f"{owner}: hooks cannot be serialised", suggestion="Add them after from_dict().")
        if self.toolsets:
            raise SerialisationError(
                f"{owner}: the tool set '{self.toolsets[0].name}' cannot be serialised",
                suggestion="Add it after from_dict().",
            )
        for name in ("memory", "context", "classify_error", "get_retry_policy"):
            if vars(self).get(name) is not None:
                raise SerialisationError(
                    f"{owner}: {name} cannot be serialised", suggestion="Set it after from_dict()."
                )
        return {
            "name": self.name,
            "instructions": self.instructions,
            **{name: getattr(self, name) for name in _PLAIN_FIELDS},
            "tools": [tool_path(tool, owner) for tool in self.tools.values()],
            "handoffs": [Agent._to_dict(agent, path) for agent in self.handoffs.values()],
            "output_type": dotted_path(self.output_type, owner) if self.output_type is not None else None,
            "fallbacks": list(self.fallbacks),
            "failure": {place: getattr(self.failure, place) for place in ("model", "tool", "agent")},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The agent that `to_dict` described.

        Raises:
            SerialisationError: A dotted path cannot be imported, or a key is unknown.
        """
        return cls._from_dict(data)

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> Self:
        fields = dict(data)
        if not isinstance(fields.get("name"), str):
            raise SerialisationError("An agent needs a 'name'", context={"keys": sorted(map(str, data))})
        owner = f"Agent '{fields['name']}'"
        unknown = set(fields) - _FIELDS
        if unknown:
            raise SerialisationError(f"{owner}: unknown keys {sorted(unknown)}; known are {sorted(_FIELDS)}")
        fields["tools"] = [import_tool(path, owner) for path in fields.get("tools") or ()]
        fields["handoffs"] = [cls._from_dict(each) for each in fields.get("handoffs") or ()]
        if fields.get("output_type") is not None:
            fields["output_type"] = import_dotted(fields["output_type"], owner)
        return cls(**fields)

    def __repr__(self) -> str:
        parts = [f"name={self.name!r}", f"model={self.model!r}"]
        held = {"tools": list(self.tools), "handoffs": list(self.handoffs)}
        parts.extend(f"{what}={names!r}" for what, names in held.items() if names)
        return f"{type(self).__name__}({', '.join(parts)})"
