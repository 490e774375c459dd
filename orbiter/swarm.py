"""Swarms: agents and how they hand work on (seed 001, "Swarm Execution Modes").

A `Swarm` is a declaration: it imports nothing of what runs it, and `run` and `stream` look that up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from orbiter._internal.agent_group import ParallelGroup, SerialGroup
from orbiter._internal.arguments import TEXT, WHOLE, check_argument, check_error_functions
from orbiter._internal.declarations.container import Container, members_by_name, models_of
from orbiter._internal.declarations.flow import order_flow
from orbiter._internal.declarations.recovery_policy import RecoveryPolicy
from orbiter._internal.declarations.serialization import SerialisationError
from orbiter._internal.keywords import name_nearest_keyword, show_keywords
from orbiter._internal.nested import SwarmNode
from orbiter._internal.run_options import STREAM_DEFAULTS, StreamOptions
from orbiter.agent import Agent
from orbiter.errors import SwarmError
from orbiter.policy import (
    ErrorHandlingConfig,
    FailureMode,
    FailurePolicy,
    JoinPolicy,
    as_error_handling,
    declared_agent_policy,
)
from orbiter.steps import SWARM_KEY, ScopeKind, errors_as_json

if TYPE_CHECKING:
    from orbiter._internal.event_stream import EventStream
    from orbiter._internal.groups.delegate_tool import _DelegateTool
else:

    def __getattr__(name: str) -> Any:
        """`_DelegateTool`, which seed 000 has here. It runs workers, so it is loaded when it is asked for."""
        if name != "_DelegateTool":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from orbiter._internal.groups.delegate_tool import _DelegateTool

        return _DelegateTool


__all__ = ["ParallelGroup", "SerialGroup", "Swarm", "SwarmError", "SwarmNode", "_DelegateTool"]

MODES = ("workflow", "handoff", "team")
_POLICIES = ("planner", "router", "join", "failure", "budget", "errors")
_FIELDS = frozenset({"agents", "flow", "mode", "max_handoffs", "fallbacks", *_POLICIES})
"""What `from_dict` reads."""


SwarmMode = Literal["workflow", "handoff", "team"]


class Swarm(Container):
    """Several agents as one.

    Args:
        agents: Agents, groups or nested swarms, each with a name of its own.
        flow: Order in the flow DSL, such as ``"a >> (b | c) >> d"``: b and c at the same time, d gets both outputs.
            Without it the order of `agents`.
        mode: ``workflow`` (each output is the next one's input), ``handoff`` (an agent whose output is the name of one
            of its handoffs hands the conversation over) or ``team`` (the first agent leads and delegates to the rest).
        max_handoffs: Transitions between agents that a handoff swarm may make.
        join: When a parallel stage, or a team's delegated work, has succeeded: a `JoinPolicy`, its word, or a
            mapping of its fields.
        failure: What an agent's failure means to a workflow or a team: with ``degrade`` or ``continue`` the next stage
            gets the input that the failed one had, and a team's lead is told; with ``fail`` the swarm fails at once.
            Without a word for agents an operator is asked, where one may be.
        planner: Who gets a failure that asks for another plan (seed 002, REPLANNING); by default a team's lead, or
            the first agent of a handoff swarm. For a runtime.
        router: Who gets a failure that asks for another agent (RECLASSIFICATION); by default as `planner`.
        fallbacks: Who stands in: models for a model string, agents for an agent's name, each tried in turn.
        budget: What the swarm may use up under a runtime: `max_steps`, `max_tool_calls`, `max_llm_calls`,
            `max_total_cost_usd`, `max_total_tokens`, `max_wall_time_s`.
        errors: How failures in it are handled. Its settings take precedence over those of swarms around it and of the
            workspace's ``[errors]``; those of `run(…, errors=…)` take precedence over them. Without a runtime only
            its attempts and waits hold.
        classify_error: ``(exception, context) -> classification`` for all failures in it that neither a tool nor an
            agent classifies. For a runtime; a subclass may define it as a method.
        get_retry_policy: Gives the retry settings where neither a tool nor an agent has any.

    Raises:
        SwarmError: No agents, two of one name, or a flow that is malformed, has a cycle, names agents that are not
            members, or leaves agents out; a planner or router that is not a member. An unknown mode is refused by
            `run`.
        ConfigurationError: A fallback that is not a model or an agent, an unknown budget, or an unknown setting of
            errors.

    Examples:
        >>> from orbiter import Agent, Swarm, run
        >>> from orbiter.models.scripted.provider import Reply, script
        >>> _ = script("plan", [Reply("1. measure 2. cut")]), script("build", [Reply("It is built.")])
        >>> agents = [Agent(name="planner", model="scripted:plan"), Agent(name="builder", model="scripted:build")]
        >>> result = run.sync(Swarm(agents=agents, flow="planner >> builder"), "Build a table.")
        >>> result.output, result.total_steps
        ('It is built.', 2)
    """

    _kind: ScopeKind = "swarm"

    @name_nearest_keyword("Swarm")
    def __init__(
        self,
        *,
        agents: Iterable[Any],
        flow: str | None = None,
        mode: SwarmMode = "workflow",
        max_handoffs: int = 10,
        join: JoinPolicy | Mapping[str, Any] | str | None = None,
        failure: FailurePolicy | Mapping[str, FailureMode] | FailureMode | None = None,
        planner: str | None = None,
        router: str | None = None,
        fallbacks: Mapping[str, Any] | None = None,
        budget: Mapping[str, float] | None = None,
        errors: ErrorHandlingConfig | Mapping[str, Any] | None = None,
        classify_error: Callable[[Exception, dict[str, Any]], Any] | None = None,
        get_retry_policy: Callable[[], Mapping[str, Any]] | None = None,
    ) -> None:
        self.agents: dict[str, Any] = members_by_name(agents, SwarmError, "Swarm", "swarm")
        if flow is not None:
            check_argument("Swarm", "flow", flow, TEXT, example="'a >> b'", error=SwarmError)
        check_argument("Swarm", "max_handoffs", max_handoffs, WHOLE, example="10", error=SwarmError)
        self.flow = flow
        self.mode = mode
        self.max_handoffs = max_handoffs
        self.join = JoinPolicy.of(join)
        self.failure = FailurePolicy.of(failure)
        self.agent_policy = declared_agent_policy(failure)
        self.recovery = RecoveryPolicy.of(
            self.agents, planner=planner, router=router, fallbacks=fallbacks, budget=budget
        )
        self.errors = as_error_handling(errors)
        check_error_functions("Swarm", classify_error, get_retry_policy, SwarmError)
        if classify_error is not None:
            self.classify_error = classify_error
        if get_retry_policy is not None:
            self.get_retry_policy = get_retry_policy
        self.name = f"swarm({next(iter(self.agents))}...)"
        if flow is None:
            self.flow_order = list(self.agents)
            self.stages: list[tuple[str, ...]] = [(name,) for name in self.agents]
        else:
            self.flow_order, self.stages = order_flow(flow, self.agents, mode)

    def _members(self) -> list[str]:
        return list(self.flow_order)

    def _info(self) -> dict[str, Any]:
        info = {"mode": self.mode, **self.recovery.info(self.mode, self.flow_order[0])}
        if models := models_of(self.agents.values()):
            info["models"] = models
        if self.mode == "workflow":
            info["stages"] = [list(stage) for stage in self.stages]
        if self.agent_policy == "fail" or (self.agent_policy and self.mode in ("workflow", "team")):
            info["failure"] = self.agent_policy
        if self.errors is not None:
            info[SWARM_KEY] = errors_as_json(self.errors)
        if optional := self._optional():
            info["optional"] = optional
        return info

    def _optional(self) -> list[str]:
        """Members side by side, or a team's workers, that may fail as far as the join policy is concerned."""
        if self.mode == "team":
            return list(self.join.may_fail(self.flow_order[1:]))
        side_by_side = [name for stage in self.stages if len(stage) > 1 for name in stage]
        return [name for name in self.join.may_fail(side_by_side) if name in side_by_side]

    @show_keywords(StreamOptions, STREAM_DEFAULTS)
    def stream(self, input: str, **options: Unpack[StreamOptions]) -> EventStream:
        """The swarm's run as events; see `run.stream`."""
        from orbiter.runner import run

        return run.stream(self, input, **options)

    def describe(self) -> dict[str, Any]:
        """The swarm in a few words, JSON-able."""
        return {
            "name": self.name,
            "mode": self.mode,
            "flow": self.flow,
            "flow_order": list(self.flow_order),
            "max_handoffs": self.max_handoffs,
            "agents": {name: _described(agent) for name, agent in self.agents.items()},
        }

    def to_dict(self) -> dict[str, Any]:
        """The swarm as JSON; see `Agent.to_dict`.

        Raises:
            SerialisationError: A member cannot be written.
        """
        agents = []
        for agent in self.agents.values():
            if not hasattr(agent, "hook_manager"):
                raise SerialisationError(
                    f"Swarm '{self.name}': '{agent.name}' is a {type(agent).__name__} and cannot be serialised",
                    suggestion="Only swarms of plain agents can.",
                )
            agents.append(Agent._to_dict(agent))
        for name in ("classify_error", "get_retry_policy"):
            if vars(self).get(name) is not None:
                raise SerialisationError(
                    f"Swarm '{self.name}': {name} cannot be serialised", suggestion="Set it after from_dict()."
                )
        described = {"agents": agents, "flow": self.flow, "mode": self.mode, "max_handoffs": self.max_handoffs}
        return {**described, **self._policies_to_dict()}

    def _policies_to_dict(self) -> dict[str, Any]:
        """What is said of failures and of joining, where anything is."""
        policy = self.recovery
        stand_ins = {name: [Agent._to_dict(agent) for agent in chain] for name, chain in policy.agents.items()}
        failure = {place: getattr(self.failure, place) for place in ("model", "tool", "agent")}
        if self.agent_policy is None:
            # Without a word for agents a person is asked: the default's word would say more than was said.
            del failure["agent"]
        found = {
            "planner": policy.planner,
            "router": policy.router,
            "fallbacks": {**{model: list(chain) for model, chain in policy.models.items()}, **stand_ins},
            "budget": dict(policy.budget),
            "errors": errors_as_json(self.errors) if self.errors is not None else None,
            "join": self.join.to_dict() if self.join != JoinPolicy() else None,
            "failure": failure if self.agent_policy is not None or self.failure != FailurePolicy() else None,
        }
        return {name: value for name, value in found.items() if value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The swarm that `to_dict` described.

        Raises:
            SerialisationError: A member cannot be read, or a key is unknown.
        """
        unknown = set(data) - _FIELDS
        if unknown:
            raise SerialisationError(f"A swarm has no keys {sorted(unknown)}")
        agents = [Agent.from_dict(each) for each in data.get("agents", ())]
        by_name = {agent.name: agent for agent in agents}
        for agent in agents:
            # Handoffs lead to the swarm's own agents where they have the same name.
            agent.handoffs = {name: by_name.get(name, other) for name, other in agent.handoffs.items()}
        return cls(
            agents=agents,
            flow=data.get("flow"),
            mode=data.get("mode", "workflow"),
            max_handoffs=data.get("max_handoffs", 10),
            **{name: data.get(name) for name in _POLICIES},
            fallbacks={
                name: [each if isinstance(each, str) else Agent.from_dict(each) for each in chain]
                for name, chain in (data.get("fallbacks") or {}).items()
            },
        )

    def __repr__(self) -> str:
        return f"Swarm(mode={self.mode!r}, agents={self.flow_order!r})"


def _described(agent: Any) -> Any:
    describe = getattr(agent, "describe", None)
    return describe() if callable(describe) else {"name": agent.name}
