"""Swarms: agents and how they hand work on (seed 001, "Swarm Execution Modes")."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Self

from orbiter import runner
from orbiter._internal.agent_group import ParallelGroup, SerialGroup
from orbiter._internal.groups.container import Container
from orbiter._internal.groups.flow import agents_by_name, order_flow
from orbiter._internal.groups.members import (
    RunSettings,
    RunTotals,
    conversation,
    is_container,
    run_member,
)
from orbiter._internal.groups.partial_results import attach_partial_result
from orbiter._internal.groups.recovery_policy import RecoveryPolicy
from orbiter._internal.groups.serialization import swarm_from_dict, swarm_to_dict
from orbiter._internal.groups.stage import StageResult, merge_stage, run_stage
from orbiter._internal.groups.team import _DelegateTool, check_join
from orbiter._internal.loop.tool_calls import delegate_pattern, handoff_pattern
from orbiter._internal.nested import SwarmNode
from orbiter._internal.run_warnings import warn_needs_runtime
from orbiter.errors import HandoffLimitError, SwarmError
from orbiter.policy import FailurePolicy, JoinPolicy
from orbiter.steps import DIRECT, Aborted, HandedBack, Place, Scope, ScopeKind
from orbiter.types import Message, RunResult

if TYPE_CHECKING:
    from orbiter._internal.loop.event_stream import EventStream

__all__ = ["ParallelGroup", "SerialGroup", "Swarm", "SwarmError", "SwarmNode", "_DelegateTool"]

logger = logging.getLogger("orbiter")

MODES = ("workflow", "handoff", "team")


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
            agents out; a planner or router that is no member. An unknown mode is refused by `run`.
        ConfigurationError: A fallback that is none, or an unknown budget.
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
        self.rescue = RecoveryPolicy.of(self.agents, planner=planner, router=router, fallbacks=fallbacks, budget=budget)
        self.name = f"swarm({next(iter(self.agents))}...)"
        if flow is None:
            self.flow_order = list(self.agents)
            self.stages: list[tuple[str, ...]] = [(name,) for name in self.agents]
        else:
            self.flow_order, self.stages = order_flow(flow, self.agents, mode)

    def _members(self) -> list[str]:
        return list(self.flow_order)

    def _info(self, input: str) -> dict[str, Any]:
        info = {**super()._info(input), "mode": self.mode, **self.rescue.info(self.mode, self.flow_order[0])}
        if self.mode == "workflow" and self.failure.agent != "fail":
            info["failure"] = self.failure.agent
        return info

    async def _carry_out(
        self, input: str, scope: Scope, settings: RunSettings, messages: list[Message] | None
    ) -> RunResult:
        if scope is DIRECT and (self.rescue.budget or self.rescue.models):
            warn_needs_runtime(f"Swarm '{self.name}' declares a budget, or models that stand in for others")
        if self.mode == "workflow":
            return await self._workflow(input, scope, settings, messages)
        if self.mode == "handoff":
            return await self._handoff(input, scope, settings, messages)
        if self.mode == "team":
            return await self._team(input, scope, settings, messages)
        raise SwarmError(f"Unsupported swarm mode: '{self.mode}'", suggestion=f"Use one of {', '.join(MODES)}.")

    # --- workflow -----------------------------------------------------------------------------------------------------

    async def _workflow(
        self, input: str, scope: Scope, settings: RunSettings, messages: list[Message] | None
    ) -> RunResult:
        totals = RunTotals()
        text = input
        result = RunResult(output=input)
        index = first = 0
        while index < len(self.stages):
            stage = self.stages[index]
            index += 1
            try:
                # A stage that is done once more is a place of its own: what it did before stands beside it.
                result = await self._stage(first + index - 1, stage, text, scope, settings, messages, totals)
            except HandedBack as back:
                if back.scope != scope.node_id:
                    raise
                if back.remedy == "go_on":
                    result = self._passed_over(stage, text, back, scope, totals)
                else:
                    first += index
                    index = next(at for at, names in enumerate(self.stages) if back.to in names)
                    first -= index
                    text = f"{input}\n\n{back.reason}"
                    continue
            except Aborted:
                raise
            except Exception as exc:
                if self.failure.agent == "fail":
                    raise
                result = self._passed_over(stage, text, exc, scope, totals)
            text = result.output
        return totals.on(result)

    async def _stage(  # noqa: PLR0917 - what a stage needs, from its only caller
        self,
        index: int,
        stage: tuple[str, ...],
        text: str,
        scope: Scope,
        settings: RunSettings,
        messages: list[Message] | None,
        totals: RunTotals,
    ) -> RunResult:
        if len(stage) == 1:
            name = stage[0]
            result = await run_member(
                self.agents[name],
                text,
                scope,
                Place(index),
                settings,
                messages=messages,
                peers=self._workflow_peer,
                stand_ins=self.rescue.agents,
            )
            totals.add(name, result)
            return result
        joined: StageResult = await run_stage(
            [self.agents[name] for name in stage],
            text,
            scope,
            [Place(index, member) for member in range(len(stage))],
            settings,
            messages=messages,
            join=self.join,
            peers=self._workflow_peer,
            stand_ins=self.rescue.agents,
        )
        for name, each in joined.results.items():
            totals.add(name, each)
        totals.degraded = totals.degraded or joined.degraded
        totals.warnings.extend(f"'{name}' failed: {error}" for name, error in joined.failed.items())
        output = "\n\n".join(each.output for each in joined.results.values())
        return merge_stage(f"({' | '.join(stage)})", output, joined)

    def _passed_over(
        self, stage: tuple[str, ...], text: str, exc: Exception, scope: Scope, totals: RunTotals
    ) -> RunResult:
        """A stage that failed under a policy that goes on: its input stands for its output."""
        names = " | ".join(stage)
        warning = f"'{names}' failed and was passed over: {exc}"
        logger.warning("Swarm '%s': %s", self.name, warning)
        scope.warn(warning)
        totals.warnings.append(warning)
        totals.degraded = totals.degraded or self.failure.agent == "degrade"
        return RunResult(output=text, agent=names, error=str(exc))

    # --- handoff ------------------------------------------------------------------------------------------------------

    async def _handoff(
        self, input: str, scope: Scope, settings: RunSettings, messages: list[Message] | None
    ) -> RunResult:
        totals = RunTotals()
        name, text, history = self.flow_order[0], input, messages
        for hop in count():
            agent = self.agents[name]
            targets = [target for target in getattr(agent, "handoffs", ()) if target in self.agents]
            try:
                result = await run_member(
                    agent,
                    text,
                    scope,
                    Place(hop),
                    settings,
                    messages=history,
                    peers=self._handoff_peer,
                    stand_ins=self.rescue.agents,
                )
            except HandedBack as back:
                if back.scope != scope.node_id:
                    raise
                # The router reads the work so far as history, and why it came back as what is said to it now.
                name, text = back.to, back.reason
                continue
            totals.add(name, result)
            target = result.output.strip()
            if target not in targets:
                break
            if hop >= self.max_handoffs:
                error = HandoffLimitError(
                    f"Max handoffs ({self.max_handoffs}) exceeded in swarm",
                    max_handoffs=self.max_handoffs,
                    context={"from": name, "to": target},
                    suggestion="Raise max_handoffs, or tell the agents when to stop handing over.",
                )
                attach_partial_result(error, totals.on(result).model_copy(update={"agent": self.name}))
                raise error
            name, text, history = target, target, conversation(result)
        return totals.on(result)

    # --- team ---------------------------------------------------------------------------------------------------------

    async def _team(self, input: str, scope: Scope, settings: RunSettings, messages: list[Message] | None) -> RunResult:
        if len(self.flow_order) < 2:
            raise SwarmError("Team mode requires at least two agents (lead + workers)")
        lead, *workers = (self.agents[name] for name in self.flow_order)
        if is_container(lead):
            raise SwarmError(
                f"Team mode requires an agent as its lead, and '{lead.name}' is a {type(lead).__name__}",
                suggestion="Put an agent first.",
            )
        totals = RunTotals()
        failed: dict[str, str] = {}
        tools = [
            _DelegateTool(
                worker=worker,
                provider=settings.provider,
                max_retries=settings.max_retries,
                loop_threshold=settings.loop_threshold,
                totals=totals,
                failed=failed,
                taken=getattr(lead, "tools", ()),
                stand_ins=self.rescue.agents,
            )
            for worker in workers
        ]
        result = await run_member(
            lead,
            input,
            scope,
            Place(0),
            settings,
            messages=messages,
            delegates={tool.name: tool for tool in tools},
            peers=self._team_peer,
            stand_ins=self.rescue.agents,
        )
        check_join(self.join, [worker.name for worker in workers], totals, failed, f"Team '{self.name}'")
        totals.add(lead.name, result)
        return totals.on(result)

    # --- what to say to a model that calls a peer as if it were a tool ------------------------------------------------

    def _workflow_peer(self, name: str) -> str | None:
        if name not in self.agents:
            return None
        return "It works on its own stage of this workflow and cannot be called. Answer in text, which is handed on."

    def _handoff_peer(self, name: str) -> str | None:
        return handoff_pattern(name) if name in self.agents else None

    def _team_peer(self, name: str) -> str | None:
        return delegate_pattern(name) if name in self.flow_order[1:] else None

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
        return runner._stream(
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

    # --- the rest -----------------------------------------------------------------------------------------------------

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
        return swarm_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The swarm that `to_dict` described.

        Raises:
            SerialisationError: A member cannot be read, or a key is unknown.
        """
        return swarm_from_dict(cls, data)

    def __repr__(self) -> str:
        return f"Swarm(mode={self.mode!r}, agents={self.flow_order!r})"


def _described(agent: Any) -> Any:
    describe = getattr(agent, "describe", None)
    return describe() if callable(describe) else {"name": agent.name}
