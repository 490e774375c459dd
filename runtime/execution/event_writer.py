"""The event writer of a drive: appends its events to the journal, in the order in which the state took them in.

An event is applied to the state first and appended then. Events that nothing waits for travel with the next one. After
a write that failed nothing more is written: what stands in the journal has no hole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn

from runtime.execution.secret_vault import masked_event
from runtime.record.journal import Journal, JournalError, Lease, StaleSequence
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events

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
        self._flush_timer: asyncio.TimerHandle | None = None
        self._flush_tasks: set[asyncio.Task[None]] = set()
        self._writing: set[asyncio.Future[Any]] = set()

    def record_soon(self, event: ev.JournalEvent) -> None:
        """Apply an event that nothing waits for: it is written with the next one, or shortly."""
        event = masked_event(event)
        self._state.apply(event)
        self._pending.append(event)
        if self._flush_timer is None:
            # Left to itself where the event travels with another before: to set it again at every step costs more than
            # that one event goes a little sooner than it must.
            self._flush_timer = asyncio.get_running_loop().call_later(WRITE_DELAY_S, self._flush_soon)

    async def record(self, *events: ev.JournalEvent) -> None:
        """Write events, and return when they are as safe as their kind asks for."""
        for event in map(masked_event, events):
            self._state.apply(event)
            self._pending.append(event)
        await self.flush()

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
        # Shielded: what the state has taken into account is written, even if the task that waits for it is cancelled.
        # A park that follows an incident which never was written would wait for ever.
        try:
            await asyncio.shield(self._append(batch))
        except JournalError as exc:
            self._fail(exc)

    async def close(self, *events: ev.JournalEvent) -> None:
        """Write the last events of the drive. Code that was left behind writes nothing after them.

        Call it without an `await` after deciding on them: what was heard by then counts as known.

        Raises:
            StaleSequence: the run was told something that was not heard yet; nothing is written. See `catch_up`.
        """
        before, self._pending = self._pending, []
        last = [masked_event(event) for event in events]
        for event in last:
            self._state.apply(event)
        self._closed = True
        writing = self._append([*before, *last])
        try:
            await asyncio.shield(writing)
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
            await asyncio.wait(self._writing)
        if self.broken is not None:
            raise self.broken

    def _append(self, events: list[ev.JournalEvent]) -> asyncio.Future[Any]:
        writing = asyncio.ensure_future(
            self._journal.append(self._lease, events, summary=self._state.summary(), seen=self.seen_seq)
        )
        self._writing.add(writing)
        writing.add_done_callback(self._write_done)
        return writing

    def _write_done(self, writing: asyncio.Future[Any]) -> None:
        self._writing.discard(writing)
        failed = writing.exception() if not writing.cancelled() else None
        if isinstance(failed, JournalError) and not isinstance(failed, StaleSequence):
            self.broken = self.broken or failed

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
            return  # kept in `broken`, and the root is cancelled: the drive reports it
