"""The duty that sends traces: from the journal, by one worker of a workspace at a time, with a cursor in the journal.

What was written since the cursor is folded into spans and sent; the cursor moves when the receiver has accepted. So a
span is sent at least once, whichever process dies, and always with the same ids. A receiver that is down is tried
again, ever more slowly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from runtime.execution.secret_vault import make_redactor
from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.span import TraceSettings
from runtime.record.journal import Journal, JournalError
from runtime.record.state import events as ev
from runtime.record.state.summary import RUN_TERMINAL
from runtime.worker.duties.claim import CLAIM_RETRY_S, claimed
from runtime.worker.telemetry.cursor import advance_cursor, read_cursor
from runtime.worker.telemetry.known_runs import KnownRuns
from runtime.worker.telemetry.span_delivery import FIRST_RETRY_DELAY_S, SEND_LIMIT_S, SpanBatch, SpanDelivery
from runtime.worker.telemetry.switches import (
    DEFAULT_DELAY_S,
    check_extra,
    extra_installed,
    is_disabled,
    schedule_delay_s,
)

WINDOW_EVENTS = 100
"""Positions that are read in one go beside runs: a larger batch holds the interpreter for as long as many steps."""
LAST_WINDOW_EVENTS = 400
"""The same when a runtime ends: each batch costs a claim and a note of the cursor."""
PAUSE_FACTOR = 25.0
"""How much longer it pauses than its thread computed. Reading the events takes the loop a quarter of that: beside runs
both take a twentieth of the processor at most. What it cannot send meanwhile waits in the journal.
"""
FINISH_S = 2.0
"""How long the end of a runtime waits for the last spans; the next one sends the rest."""
_CLAIM = "traces"
_CLAIM_S = 5.0
"""For how long another worker waits for one that died while it was sending. One that lives prolongs its claim."""
_MAX_FIRST_RUNS = 500
_OLD = timedelta(days=1)
_JUST_NOW = timedelta(minutes=1)
"""When traces are switched on, runs under way are sent whole if they are among the newest and not older than a day; so
are those that ended while the runtime started. Of others what ends from then on is sent.
"""
_CREATED = ('"type":"run.created"',)
_ENDING = frozenset[type[ev.JournalEvent]]({
    ev.StepEnded, ev.NodeClosed, ev.RunFinished, ev.RunStarted, ev.RunParked, ev.RunRewound, ev.IncidentAnswered,
    ev.IncidentClosed, ev.AnalysisAdded,
})  # fmt: skip
"""Events that may end a span."""


class TraceExport:
    """One per worker. Of all workers of a workspace one sends at a time.

    Args:
        settings: What is sent.
        owner: The worker's id.
    """

    def __init__(
        self,
        journal: Journal,
        settings: TraceSettings,
        *,
        owner: str,
        first_pause_s: float = FIRST_RETRY_DELAY_S,
        send_limit_s: float = SEND_LIMIT_S,
    ) -> None:
        self._journal = journal
        self._owner = owner
        self._redact = settings.redact
        self._runs = KnownRuns(settings)
        self._delivery = SpanDelivery(journal, settings.redact, first_pause_s=first_pause_s, send_limit_s=send_limit_s)
        self._batch: SpanBatch | None = None
        self._news = asyncio.Event()
        self._turn = asyncio.Lock()

    async def serve(self) -> None:
        """Send what is there, and then what comes, until cancelled."""
        if is_disabled() or not check_extra():
            await asyncio.Event().wait()
        hearing = asyncio.create_task(self._hear(await self._journal.position()))
        try:
            while not hearing.done():
                pause = await self._send_all()
                if pause is not None:
                    await asyncio.sleep(pause)
                    continue
                await self._news.wait()
                await asyncio.sleep(schedule_delay_s())
                self._news.clear()
            await hearing
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)
            self._delivery.thread.end()

    async def finish(self) -> None:
        """Send what was written last, for `FINISH_S` at most: the process may end next. Nothing, if the receiver is
        down anyway.
        """
        if self._delivery.is_failing or is_disabled() or not extra_installed():
            return
        with suppress(TimeoutError, JournalError):
            async with asyncio.timeout(FINISH_S):
                await self._send_all(at_once=True)
                await self._delivery.send_metrics()

    async def _hear(self, after: int) -> None:
        try:
            async for _ in self._journal.tail(None, after, kinds=_ENDING):
                self._news.set()
        finally:
            self._news.set()

    async def _send_all(self, *, at_once: bool = False) -> float | None:
        """Send until nothing is left; after how many seconds to go on where something is, else None.

        With `at_once` without the pauses in which runs have the processor.
        """
        async with self._turn:
            while True:
                busy = self._delivery.thread.busy_s
                async with claimed(self._journal, _CLAIM, self._owner, _CLAIM_S, prolong=True) as held:
                    if not held:
                        return CLAIM_RETRY_S
                    batch = await self._next_batch(LAST_WINDOW_EVENTS if at_once else WINDOW_EVENTS)
                    if batch is None:
                        return None
                    if not await self._delivery.deliver(batch):
                        return self._delivery.pause_s()
                    if batch.sent:
                        await advance_cursor(self._journal, batch.upto, batch.sent)
                    self._runs.position, self._batch = batch.upto, None
                    await self._delivery.count(batch)
                if not at_once:
                    return min(DEFAULT_DELAY_S, PAUSE_FACTOR * (self._delivery.thread.busy_s - busy))

    # -- what is to be sent --------------------------------------------------------------------------------------

    async def _next_batch(self, window: int) -> SpanBatch | None:
        """What was not accepted yet, and is not sent by another worker meanwhile; None where there is nothing."""
        cursor = await read_cursor(self._journal)
        if cursor is None:
            cursor = await self._begin()
        after = max(cursor, self._runs.position)
        if self._batch is not None and self._batch.upto > after:
            return self._batch
        end = await self._journal.position()
        if after >= end:
            return None
        upto = min(after + window, end)
        found = await self._journal.latest(after=after, before=upto + 1, limit=window)
        events = [placed.event for placed in found if placed.event.run_id != ev.WORKSPACE_RUN_ID]
        return await self._make_batch(upto, events)

    async def _begin(self) -> int:
        """Where nothing was sent before: from the beginning of the oldest run that is under way and not old."""
        now, upto = ev.utc_now(), await self._journal.position()
        wanted = {
            run.id
            for run in await self._journal.runs(_MAX_FIRST_RUNS)
            if run.created_at is not None and now - run.created_at < (_JUST_NOW if run.state in RUN_TERMINAL else _OLD)
        }
        created = await self._journal.latest(before=upto + 1, limit=_MAX_FIRST_RUNS, marks=_CREATED)
        cursor = min((placed.pos - 1 for placed in created if placed.event.run_id in wanted), default=upto)
        await advance_cursor(self._journal, cursor, 0)
        return cursor

    async def _make_batch(self, upto: int, events: Sequence[ev.JournalEvent]) -> SpanBatch:
        gaps = {run_id: await self._journal.read(run_id, after) for run_id, after in self._runs.gaps(events)}
        text = AttributeText(make_redactor(self._redact))
        self._batch = SpanBatch(upto, await self._delivery.thread.call(self._runs.spans, events, gaps, text))
        return self._batch
