"""The analyst: asks a model for an analysis of each incident, beside the run.

It holds no lease and opens no incident; what a restart lost is asked again, and what the journal holds is not. The
structured report is there before it begins. Where a model fails the next one is asked in the time that is left; where
none answers, seed 002's fixed sentence stands.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from orbiter.models.provider import get_provider
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.reports.analysis_prompt import TIMEOUT_S, strip_references
from runtime.operations.queries import events_with_marks
from runtime.record.inbox_row import InboxRow
from runtime.record.journal import Journal, JournalError
from runtime.record.lease_owner import owner_name
from runtime.record.state import events as ev
from runtime.worker.duties.analysis_models import should_analyse
from runtime.worker.duties.claim import claimed_in_turn
from runtime.worker.duties.model_panel import ModelPanel

log = logging.getLogger("runtime.analysis")

_CLAIM_MARGIN_S = 30.0
"""How much longer than an analysis may take no other worker begins it, in seconds."""
_MAX_ANALYSES = 1_000_000

_MARK = '{"type":"incident.analysed"'
_MARKS = (_MARK,)
_OPENED = ('{"type":"incident.opened"',)


class Analyst:
    """One per worker; of all workers one asks about each incident.

    Args:
        provider_for: Makes a provider from a model string.
        owner: The worker's id; empty for a new one.
    """

    def __init__(
        self,
        journal: Journal,
        config: ExecutionConfig,
        *,
        provider_for: Callable[[str], Any] = get_provider,
        timeout_s: float = TIMEOUT_S,
        owner: str = "",
    ) -> None:
        self._journal = journal
        self._owner = owner or owner_name()
        self._panel = ModelPanel(journal, config, provider_for, timeout_s)
        self._timeout_s = timeout_s
        self._known: dict[str, ev.AnalysisAdded] = {}
        self._read_to = 0
        self._reading = asyncio.Lock()
        self._asking: dict[str, asyncio.Lock] = {}
        self._at_work: set[asyncio.Task[None]] = set()
        self._unattended: set[asyncio.Task[None]] = set()
        self._begun: set[str] = set()
        self._served_from = 0

    async def serve(self) -> None:
        """Analyse what is open now, and then every incident as it opens, until cancelled."""
        after = self._served_from = await self._journal.position()
        try:
            async for found in self._journal.iterate_incidents(unmarked=_MARK):
                self._begin(found)
            async for batch in self._journal.tail(None, after):
                for event in batch:
                    if isinstance(event, ev.IncidentOpened):
                        self._begin(InboxRow(event.run_id, event))
        finally:
            for task in self._at_work:
                task.cancel()
            await asyncio.gather(*self._at_work, return_exceptions=True)

    async def finish_unattended(self) -> None:
        """Wait for the analyses of failures that no operator was asked about: their runs have ended, and the process
        that drove them may end next. Takes no longer than one analysis may.
        """
        async for event in events_with_marks(
            self._journal, _OPENED, after=self._served_from, end=await self._journal.position()
        ):
            if isinstance(event, ev.IncidentOpened) and event.unattended:
                self._begin(InboxRow(event.run_id, event))
        if self._unattended:
            await asyncio.wait(self._unattended, timeout=self._timeout_s)

    def _begin(self, found: InboxRow) -> None:
        opened = found.opened
        if not should_analyse(opened) or opened.incident_id in self._begun:
            return
        if opened.unattended and not self._panel.has_model(opened):
            return  # the run does not wait for it, and the report has the fixed sentence by itself
        self._begun.add(opened.incident_id)
        task = asyncio.create_task(self._analyse(found), name=f"analyse {found.opened.incident_id}")
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        if opened.unattended:
            self._unattended.add(task)
            task.add_done_callback(self._unattended.discard)

    async def _analyse(self, found: InboxRow) -> None:
        try:
            # Of a storm of equal incidents the first is asked about; the others wait for what came of it.
            kind = found.opened.fingerprint or found.opened.incident_id
            async with self._asking.setdefault(kind, asyncio.Lock()):
                ttl_s = self._timeout_s + _CLAIM_MARGIN_S
                async with claimed_in_turn(self._journal, f"analysis of {kind}", self._owner, ttl_s):
                    if not await self._is_analysed(found):
                        # Written before the next one looks: what it is to find stands in the journal.
                        await self._journal.post(found.run_id, await self._ask_models(found))
        except JournalError:
            log.exception("incident %s: its analysis could not be written", found.opened.incident_id)

    async def _is_analysed(self, found: InboxRow) -> bool:
        """Whether the incident's analysis stands in the journal."""
        written = await self._journal.latest(found.run_id, limit=_MAX_ANALYSES, marks=_MARKS)
        return any(
            isinstance(placed.event, ev.AnalysisAdded) and placed.event.incident_id == found.opened.incident_id
            for placed in written
        )

    async def _ask_models(self, found: InboxRow) -> ev.AnalysisAdded:
        opened = found.opened
        at: dict[str, Any] = {
            "node_id": opened.node_id,
            "parent_id": opened.parent_id,
            "incident_id": opened.incident_id,
        }
        known = await self._reuse_analysis(opened.fingerprint)
        if known is not None:
            # What it points to are events of the run that it was made of.
            own = known.run_id == found.run_id and known.node_id == opened.node_id
            text = known.text if own else strip_references(known.text)
            return replace(known, **(at | {"ts": ev.utc_now(), "cost_usd": None, "text": text}))
        return await self._panel.ask(found, at)

    async def _reuse_analysis(self, fingerprint: str) -> ev.AnalysisAdded | None:
        """What a model said of an equal incident, in this life or an earlier one. Read from the journal, each time only
        what was written since the last: after a restart no model is asked again.
        """
        if not fingerprint:
            return None
        async with self._reading:
            end = await self._journal.position()
            async for event in events_with_marks(self._journal, _MARKS, after=self._read_to, end=end):
                if isinstance(event, ev.AnalysisAdded) and event.fingerprint and not event.fallback:
                    self._known.setdefault(event.fingerprint, event)
            self._read_to = end
        return self._known.get(fingerprint)
