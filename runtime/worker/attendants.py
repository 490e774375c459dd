"""What works beside the drives of one worker: it looks for news, indexes, analyses, notifies and sends traces.

Each begins from what the journal says. What goes wrong here is logged, and it is begun again; no run is worse for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Protocol

from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.traces.span import TraceSettings
from runtime.record.journal import Journal, JournalError
from runtime.record.state import events as ev
from runtime.worker.duties.analyst import Analyst
from runtime.worker.duties.notifier import Notifier
from runtime.worker.duties.partition_maker import PartitionMaker
from runtime.worker.duties.search_indexer import SearchIndexer
from runtime.worker.telemetry.trace_export import TraceExport

log = logging.getLogger("runtime.supervisor")

WAKING_KINDS = frozenset[type[ev.JournalEvent]](
    (*ev.OPERATOR_EVENTS, ev.RunCreated, ev.RunParked, ev.IncidentAnswered, ev.FreezeLifted)
)
"""What may make a run runnable: what operators and other processes write, and a park that found an answer."""


class Duty(Protocol):
    """Works beside the drives, and begins from what the journal says."""

    async def serve(self) -> None:
        """Until cancelled."""
        ...


class Wakeup:
    """Calls `hint` for every batch of events after which a run may go on. The supervisor looks by itself as well, only
    more rarely. Behind the journal's `tail`: a journal with notifications of its own needs nothing else.
    """

    def __init__(self, journal: Journal, hint: Callable[[], None]) -> None:
        self._journal = journal
        self._hint = hint

    async def serve(self) -> None:
        """Until cancelled, or until the journal is closed."""
        after = await self._journal.position()
        self._hint()  # for what was written before the tail began
        async for _ in self._journal.tail(None, after, kinds=WAKING_KINDS):
            self._hint()


class Attendants:
    """All of them. One that fails (with the disk full, say) is made again when `again_s` have passed."""

    def __init__(
        self,
        journal: Journal,
        config: ExecutionConfig,
        owner: str,
        *,
        clock: Callable[[], datetime],
        hint: Callable[[], None],
        again_s: float,
    ) -> None:
        self._journal = journal
        self._config = config
        self._owner = owner
        self._clock = clock
        self._hint = hint
        self._again_s = again_s
        self._analysing: Analyst | None = None
        self._exporting: TraceExport | None = None

    async def serve(self) -> None:
        """Until cancelled."""
        given = self._config
        duties: list[tuple[Callable[[], Duty], str]] = [
            (partial(Wakeup, self._journal, self._hint), "runs are found by looking for them only"),
            (partial(SearchIndexer, self._journal, given.redact), "searches of runs are slower now"),
            (partial(PartitionMaker, self._journal), "no partitions are made for the runs to come"),
        ]
        if given.analysis != "off":
            duties.append((self._analyst, "incidents are not analysed now"))
        if given.traces is not None:
            duties.append((partial(self._trace_export, given.traces), "traces are not sent now"))
        if self._notifier().is_configured:
            duties.append((self._notifier, "no notices of incidents are sent now"))
        async with asyncio.TaskGroup() as group:
            for make, lost in duties:
                group.create_task(self._serve_with_restart(make, lost))

    async def finish(self) -> None:
        """What they still have to do for runs that have ended, before the process does."""
        if self._analysing is not None:
            with suppress(JournalError):
                await self._analysing.finish_unattended()
        if self._exporting is not None:
            await self._exporting.finish()

    async def _serve_with_restart(self, make: Callable[[], Duty], lost: str) -> None:
        while True:
            try:
                await make().serve()
            except Exception:
                log.exception("%s; again in %g s", lost, self._again_s)
            await asyncio.sleep(self._again_s)

    def _trace_export(self, settings: TraceSettings) -> TraceExport:
        self._exporting = TraceExport(self._journal, settings, owner=self._owner)
        return self._exporting

    def _analyst(self) -> Analyst:
        self._analysing = Analyst(self._journal, self._config, owner=self._owner)
        return self._analysing

    def _notifier(self) -> Notifier:
        return Notifier(self._journal, self._config, clock=self._clock, owner=self._owner)
