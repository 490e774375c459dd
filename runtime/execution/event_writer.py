"""The event writer of a drive: appends its events to the journal, in the order in which the state took them in.

An event is applied to the state first and appended then. Events that nothing waits for travel with the next one. After
a write that failed nothing more is written: what stands in the journal has no hole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context
from typing import Any, NoReturn
from weakref import WeakKeyDictionary, ref

from runtime.execution.secret_vault import masked_event
from runtime.record.journal import Journal, JournalError, Lease, StaleSequence
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events

_flushes: set[asyncio.Task[None]] = set()
"""Those under way: a loop alone keeps no task alive."""
WRITE_DELAY_S = 0.02
"""How long an event that nothing waits for may stay unwritten, so that it travels with the next one."""


class EventWriter:
    """Writes the events of one drive under its lease. For the drive's loop.

    Args:
        journal: Where the events go.
        lease: The drive's lease of the run.
        state: The run's state; every event is applied to it before it is written.
        fail: Ends the drive when nothing can be written any more. It never returns.
    """

    def __init__(
        self, journal: Journal, lease: Lease, state: DurableRun, fail: Callable[[JournalError], NoReturn]
    ) -> None:
        self.broken: JournalError | None = None
        """The first failure of a write; nothing is written after it."""
        self.seen_seq = max(lease.seq, state.last_seq)
        """Up to where the drive knows the journal: what others wrote after it must be read before the drive ends."""
        self._journal = journal
        self._lease = lease
        self._state = state
        self._fail = fail
        self._pending: list[ev.JournalEvent] = []
        self._closed = False
        self._ticks = _ticks_of(asyncio.get_running_loop())
        self._writing = 0
        """How many writes are under way."""
        self._written: asyncio.Future[None] | None = None
        """Done once none is, where that is waited for."""

    def record_soon(self, event: ev.JournalEvent) -> None:
        """Apply an event that nothing waits for: it is written with the next one, or shortly."""
        event = masked_event(event)
        self._state.apply(event)
        if not self._pending:
            self._ticks.add(self)
        self._pending.append(event)

    def record(self, *events: ev.JournalEvent) -> Coroutine[Any, Any, None]:
        """Write events, and return when they are as safe as their kind asks for. To be awaited at once."""
        for event in map(masked_event, events):
            self._state.apply(event)
            self._pending.append(event)
        return self.flush()

    async def flush(self) -> None:
        """Write what is pending."""
        if self._closed:
            self._pending.clear()
            raise asyncio.CancelledError
        if self.broken is not None:
            # What was written last stands; after a hole nothing may follow.
            self._fail(self.broken)
        if not self._pending:
            return
        batch, self._pending = self._pending, []
        self._ticks.discard(self)
        # What the state has taken into account is written, also where the task that waits for it is cancelled: a park
        # that follows an incident which never was written would wait for ever.
        try:
            await self._append(batch)
        except JournalError as exc:
            self._fail(exc)

    async def close(self, *events: ev.JournalEvent) -> None:
        """Write the last events of the drive, and give its lease back with them. Code that was left behind writes
        nothing after them.

        Call it without an `await` after deciding on them: what was heard by then counts as known.

        Raises:
            StaleSequence: the run was told something that was not heard yet; nothing is written. See `catch_up`.
        """
        before, self._pending = self._pending, []
        self._ticks.discard(self)
        last = [masked_event(event) for event in events]
        for event in last:
            self._state.apply(event)
        self._closed = True
        try:
            await self._append([*before, *last], release=True)
        except StaleSequence:
            self._closed, self._pending = False, before
            raise

    async def catch_up(self) -> DurableRun:
        """Take the state from the journal again, after `close` was refused: nothing of this drive is being written.

        Returns:
            The state from now on, with what is pending applied.
        """
        self._state = fold_events(await self._journal.read(self._lease.run_id))
        self.seen_seq = self._state.last_seq
        for event in self._pending:
            self._state.apply(event)
        return self._state

    async def wait_for_writes(self) -> None:
        """Wait for everything that is being written.

        Raises:
            JournalError: something could not be; nothing may be written after it.
        """
        while self._writing:
            self._written = asyncio.get_running_loop().create_future()
            await self._written
        if self.broken is not None:
            raise self.broken

    def _append(self, events: list[ev.JournalEvent], *, release: bool = False) -> Awaitable[Sequence[ev.JournalEvent]]:
        summary = self._state.summary()
        self._writing += 1
        try:
            return self._journal.append(
                self._lease,
                events,
                summary=summary,
                seen=self.seen_seq,
                release=release,
                ended=self._write_ended,
            )
        except BaseException:  # a fault of this program: nothing has begun that could end
            self._writing -= 1
            raise

    def _write_ended(self, written: Sequence[ev.JournalEvent] | JournalError) -> None:
        self._writing -= 1
        if not self._writing and self._written is not None and not self._written.done():
            self._written.set_result(None)
        if isinstance(written, JournalError):
            if not isinstance(written, StaleSequence):
                self.broken = self.broken or written
        elif written and written[0].seq == self.seen_seq + 1:  # what follows on directly from what is known is known
            self.seen_seq = written[-1].seq

    def flush_soon(self) -> None:
        """Write what is pending, in a task of its own."""
        if not self._pending:
            return
        task = asyncio.get_running_loop().create_task(self._flush_quietly())
        _flushes.add(task)
        task.add_done_callback(_flushes.discard)

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except (JournalError, asyncio.CancelledError):
            return  # kept in `broken`, and the root is cancelled: the drive reports it


class _FlushTicks:
    """Lets writers of one event loop flush what has been pending for `WRITE_DELAY_S`, or a half of that.

    One timer for all of them: nearly every event travels with another before its time, and a timer for each step
    costs more than the rest of recording its begin.
    """

    __slots__ = ("_loop", "_running", "_seen", "_young")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)
        self._running = False
        self._young: set[EventWriter] = set()
        self._seen: set[EventWriter] = set()
        """Those that had something pending at the last tick."""

    def add(self, writer: EventWriter) -> None:
        """Something is pending from now on."""
        self._young.add(writer)
        if not self._running:
            self._schedule()

    def discard(self, writer: EventWriter) -> None:
        """Nothing is pending any more."""
        self._young.discard(writer)
        self._seen.discard(writer)

    def _schedule(self) -> None:
        loop = self._loop()
        self._running = loop is not None
        if loop is not None:
            # In an empty context: with a run's own, the timer would keep the run in memory.
            loop.call_later(WRITE_DELAY_S / 2, self._tick, context=Context())

    def _tick(self) -> None:
        due, self._seen, self._young = self._seen, self._young, set()
        for writer in due:
            writer.flush_soon()
        self._running = False
        if self._seen:
            self._schedule()


_TICKS_BY_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, _FlushTicks] = WeakKeyDictionary()


def _ticks_of(loop: asyncio.AbstractEventLoop) -> _FlushTicks:
    found = _TICKS_BY_LOOP.get(loop)
    if found is None:
        found = _TICKS_BY_LOOP[loop] = _FlushTicks(loop)
    return found
