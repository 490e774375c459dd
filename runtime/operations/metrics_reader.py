"""The metrics of a journal, kept: each look reads only what was written since the last."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime

from runtime.execution.gates.breaker import BreakerRegistry
from runtime.judgement.metrics.exposition import Gauges, exposition
from runtime.judgement.metrics.journal_metrics import METRIC_MARKS, JournalMetrics
from runtime.judgement.recovery.breaker import BreakerPolicy, BreakerState
from runtime.operations.queries import events_with_marks
from runtime.record.journal import Journal
from runtime.record.state.summary import ALL_RUNS, RUN_ACTIVE, RUN_TERMINAL


class MetricsReader:
    """Asked again, it reads only what was written since."""

    def __init__(self, journal: Journal, breakers: BreakerRegistry) -> None:
        self._journal = journal
        self._breakers = breakers
        self._metrics = JournalMetrics()
        self._at = 0
        self._turn = asyncio.Lock()

    async def read(self, policy: BreakerPolicy, now: datetime) -> str:
        """The metrics by now, in the format of Prometheus.

        Args:
            policy: When a circuit breaker is open.
            now: The time (UTC) against which ages are measured.

        Raises:
            JournalError: the journal cannot be read.
        """
        async with self._turn:
            end = await self._journal.position()
            async for event in events_with_marks(self._journal, METRIC_MARKS, after=self._at, end=end):
                self._metrics.apply(event)
            self._at = end
            return exposition(await self._gauges(policy, now), self._metrics)

    async def _gauges(self, policy: BreakerPolicy, now: datetime) -> Gauges:
        states: Counter[str] = Counter(each.shown_phase for each in await self._journal.runs(ALL_RUNS))
        opened = [each.opened for each in await self._journal.incidents()]
        known = [each for each in await self._breakers.breakers() if each.failures or each.opened_at is not None]
        return Gauges(
            # A state without runs is 0 and not absent: a rule that watches it needs the series.
            runs={state: states[state] for state in (*RUN_ACTIVE, *sorted(RUN_TERMINAL))},
            incidents=Counter(each.fault.cause.value for each in opened),
            oldest_incident_s=max([0.0, *((now - each.ts).total_seconds() for each in opened)]),
            breakers={each.key: each.state(policy, now.timestamp()) is BreakerState.OPEN for each in known},
        )
