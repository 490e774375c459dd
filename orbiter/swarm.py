"""Swarms: agents and how they hand work on (seed 001, "Swarm Execution Modes").

A `Swarm` is a declaration: it imports nothing of what runs it, and `run` and `stream` look that up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from orbiter._internal.agent_group import ParallelGroup, SerialGroup
from orbiter._internal.declarations.container import Container
from orbiter._internal.declarations.flow import agents_by_name, order_flow
from orbiter._internal.declarations.recovery_policy import RecoveryPolicy
from orbiter._internal.declarations.serialization import SerialisationError
from orbiter._internal.nested import SwarmNode
from orbiter.agent import Agent
from orbiter.errors import SwarmError
from orbiter.policy import FailurePolicy, JoinPolicy
from orbiter.steps import ScopeKind
from orbiter.types import Message

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
_FIELDS = frozenset({"agents", "flow", "mode", "max_handoffs", "planner", "router", "fallbacks", "budget"})
"""What `from_dict` reads."""


class Swarm(Container):
    """Several agents as one.

    Args:
        agents: Agents, groups or nested swarms, each with a name of its own.
        flow: Order in the flow DSL, such as ``"a >> (b | c) >> d"``: b and c at the same time, d gets both outputs.
            Without it the order of `agents`.
        mode: ``workflow`` (each output is the next one's input), ``handoff`` (an agent whose output is the name of one
            of its handoffs hands the conversation over) or ``team`` (the first agent leads and delegates to the rest).
        max_handoffs: Transitions between agents that a handoff swarm may make.
        join: When a parallel stage, or a team's delegated work, has succeeded: a `JoinPolicy` or its word.
        failure: What an agent's failure means to a workflow: with ``degrade`` or ``continue`` the next stage gets the
            input that the failed one had.
        planner: Who gets a failure that asks for another plan (seed 002, REPLANNING); by default a team's lead, or
            the first agent of a handoff swarm. For a runtime.
        router: Who gets a failure that asks for another agent (RECLASSIFICATION); by default as `planner`.
        fallbacks: Who stands in: models for a model string, agents for an agent's name, each tried in turn.
        budget: What the swarm may use up under a runtime: `max_steps`, `max_tool_calls`, `max_llm_calls`,
            `max_total_cost_usd`, `max_total_tokens`, `max_wall_time_s`.

    Raises:
        SwarmError: No agents, two of one name, or a flow that is malformed, has a cycle, names strangers, or leaves
            agents out; a planner or router that is not a member. An unknown mode is refused by `run`.
        ConfigurationError: A fallback that is not a model or an agent, or an unknown budget.
    """

    _kind: ScopeKind = "swarm"

    def __init__(
        self,
        *,
        agents: Iterable[Any],
        flow: str | None = None,
        mode: str = "workflow",
        max_handoffs: int = 10,
        join: JoinPolicy | str | None = None,
        failure: FailurePolicy | Mapping[str, Any] | str | None = None,
        planner: str | None = None,
        router: str | None = None,
        fallbacks: Mapping[str, Any] | None = None,
        budget: Mapping[str, float] | None = None,
    ) -> None:
        self.agents: dict[str, Any] = agents_by_name(agents)
        self.flow = flow
        self.mode = mode
        self.max_handoffs = max_handoffs
        self.join = JoinPolicy.of(join)
        self.failure = FailurePolicy.of(failure)
        self.recovery = RecoveryPolicy.of(
            self.agents, planner=planner, router=router, fallbacks=fallbacks, budget=budget
        )
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
        if self.mode == "workflow" and self.failure.agent != "fail":
            info["failure"] = self.failure.agent
        return info

    def stream(
        self,
        input: str,
        *,
        messages: list[Message] | None = None,
        provider: Any = None,
        detailed: bool = False,
        max_steps: int | None = None,
        event_types: Collection[str] | None = None,
        max_retries: int = 3,
        loop_threshold: int = 3,
    ) -> EventStream:
        """The swarm's run as events; see `run.stream`."""
        from orbiter.runner import run

        return run.stream(
            self,
            input,
            messages=messages,
            provider=provider,
            detailed=detailed,
            max_steps=max_steps,
            event_types=event_types,
            max_retries=max_retries,
            loop_threshold=loop_threshold,
        )

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
        described = {"agents": agents, "flow": self.flow, "mode": self.mode, "max_handoffs": self.max_handoffs}
        return {**described, **_recovery_to_dict(self.recovery)}

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
            planner=data.get("planner"),
            router=data.get("router"),
            fallbacks={
                name: [each if isinstance(each, str) else Agent.from_dict(each) for each in chain]
                for name, chain in (data.get("fallbacks") or {}).items()
            },
            budget=data.get("budget"),
        )

    def __repr__(self) -> str:
        return f"Swarm(mode={self.mode!r}, agents={self.flow_order!r})"


def _described(agent: Any) -> Any:
    describe = getattr(agent, "describe", None)
    return describe() if callable(describe) else {"name": agent.name}


def _recovery_to_dict(policy: RecoveryPolicy) -> dict[str, Any]:
    """What is said of failures, where anything is."""
    stand_ins = {name: [Agent._to_dict(agent) for agent in chain] for name, chain in policy.agents.items()}
    fallbacks = {**{model: list(chain) for model, chain in policy.models.items()}, **stand_ins}
    found = {"planner": policy.planner, "router": policy.router, "fallbacks": fallbacks, "budget": dict(policy.budget)}
    return {name: value for name, value in found.items() if value}
