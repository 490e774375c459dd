"""Run controls: freeze, thaw, break, move, inject, cancel, rewind, fork.

Each validates, appends one of the operators' events (`OPERATOR_EVENTS`), and leaves the rest to the process that drives
the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.execution.view_redaction import ViewRedactor
from runtime.operations.answer_params import InvalidCommand, restored_params
from runtime.operations.breakpoint_hint import COARSE, is_coarse, unmatched_breakpoint_text
from runtime.operations.lookup import find_events, find_run, no_node
from runtime.operations.requests.runs import BreakpointKind
from runtime.operations.rewind_rules import (
    RewindNeedsConfirmation,
    abort_under_way,
    aborted_at,
    changes_for,
    dropped_nodes,
)
from runtime.operations.run_creation import checked_queue, create_run
from runtime.record.ids import new_id
from runtime.record.journal import Journal, StaleSequence
from runtime.record.state import events as ev
from runtime.record.state.durable_run import (
    RUN_TERMINAL,
    DurableRun,
    Node,
    Summary,
    fold_events,
)
from runtime.record.state.rewind import repeated_effects
from runtime.record.state.summary import ALL_RUNS

_KIND_WORDS: tuple[type[ev.JournalEvent], ...] = (ev.IncidentAnswered, *ev.WAKING_EVENTS, ev.RunRewound)
"""What people say to a run that its driver must hear; and a rewind that was done, which drops nodes."""
_ABORT_OR_REWIND = ('"type":"run.abort_requested"', '"type":"run.rewind_requested"')


class RunControls:
    """Controls over the runs of one workspace."""

    def __init__(self, journal: Journal, views: ViewRedactor | None = None) -> None:
        """`views`: what operators are shown in place of secrets, where they change what they were shown."""
        self._journal = journal
        self._views = views or ViewRedactor()

    async def freeze(self, run_id: str = "", *, ref: str = "", reason: str = "", by: ev.Actor) -> list[str]:
        """Freeze a run, all runs of a swarm, or (neither given) every run; returns the ids of those that were frozen
        now. A freeze of a swarm or of everything stands: runs that begin later are frozen, too, until it is lifted.

        Raises:
            InvalidCommand: the run does not exist or has ended.
        """
        if not run_id:
            await self._journal.post(ev.WORKSPACE_RUN_ID, ev.FreezeSet(ref=ref, reason=reason, by=by))
        chosen = await self._selected_runs(run_id, ref, ("queued", "running", "waiting"))
        return await self._post_each(chosen, ev.RunFrozen(reason=reason, by=by), alone=bool(run_id))

    async def thaw(self, run_id: str = "", *, ref: str = "", by: ev.Actor) -> list[str]:
        """Let frozen runs go on; see `freeze`."""
        if not run_id:
            await self._journal.post(ev.WORKSPACE_RUN_ID, ev.FreezeLifted(ref=ref, by=by))
        chosen = await self._selected_runs(run_id, ref, ("frozen",))
        return await self._post_each(chosen, ev.RunThawed(by=by), alone=bool(run_id))

    async def _post_each(self, chosen: Sequence[Summary], event: ev.JournalEvent, *, alone: bool) -> list[str]:
        """Post an event to runs; the ids of those on which it has an effect. A run may have ended since it was listed.

        Raises:
            InvalidCommand: it has no effect on the run that stands `alone`.
        """
        done: list[str] = []
        for summary in chosen:
            try:
                await self._post(summary.id, event)
            except InvalidCommand:
                if alone:
                    raise
            else:
                done.append(summary.id)
        return done

    async def _freeze(self, run_id: str, event: ev.RunFrozen) -> None:
        """Freeze a run, unless its abort was requested: an abort takes effect, also where no runtime works yet.

        Raises:
            InvalidCommand: it is being aborted, or the freeze has no effect.
        """
        for again in (True, True, False):
            newest = await self._journal.latest(run_id, limit=1)
            asked = await self._journal.latest(run_id, limit=1, marks=_ABORT_OR_REWIND)
            if asked and isinstance(abort := asked[-1].event, ev.AbortRequested):
                by = abort.by.name or abort.by.channel
                raise InvalidCommand(
                    f"run {run_id} is being aborted ({by}, {abort.ts:%H:%M:%S} UTC): it cannot be frozen"
                )
            try:
                await self._journal.post(run_id, event, told=newest[-1].event.seq if newest else 0, effective=True)
            except StaleSequence as exc:  # possibly by an abort
                if not again:
                    raise InvalidCommand(str(exc)) from exc
            else:
                return

    async def _post(self, run_id: str, event: ev.JournalEvent) -> None:
        if isinstance(event, ev.RunFrozen):
            await self._freeze(run_id, event)
            return
        try:
            await self._journal.post(run_id, event, effective=True)
        except StaleSequence as exc:
            raise InvalidCommand(str(exc)) from exc

    async def set_breakpoint(
        self, run_id: str, what: BreakpointKind, pattern: str, *, clear: bool = False, by: ev.Actor
    ) -> str:
        """Make a run wait before tools or agents whose name matches `pattern`, or no longer. Returns a warning where no
        such name is known of the run, which may be right: what has not begun is not known.

        Raises:
            InvalidCommand: no such run, or it has ended; no such breakpoint to clear.
        """
        state = await self._unfinished_state(run_id)
        if clear and (what, pattern) not in state.breakpoints:
            listed = ", ".join(f"{kind}:{name}" for kind, name in sorted(state.breakpoints)) or "none"
            raise InvalidCommand(f"run {run_id} has no breakpoint {what}:{pattern}; it has {listed}")
        kind = ev.BreakpointCleared if clear else ev.BreakpointSet
        await self._post(run_id, kind(what=what, pattern=pattern, by=by))
        return "" if clear else unmatched_breakpoint_text(state, what, pattern)

    async def move(self, run_id: str, *, code: str | None = None, queue: str = "", by: ev.Actor) -> None:
        """Let a run go on with code of the label `code`, or by workers of another queue. Who drives it goes on until it
        lets go of it.

        Args:
            run_id: The run.
            code: The label; empty: any; None: the same as before.
            queue: The queue; empty: the same as before.
            by: Who asks.

        Raises:
            InvalidCommand: no such run, it has ended, or neither would change.
            InvalidCommand: no queue can have that name.
        """
        state = await self._unfinished_state(run_id)
        label, queue = state.code if code is None else code, checked_queue(queue) if queue else state.queue
        if (state.code, state.queue) == (label, queue):
            raise InvalidCommand(
                f"run {run_id} already goes on with {f'code {label!r}' if label else 'code of any label'}"
                f" in the queue {queue!r}: name another label or queue"
            )
        await self._post(run_id, ev.RunMoved(code=label, before=state.code, queue=queue, by=by))

    async def inject(self, run_id: str, agent: str, text: str, *, by: ev.Actor) -> str:
        """Give an agent (a name, or a node's id) a message that it reads at its next turn; returns the injection's id.

        Raises:
            InvalidCommand: no such run, it has ended, it has no such agent so far, or one that reads no messages.
        """
        state = await self._unfinished_state(run_id)
        agents = {node.name for node in state.nodes.values() if node.kind == "agent"}
        node = state.nodes.get(agent)
        if node is None and agent not in agents:
            raise InvalidCommand(
                f"run {run_id} has no agent {agent!r} so far; it has {', '.join(sorted(agents)) or 'none'}"
            )
        if node is not None and (node.kind != "agent" or node.terminal):
            raise InvalidCommand(f"{agent} is a {node.phase} {node.kind}: a message is for an agent that still runs")
        asked = [node] if node is not None else [each for each in state.nodes.values() if each.name == agent]
        if all(is_coarse(each) for each in asked if each.kind == "agent"):
            raise InvalidCommand(f"{agent} {COARSE}: it reads no messages; answer what it asks, or rewind it")
        injection_id = f"m-{new_id()}"
        name, node_id = (node.name, node.id) if node is not None else (agent, "")
        await self._post(
            run_id, ev.MessageInjected(node_id=node_id, injection_id=injection_id, agent=name, text=text, by=by)
        )
        return injection_id

    async def cancel(self, run_id: str, node_id: str, *, reason: str = "", by: ev.Actor) -> str:
        """Cancel a tool's call that is under way at a node, or the only one inside it; returns the id of its step.

        Raises:
            InvalidCommand: no such run, it has ended, or the node has no such call, or several.
        """
        state = await self._unfinished_state(run_id)
        if node_id not in state.nodes:
            raise no_node(state, node_id)
        calls = state.calls_under_way(node_id)
        if len(calls) != 1:
            listed = f": {', '.join(each.id for each in calls[:6])}{', …' if len(calls) > 6 else ''}" if calls else ""
            raise InvalidCommand(
                f"{node_id} has {len(calls) or 'no'} calls of tools under way: name the one to cancel{listed}"
            )
        call = calls[0]
        await self._post(run_id, ev.CancelRequested(node_id=call.id, attempt=call.attempts, reason=reason, by=by))
        return call.id

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
        """Turn a run back to a node, which then runs again with `changes` (see `changes_for`); returns what is dropped.

        Raises:
            RewindNeedsConfirmation: effects would repeat, and `confirm` was not given.
            InvalidCommand: no such run or node, changes that the node cannot take, or the run was aborted at a step
                that stays.
        """
        recorded = await find_events(self._journal, run_id)
        state = fold_events(recorded)
        told = max((event.seq for event in recorded if isinstance(event, _KIND_WORDS)), default=0)
        if (ending := abort_under_way(state)) is not None:
            raise InvalidCommand(
                f"run {run_id} is being aborted ({ending.by.name or ending.by.channel}, {ending.ts:%H:%M:%S} UTC): "
                "once it has ended it can be started again from a step"
            )
        dropped = dropped_nodes(state, node_id)
        if stays := aborted_at(state) - dropped:
            raise InvalidCommand(
                f"run {run_id} was aborted at {min(stays)!r}, which runs beside {node_id!r}: the abort would"
                " stay, and end the run again. Rewind to that node, or to one that holds both"
            )
        wanted, changes = changes, self._changes(state.nodes[node_id], state, changes or {})
        repeated = repeated_effects(state, dropped)
        if repeated and not confirm:
            raise RewindNeedsConfirmation(repeated)
        asked = ev.RewindRequested(node_id=node_id, changes=changes, reason=reason, by=by)
        try:
            # Only if no other request was written meanwhile: an abort that came first would end the run, and this be
            # lost.
            await self._journal.post(run_id, asked, told=told)
        except StaleSequence:
            return await self.rewind(run_id, node_id, changes=wanted, confirm=confirm, reason=reason, by=by)
        return dropped

    def _changes(self, node: Node, state: DurableRun, wanted: Mapping[str, Any]) -> dict[str, Any]:
        return changes_for(node, state, restored_params(self._views, wanted, node.requested.get("arguments")))

    async def fork(self, run_id: str, node_id: str = "", *, changes: dict[str, Any] | None = None, by: ev.Actor) -> str:
        """A new run that begins with what this one has completed, up to a node; returns its id.

        Raises:
            InvalidCommand: no such run or node, or changes that the node cannot take.
        """
        source = await self._state(run_id)
        changed: dict[str, Any] = {}
        if node_id:
            dropped_nodes(source, node_id)
            changed = self._changes(source.nodes[node_id], source, changes or {})
        elif changes:
            raise InvalidCommand("changes are for a node: name the one from which the fork begins")
        fork = {"of": run_id, "at": node_id, "changes": changed, "seq": source.last_seq}
        options = source.options | {"fork": fork}
        title = f"fork of {source.shown_title}"
        asked = ev.RunCreated(ref=source.ref, title=title, input=source.input, options=options, by=by)
        return await create_run(self._journal, asked)

    async def _selected_runs(self, run_id: str, ref: str, states: Sequence[str]) -> list[Summary]:
        if run_id:
            summary = await find_run(self._journal, run_id)
            if summary.state not in states:
                raise InvalidCommand(f"run {run_id} is {summary.state}, and must be {' or '.join(states)} for this")
            return [summary]
        found = await self._journal.runs(ALL_RUNS, states=states)
        return [summary for summary in found if not ref or summary.ref == ref]

    async def _state(self, run_id: str) -> DurableRun:
        return fold_events(await find_events(self._journal, run_id))

    async def _unfinished_state(self, run_id: str) -> DurableRun:
        state = await self._state(run_id)
        if state.phase in RUN_TERMINAL:
            raise InvalidCommand(f"run {run_id} has ended: it is {state.phase}")
        return state
