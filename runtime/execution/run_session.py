"""One life of a run: journal, lease, state, ending and answers while a drive carries it out.

A session hears what operators write to the run meanwhile (answers, a freeze, an abort) and ends the drive when one of
them, or the journal, asks for it. What it records goes through its `writer`; who is at work and who waits stands in
its `tracker`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any, Literal, NoReturn

from runtime.execution.deadlines import deadline_of, default_answer
from runtime.execution.event_writer import EventWriter
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.wait_tracker import Activity, Wait, WaitTracker
from runtime.record.journal import Fenced, Follower, Journal, JournalError, Lease
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun

log = logging.getLogger("runtime.drive")

Ending = Literal["", "park", "stop", "abort", "rewind", "fenced", "broken"]
"""Why a drive cancels its own root. Empty: it does not; a cancellation is user code's."""

_NO_WAITS: frozenset[Wait] = frozenset()
_FOREIGN_EVENTS = frozenset[type[ev.JournalEvent]]((*ev.OPERATOR_EVENTS, ev.IncidentAnswered)) - {ev.IncidentClosed}
"""What others write to a run that is driven. Only its drive closes an incident of it."""


class RunSession:
    """See the module. One per drive; all methods are for the drive's loop."""

    def __init__(
        self,
        journal: Journal,
        lease: Lease,
        state: DurableRun,
        config: ExecutionConfig,
        clock: Callable[[], datetime],
    ) -> None:
        self.journal = journal
        self.lease = lease
        self.state = state
        self.config = config
        self.clock = clock
        self.breakers = breakers_of(journal)
        self.writer = EventWriter(journal, lease, state, self._fail_write)
        self.tracker = WaitTracker(self._is_answered, config.grace_s, config.room, self.park)
        self.tracker.set_frozen(state.phase == "frozen")
        self.ending: Ending = ""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once there is an ending, or the root has come to its end."""
        self.final: ev.RunFinished | None = None
        """How the run ends, where something here has decided it (see `finish`)."""
        self.waits = _NO_WAITS
        """What everything waited for when this life was ended to be parked."""
        self.progress = 0
        """Rises with everything that happens."""
        self.stall_reported_at = -1
        """Where `progress` stood when a standstill was last reported."""
        self.calls: dict[str, asyncio.Timeout] = {}
        """What ends a tool's call that is under way, by the id of its step."""
        self._touched_at = time.monotonic()
        self._answers: dict[str, list[asyncio.Future[ev.IncidentAnswered]]] = {}
        self._root: asyncio.Task[Any] | None = None

    # -- recording -----------------------------------------------------------------------------------------------

    def touch(self) -> None:
        """Something happened: the run does not stand still."""
        self.progress += 1
        self._touched_at = time.monotonic()

    def quiet_s(self) -> float:
        """Seconds since something last happened."""
        return time.monotonic() - self._touched_at

    def record_soon(self, event: ev.JournalEvent) -> None:
        """Something happened that nothing waits for: it is written with the next event, or shortly."""
        self.touch()
        self.writer.record_soon(event)

    def record(self, *events: ev.JournalEvent) -> Coroutine[Any, Any, None]:
        """Write events, and return when they are as safe as their kind asks for."""
        self.touch()
        return self.writer.record(*events)

    async def catch_up(self) -> None:
        """Take the state from the journal again, after the writer's `close` was refused."""
        self.state = await self.writer.catch_up()

    def _fail_write(self, exc: JournalError) -> NoReturn:
        """Nothing more is carried out for a run that cannot be written. User code must not take this for its own
        failure, which it could catch: as with every ending it sees only `CancelledError`.
        """
        if self._root is None or self._root.done():
            raise exc
        self.end("fenced" if isinstance(exc, Fenced) else "broken")
        raise asyncio.CancelledError from exc

    # -- hearing -------------------------------------------------------------------------------------------------

    def listen(self) -> Follower:
        """Take in what others write to this run from now on."""
        run_id, known = self.lease.run_id, self.state.last_seq
        return self.journal.follow(run_id, known, self._take_in, self._hear_nothing, kinds=_FOREIGN_EVENTS)

    def _hear_nothing(self, exc: JournalError) -> None:
        log.error("run %s: what others write to it cannot be read; it is let go of", self.lease.run_id, exc_info=exc)
        self.end("broken")

    def _take_in(self, event: ev.JournalEvent) -> None:
        if event.seq <= self.writer.seen_seq:
            return  # folded before
        self.writer.seen_seq = event.seq  # what came before it is this drive's own
        self.state.apply(event)
        if isinstance(event, ev.IncidentAnswered):
            for waiter in self._answers.pop(event.incident_id, ()):
                if not waiter.done():
                    waiter.set_result(event)
        elif isinstance(event, ev.CancelRequested):
            self.cancel_if_asked(event.node_id)
        elif isinstance(event, ev.AbortRequested):
            self.end("abort")
        elif isinstance(event, ev.RewindRequested):
            self.end("rewind")
        self.tracker.set_frozen(self.state.phase == "frozen")

    def cancel_if_asked(self, node_id: str) -> None:
        """Cancel a call of which an operator wants that, once."""
        node, limit = self.state.nodes.get(node_id), self.calls.get(node_id)
        if node is not None and node.cancel is not None and limit is not None and limit.when() is None:
            limit.reschedule(0.0)

    # -- ending --------------------------------------------------------------------------------------------------

    def set_root_task(self, root: asyncio.Task[Any]) -> None:
        """Name the task that `end` cancels; where this life was ended before, nothing of it begins."""
        self._root = root
        root.add_done_callback(self._tell_ended)
        if self.ending:
            root.cancel()

    def _tell_ended(self, _: object = None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def end(self, reason: Ending) -> None:
        """Note why, then cancel everything: user code sees only `CancelledError`. The first reason stands."""
        if self.ending or (self._root is not None and self._root.done()):
            return
        self.ending = reason
        self._tell_ended()
        if self._root is not None:
            self._root.cancel()

    def park(self, waits: frozenset[Wait]) -> None:
        """End this life because everything waits, and for what: the journal sees whether it still does."""
        if not self.ending:
            self.waits = waits
        self.end("park")

    def finish(self, final: ev.RunFinished) -> None:
        """End the run, and as what. The first word stands."""
        self.final = self.final or final
        self.end("abort")

    # -- waiting -------------------------------------------------------------------------------------------------

    async def wait_until(self, instant: datetime, activity: Activity, *, at_most: float = math.inf) -> None:
        """Wait for an instant. The run may leave memory meanwhile, and is woken at it.

        `at_most`, in seconds: how long the wait was when it began; a clock that was set back makes it no longer.
        """
        left = min((instant - self.clock()).total_seconds(), at_most)
        if left > 0:
            with self.tracker.waiting(activity, Wait(until=instant, at_most=left)):
                await asyncio.sleep(left)

    def deadline_of(self, opened: ev.IncidentOpened) -> datetime | None:
        """When an open incident's safe default takes effect (`runtime.execution.deadlines`); None: never."""
        return deadline_of(opened, self.state, self.config, self.clock())

    async def wait_for_answer(self, incident_id: str, activity: Activity) -> ev.IncidentAnswered:
        """Wait for the answer to an open incident. At its deadline the safe default is given, by rule."""
        incident = self.state.incidents[incident_id]
        if incident.answer is not None:
            return incident.answer
        waiter: asyncio.Future[ev.IncidentAnswered] = asyncio.get_running_loop().create_future()
        self._answers.setdefault(incident_id, []).append(waiter)
        try:
            with self.tracker.waiting(activity, Wait(incident_id)):
                if (due := self.deadline_of(incident.opened)) is None:
                    return await waiter
                answered = await self._before_deadline(incident.opened, due, waiter)
            # From here on this node is at work: it gives the default, and hears that it did.
            if not answered:
                await self._give_default(incident.opened)
            return await waiter
        except asyncio.CancelledError:
            if not self.ending:
                reason = "withdrawn: no step waits for it any more"
                self.record_soon(
                    ev.IncidentClosed(node_id=incident.opened.node_id, incident_id=incident_id, reason=reason)
                )
            raise

    async def _before_deadline(self, opened: ev.IncidentOpened, due: datetime, waiter: asyncio.Future[Any]) -> bool:
        """Wait for an answer until the incident's deadline; whether there is one."""
        # By this process's own clock from here on: setting the computer's clock answers nothing.
        done, _ = await asyncio.wait({waiter}, timeout=max(0.0, (due - self.clock()).total_seconds()))
        while not done and self.tracker.is_frozen:
            # A freeze is not an answer, and the time of a freeze does not count as time to answer.
            await self.tracker.wait_while_frozen(waiter)
            due = self.deadline_of(opened) or due
            done, _ = await asyncio.wait({waiter}, timeout=max(0.0, (due - self.clock()).total_seconds()))
        return bool(done)

    async def _give_default(self, opened: ev.IncidentOpened) -> None:
        try:
            await self.journal.answer(default_answer(opened, self.state.id))
        except JournalError as exc:
            self._fail_write(exc)

    def _is_answered(self, incident_id: str) -> bool:
        return not self.state.incidents[incident_id].open
