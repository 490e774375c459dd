"""Delivers spans to the receiver of traces: as many at once as it takes, and nothing twice.

A receiver that is down is told of once for each reason; one that hangs holds a thread of its own, and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runtime.execution.secret_vault import make_redactor
from runtime.judgement.traces.span import Span
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.worker.telemetry.sending_thread import SendingThread

if TYPE_CHECKING:
    from runtime.worker.telemetry.otlp_sender import OtlpSender, Sent

log = logging.getLogger("runtime.traces")

MAX_BATCH_SPANS = 512
SEND_LIMIT_S = 60.0
"""After how many seconds a receiver that does not answer is given up for now, whatever the library's own limit is."""
FIRST_RETRY_DELAY_S = 1.0
MAX_RETRY_DELAY_S = 300.0
_MAX_REASONS = 5
"""How many different reasons of one outage are told."""


@dataclass(slots=True)
class SpanBatch:
    """Spans that were not accepted yet, and the position that the cursor moves to when they are."""

    upto: int
    spans: list[Span]
    accepted: list[Span] = field(default_factory=list)
    sent: int = 0


class SpanDelivery:
    """`thread` is for whatever may block; another one takes its place where the receiver holds it."""

    def __init__(self, journal: Journal, redact: tuple[str, ...], *, first_pause_s: float, send_limit_s: float) -> None:
        self.thread = SendingThread("orbiter-traces")
        self._journal = journal
        self._redact = redact
        self._first_pause_s = first_pause_s
        self._send_limit_s = send_limit_s
        self._sender: OtlpSender | None = None
        self._limit = MAX_BATCH_SPANS
        self._failures = 0
        self._reasons: set[str] = set()
        self._retry_after_s = 0.0
        self._metrics_error = ""
        self._rejection = ""

    @property
    def is_failing(self) -> bool:
        """Whether the receiver did not take what it was sent last."""
        return self._failures > 0

    async def deliver(self, batch: SpanBatch) -> bool:
        """Whether all of it was accepted. What was is not sent again, but by another process."""
        while batch.spans:
            part = batch.spans[: self._limit]
            result = await self._send(part)
            if result.accepted:
                batch.spans = batch.spans[len(part) :]
                batch.accepted += part
                batch.sent += len(part)
                self._tell_of_rejected(result)
                self._limit = min(MAX_BATCH_SPANS, 2 * self._limit)
                self._recover()
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
                    self._sender = await self.thread.call(OtlpSender)
                return await self.thread.call(self._sender.send, spans)
        except TimeoutError:
            # The thread is left to it, and ends when the call does.
            self.thread.end()
            self.thread, self._sender = SendingThread("orbiter-traces"), None
            return Sent(False, reason=f"no answer within {self._send_limit_s:g} s")
        except Exception as exc:
            return Sent(False, reason=f"{type(exc).__name__}: {exc}")

    async def send_metrics(self) -> None:
        """Send what was counted, if anything was sent."""
        if self._sender is not None:
            await self.thread.call(self._sender.send_metrics)

    async def count(self, batch: SpanBatch) -> None:
        """Count what was accepted in the metrics, and send these when they are due: neither a span nor the cursor
        waits for that.
        """
        if self._sender is None or not batch.accepted:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._send_limit_s):
                self._tell_of_metrics(await self.thread.call(self._sender.count, batch.accepted))

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

    def _recover(self) -> None:
        if self._failures:
            log.info("traces are accepted again")
        self._failures, self._retry_after_s = 0, 0.0
        self._reasons.clear()

    def _masked(self, text: str) -> str:
        return make_redactor(self._redact).text(text)[:500]

    def pause_s(self) -> float:
        """After how many seconds to try again."""
        own = self._first_pause_s * 2.0 ** min(self._failures - 1, 16)
        return min(MAX_RETRY_DELAY_S, max(own, self._retry_after_s))
