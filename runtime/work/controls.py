"""What an operator does to a run that is no answer to an incident: freeze, thaw, break, inject, rewind, fork.

Part of the desk: each validates, appends one of the desk's events and leaves the rest to whoever drives the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from runtime.record import events as ev
from runtime.record.journal import Journal
from runtime.record.rewind import dropped_by
from runtime.record.state import RUN_TERMINAL, Node, RunState, Summary, fold
from runtime.work.desk import BadCommand
from runtime.work.life import new_id

What = Literal["tool", "agent"]


class BadControl(BadCommand):
    """What was asked for cannot be done as it was said; nothing was written."""


class Effects(BadControl):
    """A rewind would do things to the world a second time; it must be said again with `confirm`."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        listed = ", ".join(f"{node.name} ({node.id})" for node in nodes)
        super().__init__(
            f"this would do again what must not be repeated unasked: {listed}; say it with --yes to confirm"
        )
        self.nodes = tuple(nodes)


class Controls:
    """Controls over the runs of one workspace."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def freeze(self, run_id: str = "", *, ref: str = "", reason: str = "", by: ev.Actor) -> list[str]:
        """Freeze a run, all runs of a swarm, or (neither given) every run; returns the ids of those that were frozen
        now.

        Raises:
            BadControl: the run does not exist or has ended.
        """
        chosen = await self._chosen(run_id, ref, ("queued", "running", "waiting"))
        for summary in chosen:
            await self._journal.post(summary.id, ev.RunFrozen(reason=reason, by=by))
        return [summary.id for summary in chosen]

    async def thaw(self, run_id: str = "", *, ref: str = "", by: ev.Actor) -> list[str]:
        """Let frozen runs go on; see `freeze`."""
        chosen = await self._chosen(run_id, ref, ("frozen",))
        for summary in chosen:
            await self._journal.post(summary.id, ev.RunThawed(by=by))
        return [summary.id for summary in chosen]

    async def set_breakpoint(self, run_id: str, what: What, pattern: str, *, clear: bool = False, by: ev.Actor) -> None:
        """Make a run wait before tools or agents whose name matches `pattern`, or no longer.

        Raises:
            BadControl: no such run, or it has ended; no such breakpoint to clear.
        """
        state = await self._live(run_id)
        if clear and (what, pattern) not in state.breakpoints:
            listed = ", ".join(f"{kind}:{name}" for kind, name in sorted(state.breakpoints)) or "none"
            raise BadControl(f"run {run_id} has no breakpoint {what}:{pattern}; it has {listed}")
        kind = ev.BreakpointCleared if clear else ev.BreakpointSet
        await self._journal.post(run_id, kind(what=what, pattern=pattern, by=by))

    async def inject(self, run_id: str, agent: str, text: str, *, by: ev.Actor) -> str:
        """Give an agent (a name, or a node's id) a message that it reads at its next turn; returns the injection's id.

        Raises:
            BadControl: no such run, it has ended, or it has no such agent so far.
        """
        state = await self._live(run_id)
        agents = {node.name for node in state.nodes.values() if node.kind == "agent"}
        node = state.nodes.get(agent)
        if node is None and agent not in agents:
            raise BadControl(
                f"run {run_id} has no agent {agent!r} so far; it has {', '.join(sorted(agents)) or 'none'}"
            )
        if node is not None and (node.kind != "agent" or node.terminal):
            raise BadControl(f"{agent} is a {node.phase} {node.kind}: a message is for an agent that still runs")
        injection_id = f"m-{new_id()}"
        name, node_id = (node.name, node.id) if node is not None else (agent, "")
        await self._journal.post(
            run_id, ev.MessageInjected(node_id=node_id, injection_id=injection_id, agent=name, text=text, by=by)
        )
        return injection_id

    async def rewind(
        self,
        run_id: str,
        node_id: str,
        *,
        changes: dict[str, Any] | None = None,
        confirm: bool = False,
        reason: str = "",
        by: ev.Actor,
    ) -> set[str]:
        """Turn a run back to a node, which then runs again (with `changes`: `model`, `arguments`); returns what is
        dropped.

        Raises:
            Effects: effects would repeat, and `confirm` was not given.
            BadControl: no such run or node.
        """
        state = await self._state(run_id)
        dropped = self._dropped(state, node_id)
        repeated = repeated_effects(state, dropped)
        if repeated and not confirm:
            raise Effects(repeated)
        await self._journal.post(
            run_id, ev.RewindRequested(node_id=node_id, changes=changes or {}, reason=reason, by=by)
        )
        return dropped

    async def fork(self, run_id: str, node_id: str = "", *, changes: dict[str, Any] | None = None, by: ev.Actor) -> str:
        """A new run that begins with what this one has completed, up to a node; returns its id.

        Raises:
            BadControl: no such run or node.
        """
        source = await self._state(run_id)
        if node_id:
            self._dropped(source, node_id)
        fork = {"of": run_id, "at": node_id, "changes": changes or {}, "seq": source.last_seq}
        created = ev.RunCreated(
            run_id=f"{ev.utc_now():%y%m%d-%H%M%S}-{new_id(4)}",
            ref=source.ref,
            title=f"fork of {source.title}",
            input=source.input,
            options=source.options | {"fork": fork},
            by=by,
        )
        state = RunState()
        state.apply(created)
        await self._journal.create(created, state.summary())
        return created.run_id

    @staticmethod
    def _dropped(state: RunState, node_id: str) -> set[str]:
        if node_id not in state.nodes:
            raise BadControl(f"run {state.id} has no node {node_id!r}: 'orbiter-console show {state.id}' lists them")
        return dropped_by(state, node_id)

    async def _chosen(self, run_id: str, ref: str, states: Sequence[str]) -> list[Summary]:
        if run_id:
            summary = await self._journal.summary(run_id)
            if summary is None:
                raise BadControl(f"there is no run {run_id!r}: 'orbiter-console runs' lists them")
            if summary.state not in states:
                raise BadControl(f"run {run_id} is {summary.state}; this is for runs that are {' or '.join(states)}")
            return [summary]
        found = await self._journal.runs(1_000_000, states=states)
        return [summary for summary in found if not ref or summary.ref == ref]

    async def _state(self, run_id: str) -> RunState:
        recorded = await self._journal.read(run_id)
        if not recorded:
            raise BadControl(f"there is no run {run_id!r}: 'orbiter-console runs' lists them")
        return fold(recorded)

    async def _live(self, run_id: str) -> RunState:
        state = await self._state(run_id)
        if state.phase in RUN_TERMINAL:
            raise BadControl(f"run {run_id} has ended: it is {state.phase}")
        return state


def repeated_effects(state: RunState, dropped: set[str]) -> list[Node]:
    """Tool calls among `dropped` that took effect, or may have, and must not be made again unasked."""
    nodes = (state.nodes[node_id] for node_id in dropped)
    return [
        node
        for node in nodes
        if node.kind == "tool" and node.is_step and not node.idempotent and node.attempts and node.by is None
    ]
