"""One life of a run: journal, lease, state and waits while a drive carries it out.

A life writes events (applied to the state first, then appended: the journal keeps their order), hears what operators
write meanwhile (answers, an abort), and knows which open nodes are at work and which wait, so that a run in which
everything waits can be let go of.
"""

from __future__ import annotations

import asyncio
import math
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NoReturn

from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.secret_vault import masked_event
from runtime.record.journal import Fenced, Journal, JournalError, Lease, StaleSequence
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events

Ending = Literal["", "park", "stop", "abort", "rewind", "fenced", "broken"]
"""Why a drive cancels its own root. Empty: it does not; a cancellation is user code's."""

_WRITE_DELAY_S = 0.02
"""How long an event that nobody waits for may stay unwritten, so that it travels with the next one."""
_CLOCK_CORRECTION = timedelta(seconds=1)
"""By how much a clock is corrected without that counting as having been set back."""
OVERDUE_SPREAD = timedelta(seconds=5)
"""Over how long what is overdue after a downtime is spread."""
_FOREIGN_EVENTS = frozenset[type[ev.JournalEvent]]((*ev.OPERATOR_EVENTS, ev.IncidentAnswered)) - {ev.IncidentClosed}
"""What others write to a run that is driven. Nobody but its drive closes an incident of it."""


@dataclass(slots=True, frozen=True)
class Wait:
    """What an open node waits for: an incident's answer, a thaw, or an instant, for so many seconds at most."""

    incident_id: str = ""
    thaw: bool = False
    until: datetime | None = None
    at_most: float = 0.0


@dataclass(slots=True, eq=False)
class Activity:
    """An open node, as far as waiting is concerned."""

    parent: Activity | None
    children: int = 0
    wait: Wait | None = None
    must_not_repeat: bool = False
    """A call is under way that must not be begun twice: the run stays in memory even if something inside it waits."""


class RunSession:
    """See the module. One per drive; all methods are for the drive's loop."""

    def __init__(
        self,
        journal: Journal,
        lease: Lease,
        state: DurableRun,
        conditions: ExecutionConfig,
        clock: Callable[[], datetime],
    ) -> None:
        self.journal = journal
        self.lease = lease
        self.state = state
        self.config = conditions
        self.clock = clock
        self.ending: Ending = ""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once there is an ending."""
        self.final: ev.RunFinished | None = None
        """How the run ends, where something here has decided it (see `finish`)."""
        self.broken: JournalError | None = None
        self._pending: list[ev.JournalEvent] = []
        self._closed = False
        self._flush_timer: asyncio.TimerHandle | None = None
        self._flush_tasks: set[asyncio.Task[None]] = set()
        self._writing: set[asyncio.Future[Any]] = set()
        self.waits: frozenset[Wait] = frozenset()
        """What everything waited for when this life was ended to be parked."""
        self._answers: dict[str, asyncio.Future[ev.IncidentAnswered]] = {}
        self._activities: set[Activity] = set()
        self._activity_changes = 0
        self.progress = 0
        """Rises with everything that happens.

        `stall_reported_at` is where it stood when somebody was told of a standstill.
        """
        self.stall_reported_at = -1
        self._touched_at = time.monotonic()
        self._seen_seq = max(lease.seq, state.last_seq)
        self._has_waiting = asyncio.Event()
        self._paused = False
        self._thawed = asyncio.Event()
        self._update_frozen()
        self._root: asyncio.Task[Any] | None = None

    # -- writing -------------------------------------------------------------------------------------------------

    def touch(self) -> None:
        """Something happened: the run does not stand still."""
        self.progress += 1
        self._touched_at = time.monotonic()

    def quiet_s(self) -> float:
        """Seconds since something last happened."""
        return time.monotonic() - self._touched_at

    def record_soon(self, event: ev.JournalEvent) -> None:
        """Something happened that nobody needs to wait for: it is written with the next event, or shortly."""
        self.touch()
        event = masked_event(event)
        self.state.apply(event)
        self._pending.append(event)
        if self._flush_timer is None:
            # Left to itself where the event travels with another before: to set it anew at every step costs more than
            # that one event goes a little sooner than it must.
            self._flush_timer = asyncio.get_running_loop().call_later(_WRITE_DELAY_S, self._flush_soon)

    async def record(self, *events: ev.JournalEvent) -> None:
        """Write events, and return when they are as safe as their kind asks for."""
        self.touch()
        for event in map(masked_event, events):
            self.state.apply(event)
            self._pending.append(event)
        await self.flush()

    async def close(self, *events: ev.JournalEvent) -> None:
        """Write the last events of this life. Code that was left behind writes nothing after them.

        Call it without an `await` after deciding on them: what was heard by then counts as known to whoever decided.

        Raises:
            Overtaken: the run was told something that was not heard yet; nothing is written. See `catch_up`.
        """
        before, self._pending = self._pending, []
        last = [masked_event(event) for event in events]
        for event in last:
            self.state.apply(event)
        self._closed = True
        writing = self._append([*before, *last])
        try:
            await asyncio.shield(writing)
        except StaleSequence:
            self._closed, self._pending = False, before
            raise

    async def catch_up(self) -> None:
        """Take the state from the journal again, after `close` was refused: nothing of this life is being written."""
        self.state = fold_events(await self.journal.read(self.state.id))
        self._seen_seq = self.state.last_seq
        for event in self._pending:
            self.state.apply(event)

    async def flush(self) -> None:
        if self._closed:
            self._pending.clear()
            raise asyncio.CancelledError
        if self.broken is not None:
            # What was written last stands; after a hole nothing may follow.
            self._fail_write(self.broken)
        if not self._pending:
            return
        batch, self._pending = self._pending, []
        # Shielded: what the state has taken into account is written, even if whoever waits for it is cancelled.
        # A park that follows an incident which never was written would wait for ever.
        try:
            await asyncio.shield(self._append(batch))
        except JournalError as exc:
            self._fail_write(exc)

    def _append(self, events: list[ev.JournalEvent]) -> asyncio.Future[Any]:
        writing = asyncio.ensure_future(
            self.journal.append(self.lease, events, summary=self.state.summary(), seen=self._seen_seq)
        )
        self._writing.add(writing)
        writing.add_done_callback(self._write_done)
        return writing

    def _write_done(self, writing: asyncio.Future[Any]) -> None:
        self._writing.discard(writing)
        failed = writing.exception() if not writing.cancelled() else None
        if isinstance(failed, JournalError) and not isinstance(failed, StaleSequence):
            self.broken = self.broken or failed

    async def wait_for_writes(self) -> None:
        """Wait for everything that is being written.

        Raises:
            JournalError: something could not be; nothing may be written after it.
        """
        while self._writing:
            await asyncio.wait(self._writing)
        if self.broken is not None:
            raise self.broken

    def _fail_write(self, exc: JournalError) -> NoReturn:
        """Nothing more is carried out for a run that cannot be written. User code must not take this for its own
        failure, which it could catch: as with every ending it sees only `CancelledError`.
        """
        if self._root is None or self._root.done():
            raise exc
        self.end("fenced" if isinstance(exc, Fenced) else "broken")
        raise asyncio.CancelledError from exc

    def _flush_soon(self) -> None:
        self._flush_timer = None
        if not self._pending:
            return
        task = asyncio.get_running_loop().create_task(self._flush_quietly())
        self._flush_tasks.add(task)
        task.add_done_callback(self._flush_tasks.discard)

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except (JournalError, asyncio.CancelledError):
            return  # kept in `broken`, and the root is told: the drive reports it

    # -- hearing -------------------------------------------------------------------------------------------------

    async def listen(self, after: int) -> None:
        """Take in what others write to this run, until cancelled."""
        async for batch in self.journal.tail(self.lease.run_id, after, kinds=_FOREIGN_EVENTS):
            for event in batch:
                self._take_in(event)

    def _take_in(self, event: ev.JournalEvent) -> None:
        if event.seq <= self._seen_seq:
            return  # folded before
        self._seen_seq = event.seq  # what came before it is this drive's own
        self.state.apply(event)
        if isinstance(event, ev.IncidentAnswered):
            waiter = self._answers.pop(event.incident_id, None)
            if waiter is not None and not waiter.done():
                waiter.set_result(event)
        elif isinstance(event, ev.AbortRequested):
            self.end("abort")
        elif isinstance(event, ev.RewindRequested):
            self.end("rewind")
        self._update_frozen()

    def _update_frozen(self) -> None:
        if self.state.phase == "frozen" or self._paused:
            self._thawed.clear()
        else:
            self._thawed.set()

    # -- ending --------------------------------------------------------------------------------------------------

    def set_root_task(self, root: asyncio.Task[Any]) -> None:
        """Name the task that `end` cancels."""
        self._root = root

    def end(self, reason: Ending) -> None:
        """Note why, then cancel everything: user code sees only `CancelledError`. The first reason stands."""
        if self.ending or self._root is None or self._root.done():
            return
        self.ending = reason
        if not self.ended.done():
            self.ended.set_result(None)
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

    # -- who works, who waits ------------------------------------------------------------------------------------

    def open_activity(self, parent: Activity | None) -> Activity:
        element = Activity(parent)
        self._activities.add(element)
        if parent is not None:
            parent.children += 1
        self._activity_changes += 1
        return element

    def close_activity(self, element: Activity) -> None:
        self._activities.discard(element)
        if element.parent is not None:
            element.parent.children -= 1
        self._activity_changes += 1

    def pause(self) -> None:
        """Let nothing more begin: the drive is about to let go of the run."""
        self._paused = True
        self._thawed.clear()

    @property
    def has_unrepeatable_call(self) -> bool:
        """Whether a call is under way that must not be begun twice."""
        return any(element.must_not_repeat for element in self._activities)

    async def wait_until_drained(self, whole: Callable[[], bool]) -> None:
        """Wait until no call is under way that must not be begun twice; while `whole` says so, until no step is."""
        while self.has_unrepeatable_call or (whole() and self.state.in_flight):  # noqa: ASYNC110 - flags of many, asked at a stop only
            await asyncio.sleep(0.02)

    def is_idle(self) -> frozenset[Wait]:
        """What all open leaves wait for; empty while one of them is at work, or may go on, or while a call is under way
        that must not be begun twice.
        """
        found: set[Wait] = set()
        for element in self._activities:
            if element.must_not_repeat or not (element.wait or element.children):
                return frozenset()
            if element.wait is not None:
                found.add(element.wait)
        return frozenset() if any(map(self._is_over, found)) else frozenset(found)

    def _is_over(self, wait: Wait) -> bool:
        """Whether what was waited for has been heard, and its node goes on in a moment."""
        if wait.incident_id:
            return not self.state.incidents[wait.incident_id].open
        return wait.thaw and self._thawed.is_set()

    async def watch_idleness(self) -> frozenset[Wait]:
        """What everything has been waiting for, once it has done so for the grace time."""
        quiet = max(self.config.grace_s, _WRITE_DELAY_S)
        while True:
            await self._has_waiting.wait()
            moves = self._activity_changes
            await self._sleep_grace(quiet)
            if self._activity_changes == moves and (waits := self.is_idle()):
                return waits
            if all(element.wait is None for element in self._activities):
                self._has_waiting.clear()

    async def _sleep_grace(self, seconds: float) -> None:
        """Let so much time pass; less where others wait for the room that this run takes."""
        crowded = self.config.crowded
        if crowded is not None and seconds > _WRITE_DELAY_S:
            with suppress(TimeoutError):
                await asyncio.wait_for(crowded.wait(), seconds - _WRITE_DELAY_S)
        await asyncio.sleep(min(seconds, _WRITE_DELAY_S))

    @property
    def is_frozen(self) -> bool:
        """Whether no step may begin now: the run is frozen, or about to be let go of."""
        return not self._thawed.is_set()

    async def wait_until_thawed(self, element: Activity) -> None:
        """Wait until the run is not frozen."""
        if self._thawed.is_set():
            return
        with self._waiting(element, Wait(thaw=True)):
            await self._thawed.wait()

    async def wait_until(self, instant: datetime, element: Activity, *, at_most: float = math.inf) -> None:
        """Wait for an instant. The run may leave memory meanwhile, and is woken at it.

        `at_most`, in seconds: how long the wait was when it began; a clock that was set back makes it no longer.
        """
        left = min((instant - self.clock()).total_seconds(), at_most)
        if left > 0:
            with self._waiting(element, Wait(until=instant, at_most=left)):
                await asyncio.sleep(left)

    def clock_set_back_events(self) -> list[ev.JournalEvent]:
        """What is to be recorded if the clock was set back under waits: that they end sooner by it, for else each life
        would begin them anew.
        """
        now = self.clock()
        began = [wait.ts for wait in self.state.waits_from(now + _CLOCK_CORRECTION)]
        return [ev.ClockSetBack(ts=now, seconds=(max(began) - now).total_seconds())] if began else []

    def alive_since_missed(self, instant: datetime) -> datetime | None:
        """Since when there is somebody to keep `instant`, if there was nobody when it passed: the runtime was not
        alive, or the run was frozen.
        """
        alive_since = self.config.alive_since() if self.config.alive_since is not None else None
        since = [each for each in (alive_since, self.state.thawed_at) if each and instant < each <= self.clock()]
        return max(since, default=None)

    def deadline_of(self, opened: ev.IncidentOpened) -> datetime | None:
        """When an open incident's safe default takes effect; None: never.

        A deadline that passed while nobody was alive gets its time anew, for nobody could have answered. What only
        waits for a server's sake starts soon after, not all at once. A clock that was set back makes no wait longer.
        """
        if opened.deadline is None:
            return None
        length = max(opened.deadline - opened.ts, timedelta())
        missed = self.alive_since_missed(opened.deadline)
        if missed is None:
            return min(opened.deadline, self.clock() + length)
        return missed + (overdue_delay(opened.incident_id, length) if opened.safe == "wait_retry" else length)

    @contextmanager
    def _waiting(self, element: Activity, wait: Wait) -> Iterator[None]:
        element.wait = wait
        self._activity_changes += 1
        self._has_waiting.set()
        try:
            yield
        finally:
            element.wait = None
            self._activity_changes += 1

    async def wait_for_answer(self, incident_id: str, element: Activity) -> ev.IncidentAnswered:
        """Wait for the answer to an open incident. At its deadline the safe default is given, by rule."""
        incident = self.state.incidents[incident_id]
        if incident.answer is not None:
            return incident.answer
        waiter = self._answers.get(incident_id)
        if waiter is None:
            waiter = self._answers[incident_id] = asyncio.get_running_loop().create_future()
        try:
            with self._waiting(element, Wait(incident_id)):
                answered = await self._before_deadline(incident.opened, waiter)
            # From here on this node is at work: it gives the default, and hears that it did.
            if not answered:
                await self._give_default(incident.opened)
            return await asyncio.shield(waiter)
        except asyncio.CancelledError:
            if not self.ending:
                reason = "withdrawn: nobody waits for it any more"
                self.record_soon(
                    ev.IncidentClosed(node_id=incident.opened.node_id, incident_id=incident_id, reason=reason)
                )
            raise

    async def _before_deadline(self, opened: ev.IncidentOpened, waiter: asyncio.Future[ev.IncidentAnswered]) -> bool:
        """Wait for an answer until the incident's deadline; whether there is one."""
        if (due := self.deadline_of(opened)) is None:
            await asyncio.wait({waiter})
            return True
        # By this process's own clock from here on: whoever sets the computer's clock answers nothing.
        done, _ = await asyncio.wait({waiter}, timeout=max(0.0, (due - self.clock()).total_seconds()))
        while not done and not self._thawed.is_set():
            # To be frozen is no answer, and no time to answer in.
            await _wait_for_either(waiter, self._thawed)
            due = self.deadline_of(opened) or due
            done, _ = await asyncio.wait({waiter}, timeout=max(0.0, (due - self.clock()).total_seconds()))
        return bool(done)

    async def _give_default(self, opened: ev.IncidentOpened) -> None:
        answer = ev.IncidentAnswered(
            run_id=self.state.id,
            node_id=opened.node_id,
            incident_id=opened.incident_id,
            revision=opened.revision,
            option=opened.safe,
            reach="attempt",
            reason="no operator may be asked" if opened.unattended else "the deadline passed",
            by=ev.Actor(name="unattended" if opened.unattended else "deadline", channel="rule"),
        )
        try:
            await self.journal.answer(answer)
        except JournalError as exc:
            self._fail_write(exc)


async def _wait_for_either(waiter: asyncio.Future[Any], event: asyncio.Event) -> None:
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiter, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def overdue_delay(key: str, length: timedelta) -> timedelta:
    """A part of `length`, and of a few seconds at most: how much later each of many begins that are all overdue."""
    return min(length, OVERDUE_SPREAD) * (zlib.crc32(key.encode()) / 2**32)
