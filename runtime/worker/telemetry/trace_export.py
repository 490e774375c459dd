"""The duty that sends traces: from the journal, by one worker of a workspace at a time, with a cursor in the journal.

What was written since the cursor is folded into spans and sent; the cursor moves when the receiver has accepted. So a
span is sent at least once, whichever process dies, and always with the same ids. A receiver that is down is tried
again, ever more slowly; one that hangs holds a thread of its own, and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from runtime.execution.secret_vault import make_redactor
from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.span import Span, TraceSettings
from runtime.record.journal import Journal, JournalError
from runtime.record.state import events as ev
from runtime.record.state.summary import RUN_TERMINAL
from runtime.worker.duties.claim import CLAIM_RETRY_S, claimed
from runtime.worker.telemetry.cursor import advance_cursor, read_cursor
from runtime.worker.telemetry.known_runs import KnownRuns
from runtime.worker.telemetry.sending_thread import SendingThread
from runtime.worker.telemetry.switches import (
    DEFAULT_DELAY_S,
    check_extra,
    extra_installed,
    is_disabled,
    schedule_delay_s,
)

if TYPE_CHECKING:
    from runtime.worker.telemetry.otlp_sender import OtlpSender, Sent

log = logging.getLogger("runtime.traces")

WINDOW_EVENTS = 100
"""Positions that are read in one go beside runs: a larger batch holds the interpreter for as long as many steps."""
LAST_WINDOW_EVENTS = 400
"""The same when a runtime ends: each batch costs a claim and a note of the cursor."""
MAX_BATCH_SPANS = 512
SEND_LIMIT_S = 60.0
"""After how many seconds a receiver that does not answer is given up for now, whatever the library's own limit is."""
FIRST_RETRY_DELAY_S = 1.0
MAX_RETRY_DELAY_S = 300.0
_MAX_REASONS = 5
"""How many different reasons of one outage are told."""
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


@dataclass(slots=True)
class _Batch:
    """Spans that were not accepted yet, and the position that the cursor moves to when they are."""

    upto: int
    spans: list[Span]
    sent: int = 0


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
        self._first_pause_s = first_pause_s
        self._send_limit_s = send_limit_s
        self._redact = settings.redact
        self._runs = KnownRuns(settings)
        self._thread = SendingThread("orbiter-traces")
        self._sender: OtlpSender | None = None
        self._batch: _Batch | None = None
        self._limit = MAX_BATCH_SPANS
        self._failures = 0
        self._reasons: set[str] = set()
        self._retry_after_s = 0.0
        self._metrics_error = ""
        self._rejection = ""
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
            self._thread.end()

    async def finish(self) -> None:
        """Send what was written last, for `FINISH_S` at most: the process may end next. Nothing, if the receiver is
        down anyway.
        """
        if self._failures or is_disabled() or not extra_installed():
            return
        with suppress(TimeoutError, JournalError):
            async with asyncio.timeout(FINISH_S):
                await self._send_all(at_once=True)
                if self._sender is not None:
                    await self._thread.call(self._sender.send_metrics)

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
                busy = self._thread.busy_s
                async with claimed(self._journal, _CLAIM, self._owner, _CLAIM_S, prolong=True) as held:
                    if not held:
                        return CLAIM_RETRY_S
                    batch = await self._next_batch(LAST_WINDOW_EVENTS if at_once else WINDOW_EVENTS)
                    if batch is None:
                        return None
                    if not await self._send_batch(batch):
                        return self._pause_s()
                    if batch.sent:
                        await advance_cursor(self._journal, batch.upto, batch.sent)
                    self._runs.position, self._batch = batch.upto, None
                if not at_once:
                    return min(DEFAULT_DELAY_S, PAUSE_FACTOR * (self._thread.busy_s - busy))

    # -- what is to be sent --------------------------------------------------------------------------------------

    async def _next_batch(self, window: int) -> _Batch | None:
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

    async def _make_batch(self, upto: int, events: Sequence[ev.JournalEvent]) -> _Batch:
        gaps = {run_id: await self._journal.read(run_id, after) for run_id, after in self._runs.gaps(events)}
        text = AttributeText(make_redactor(self._redact))
        self._batch = _Batch(upto, await self._thread.call(self._runs.spans, events, gaps, text))
        return self._batch

    # -- sending -------------------------------------------------------------------------------------------------

    async def _send_batch(self, batch: _Batch) -> bool:
        """Whether all of it was accepted. What was is not sent again, but by another process."""
        while batch.spans:
            part = batch.spans[: self._limit]
            result = await self._send(part)
            if result.accepted:
                batch.spans = batch.spans[len(part) :]
                batch.sent += len(part)
                self._tell_of_rejected(result)
                await self._count(part)
                self._limit = min(MAX_BATCH_SPANS, 2 * self._limit)
                await self._recover()
            elif result.refused and len(part) > 1:
                self._limit = len(part) // 2
            elif result.refused:
                log.error(
                    "the receiver of traces refuses the span %r, which is left out: %s",
                    part[0].name,
                    self._masked(result.reason),
                )
                batch.spans = batch.spans[1:]
                batch.sent += 1
            else:
                await self._hold_back(result)
                return False
        return True

    async def _send(self, spans: Sequence[Span]) -> Sent:
        from runtime.worker.telemetry.otlp_sender import OtlpSender, Sent

        try:
            async with asyncio.timeout(self._send_limit_s):
                if self._sender is None:
                    self._sender = await self._thread.call(OtlpSender)
                return await self._thread.call(self._sender.send, spans)
        except TimeoutError:
            # The thread is left to it, and ends when the call does.
            self._thread.end()
            self._thread, self._sender = SendingThread("orbiter-traces"), None
            return Sent(False, reason=f"no answer within {self._send_limit_s:g} s")
        except Exception as exc:
            return Sent(False, reason=f"{type(exc).__name__}: {exc}")

    async def _count(self, spans: Sequence[Span]) -> None:
        """Count what was accepted in the metrics. These are sent as well as may be: no span waits for them."""
        if self._sender is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._send_limit_s):
                self._tell_of_metrics(await self._thread.call(self._sender.count, spans))

    def _tell_of_rejected(self, result: Sent) -> None:
        if result.rejected and result.reason != self._rejection:
            masked = self._masked(result.reason)
            log.error("the receiver of traces took a request without %d of its spans: %s", result.rejected, masked)
        self._rejection = result.reason if result.rejected else ""

    def _tell_of_metrics(self, trouble: str) -> None:
        if trouble and not self._metrics_error:
            log.warning("metrics are not accepted (OTEL_METRICS_EXPORTER=none sends none): %s", self._masked(trouble))
        self._metrics_error = trouble

    async def _hold_back(self, result: Sent) -> None:
        """Tell why spans wait: at first, and when there is another reason, as after a key that was corrected badly."""
        self._failures += 1
        self._retry_after_s = result.retry_after_s
        reason = self._masked(result.reason)
        if reason in self._reasons or len(self._reasons) >= _MAX_REASONS:
            return
        self._reasons.add(reason)
        log.warning("traces are held back, and tried again ever more slowly; nothing is lost: %s", reason)
        await self._journal.post(ev.WORKSPACE_RUN_ID, ev.TracesHeldBack(reason=reason))

    async def _recover(self) -> None:
        if self._failures:
            log.info("traces are accepted again")
        self._failures, self._retry_after_s = 0, 0.0
        self._reasons.clear()

    def _masked(self, text: str) -> str:
        return make_redactor(self._redact).text(text)[:500]

    def _pause_s(self) -> float:
        own = self._first_pause_s * 2.0 ** min(self._failures - 1, 16)
        return min(MAX_RETRY_DELAY_S, max(own, self._retry_after_s))
