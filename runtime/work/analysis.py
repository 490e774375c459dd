"""The analyst: asks a model about every incident, beside the run and never in its way.

It holds no lease and opens no incident; what a restart lost is asked again. The structured report is there before it
begins. A model that fails, is silent or cannot be had leaves seed 002's fixed sentence.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from typing import Any

from orbiter.models.endpoints import ENDPOINTS
from orbiter.models.provider import get_provider
from orbiter.types import SystemMessage, UserMessage
from runtime.judgement import report as reports
from runtime.judgement.briefing import INSTRUCTIONS, MAX_TOKENS, NO_ANALYSIS, TIMEOUT_S, analysis_text, briefing
from runtime.judgement.prices import PriceTable
from runtime.judgement.redaction import Redactor
from runtime.record import events as ev
from runtime.record.journal import Journal, JournalError, OpenIncident
from runtime.record.state import fold
from runtime.work.secrets import VAULT

log = logging.getLogger("runtime.analysis")

PREFERRED = (("anthropic", "anthropic:claude-haiku-4-5"), ("openai", "openai:gpt-5-mini"))
"""Who is asked if the configuration names nobody: the first whose key is there and that is not the one that failed."""


def choose_model(configured: str, failing_provider: str) -> str:
    """The model to ask; empty where none can be had. `configured`: a model string, `auto`, or `off`."""
    if configured == "off":
        return ""
    if configured not in ("", "auto"):
        return configured
    able = [(name, model) for name, model in PREFERRED if any(os.environ.get(v) for v in ENDPOINTS[name].key_variables)]
    others = [model for name, model in able if name != failing_provider]
    return next(iter(others or [model for _, model in able]), "")


class Analyst:
    """One per driving process. `provider_for` makes a provider from a model string."""

    def __init__(
        self,
        journal: Journal,
        *,
        model: str = "auto",
        provider_for: Callable[[str], Any] = get_provider,
        timeout_s: float = TIMEOUT_S,
        patterns: tuple[str, ...] = (),
        prices: PriceTable | None = None,
    ) -> None:
        self._journal = journal
        self._model = model
        self._provider_for = provider_for
        self._timeout_s = timeout_s
        self._patterns = patterns
        self._prices = prices
        self._known: dict[str, ev.AnalysisAdded] = {}
        self._at_work: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Analyse what is open now, and then every incident as it opens, until cancelled."""
        after = await self._journal.position()
        try:
            for found in await self._journal.incidents():
                state = fold(await self._journal.read(found.run_id))
                incident = state.incidents.get(found.opened.incident_id)
                if incident is not None and incident.analysis is None:
                    self._begin(found)
            async for batch in self._journal.tail(None, after):
                for event in batch:
                    if isinstance(event, ev.IncidentOpened):
                        self._begin(OpenIncident(event.run_id, "", event))
        finally:
            for task in self._at_work:
                task.cancel()
            await asyncio.gather(*self._at_work, return_exceptions=True)

    def _begin(self, found: OpenIncident) -> None:
        task = asyncio.create_task(self._analyse(found), name=f"analyse {found.opened.incident_id}")
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    async def _analyse(self, found: OpenIncident) -> None:
        try:
            analysis = await self._ask(found)
            await self._journal.post(found.run_id, analysis)
        except JournalError:
            log.exception("incident %s: its analysis could not be written", found.opened.incident_id)

    async def _ask(self, found: OpenIncident) -> ev.AnalysisAdded:
        opened = found.opened
        at: dict[str, Any] = {
            "node_id": opened.node_id,
            "parent_id": opened.parent_id,
            "incident_id": opened.incident_id,
        }
        known = self._known.get(opened.fingerprint)
        if known is not None:
            return known.model_copy(update=at | {"ts": ev.utc_now(), "cost_usd": None})
        model = choose_model(self._model, opened.fault.provider)
        if not model:
            return ev.AnalysisAdded(**at, text=NO_ANALYSIS, fallback=True)
        try:
            async with asyncio.timeout(self._timeout_s):
                reply = await self._reply(found, model)
            text, fallback = analysis_text(reply.content)
            cost = self._prices.cost(model, reply.usage) if self._prices is not None and reply.usage else None
        except Exception as exc:
            log.warning("incident %s: %s could not be asked: %s", opened.incident_id, model, exc)
            return ev.AnalysisAdded(**at, text=NO_ANALYSIS, fallback=True)
        analysis = ev.AnalysisAdded(**at, text=text, model=model, fallback=fallback, cost_usd=cost)
        if not fallback and opened.fingerprint:
            self._known[opened.fingerprint] = analysis
        return analysis

    async def _reply(self, found: OpenIncident, model: str) -> Any:
        state = fold(await self._journal.read(found.run_id))
        report = reports.build(state, found.opened)
        redactor = Redactor(self._patterns, VAULT.known())
        messages = [SystemMessage(content=INSTRUCTIONS), UserMessage(content=briefing(state, report, redactor))]
        provider = self._provider_for(model)
        try:
            reply = await provider.complete(messages, tools=None, temperature=0.0, max_tokens=MAX_TOKENS)
        finally:
            await provider.aclose()
        return reply
