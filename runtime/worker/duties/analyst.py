"""The analyst: asks a model for an analysis of each incident, beside the run.

It holds no lease and opens no incident; what a restart lost is asked again, and what the journal holds is not. The
structured report is there before it begins. Where a model fails the next one is asked in the time that is left; where
none answers, seed 002's fixed sentence stands.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from orbiter.models.provider import get_provider
from orbiter.models.reply_assembly import StreamAssembly
from orbiter.types import SystemMessage, Usage, UserMessage
from runtime.execution.execution_config import DeltaSink
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.gates.budget import extended_budget, run_budget
from runtime.execution.secret_vault import make_redactor
from runtime.judgement.faults.cause_text import CAUSE_TEXT
from runtime.judgement.faults.classify import classify
from runtime.judgement.recovery.breaker import BreakerPolicy
from runtime.judgement.recovery.budget import Budget
from runtime.judgement.reports import incident_report as reports
from runtime.judgement.reports.analysis_prompt import (
    INSTRUCTIONS,
    MAX_ANALYSIS_CHARS,
    MAX_TOKENS,
    TIMEOUT_S,
    analysis_evidence,
    analysis_prompt,
    analysis_text,
    strip_references,
)
from runtime.judgement.reports.prices import PriceTable, load_prices
from runtime.operations.queries import events_with_marks
from runtime.record.journal import Journal, JournalError, OpenIncident
from runtime.record.lease_owner import owner_name
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.fault_taxonomy import Effect, Origin
from runtime.worker.duties.analysis_models import analysis_models, budget_reason, no_model_reason, should_analyse
from runtime.worker.duties.claim import claimed_in_turn

log = logging.getLogger("runtime.analysis")

MAX_CONCURRENT = 4
"""Incidents that a model is asked about at the same time."""

FIRST_MODEL_SHARE = 0.6
"""Of the time that is left, how much a model gets where another one could still be asked after it."""

_CLAIM_MARGIN_S = 30.0
"""How much longer than an analysis may take no other worker begins it, in seconds."""
_MAX_ANALYSES = 1_000_000

_MARKS = ('{"type":"incident.analysed"',)
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
        *,
        model: str = "auto",
        provider_for: Callable[[str], Any] = get_provider,
        timeout_s: float = TIMEOUT_S,
        patterns: tuple[str, ...] = (),
        prices: PriceTable | None = None,
        breaker: BreakerPolicy | None = None,
        deltas: DeltaSink | None = None,
        budget: Budget | None = None,
        owner: str = "",
    ) -> None:
        self._journal = journal
        self._owner = owner or owner_name()
        self._model = model
        self._provider_for = provider_for
        self._timeout_s = timeout_s
        self._patterns = patterns
        self._prices = prices
        self._breaker = breaker or BreakerPolicy()
        self._deltas = deltas
        self._budget = budget
        self._known: dict[str, ev.AnalysisAdded] = {}
        self._read_to = 0
        self._reading = asyncio.Lock()
        self._asking: dict[str, asyncio.Lock] = {}
        self._at_once = asyncio.Semaphore(MAX_CONCURRENT)
        self._at_work: set[asyncio.Task[None]] = set()
        self._unattended: set[asyncio.Task[None]] = set()
        self._begun: set[str] = set()
        self._served_from = 0

    async def _cost(self, model: str, usage: Usage | None) -> float | None:
        if self._prices is None or not usage:
            return None
        if self._prices.needs_package(model):
            await asyncio.to_thread(load_prices)
        return self._prices.cost(model, usage, ev.utc_now())

    async def serve(self) -> None:
        """Analyse what is open now, and then every incident as it opens, until cancelled."""
        after = self._served_from = await self._journal.position()
        try:
            for found in await self._journal.incidents():
                state = fold_events(await self._journal.read(found.run_id))
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

    async def finish_unattended(self) -> None:
        """Wait for the analyses of failures that no operator was asked about: their runs have ended, and the process
        that drove them may end next. Takes no longer than one analysis may.
        """
        async for event in events_with_marks(
            self._journal, _OPENED, after=self._served_from, end=await self._journal.position()
        ):
            if isinstance(event, ev.IncidentOpened) and event.unattended:
                self._begin(OpenIncident(event.run_id, "", event))
        if self._unattended:
            await asyncio.wait(self._unattended, timeout=self._timeout_s)

    def _begin(self, found: OpenIncident) -> None:
        opened = found.opened
        if not should_analyse(opened) or opened.incident_id in self._begun:
            return
        if opened.unattended and not analysis_models(self._model, opened.fault.provider):
            return  # the run does not wait for it, and the report has the fixed sentence by itself
        self._begun.add(opened.incident_id)
        task = asyncio.create_task(self._analyse(found), name=f"analyse {found.opened.incident_id}")
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)
        if opened.unattended:
            self._unattended.add(task)
            task.add_done_callback(self._unattended.discard)

    async def _analyse(self, found: OpenIncident) -> None:
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

    async def _is_analysed(self, found: OpenIncident) -> bool:
        """Whether the incident's analysis stands in the journal."""
        written = await self._journal.latest(found.run_id, limit=_MAX_ANALYSES, marks=_MARKS)
        return any(
            isinstance(placed.event, ev.AnalysisAdded) and placed.event.incident_id == found.opened.incident_id
            for placed in written
        )

    async def _ask_models(self, found: OpenIncident) -> ev.AnalysisAdded:
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
            return known.model_copy(update=at | {"ts": ev.utc_now(), "cost_usd": None, "text": text})
        async with self._at_once:
            end = asyncio.get_running_loop().time() + self._timeout_s
            reasons: list[str] = []
            for number, (model, share) in enumerate(await self._usable_models(opened, reasons), 1):
                asked = await self._ask_model(found, model, at, end=end, share=share, number=number)
                if isinstance(asked, ev.AnalysisAdded):
                    return asked
                reasons.append(asked)
        return ev.AnalysisAdded(**at, text=reports.NO_ANALYSIS, fallback=True, reason="; ".join(reasons)[:500])

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

    async def _usable_models(self, opened: ev.IncidentOpened, reasons: list[str]) -> list[tuple[str, float]]:
        """Who can be asked now, best first, each with its share of the time that is left by then. What keeps one from
        being asked is put into `reasons`.
        """
        able = analysis_models(self._model, opened.fault.provider)
        if not able:
            reasons.append(no_model_reason(self._model))
            return []
        if used_up := await self._budget_used(opened.run_id):
            reasons.append(used_up)
            return []
        models: list[str] = []
        for model in able:
            verdict = await breakers_of(self._journal).check(*self._breaker_at(model), opened.incident_id)
            if verdict.allowed:
                models.append(model)
            else:
                reasons.append(f"{model}: calls are held back after repeated failures")
        return [(model, 1.0 if model is models[-1] else FIRST_MODEL_SHARE) for model in models]

    async def _budget_used(self, run_id: str) -> str:
        """What says that the run has no money or tokens left for an analysis; empty where it has."""
        if self._budget is None:
            return ""
        state = fold_events(await self._journal.read(run_id))
        return budget_reason(state, extended_budget(state, "", run_budget(state, self._budget)))

    def _breaker_at(self, model: str) -> tuple[str, BreakerPolicy, float]:
        """The breaker that the runs' own calls go by, too, and now."""
        return f"model:{model}", self._breaker, ev.utc_now().timestamp()

    async def _ask_model(
        self, found: OpenIncident, model: str, at: dict[str, Any], *, end: float, share: float, number: int
    ) -> ev.AnalysisAdded | str:
        """What one model says, the `number`th that is asked; where it fails or takes longer than its share, why."""
        opened = found.opened
        breakers = breakers_of(self._journal)
        _, verdict = await breakers.admit(*self._breaker_at(model), opened.incident_id)
        if not verdict.allowed:
            return f"{model}: calls are held back after repeated failures"
        try:
            left = end - asyncio.get_running_loop().time()
            async with asyncio.timeout(left * share):
                await self._journal.post(found.run_id, ev.AnalysisStarted(**at, model=model))
                reply = await self._reply(found, model, number)
            text, fallback = analysis_text(reply.content)
            cost = await self._cost(model, reply.usage)
        except Exception as exc:
            log.warning("incident %s: %s could not be asked: %r", opened.incident_id, model, exc)
            return f"{model} did not answer: {await self._record_failure(model, opened, exc)}"
        except asyncio.CancelledError:
            await asyncio.shield(breakers.release_probe(f"model:{model}", opened.incident_id))
            raise
        await breakers.record_success(f"model:{model}", opened.incident_id)
        return ev.AnalysisAdded(
            **at, fingerprint=opened.fingerprint, text=text, model=model, fallback=fallback, cost_usd=cost
        )

    async def _record_failure(self, model: str, opened: ev.IncidentOpened, exc: Exception) -> str:
        """Count the failure at the model's breaker; its cause in a few words."""
        fault = classify(exc, origin=Origin.MODEL, provider=model.partition(":")[0], effect=Effect.NONE)
        key, policy, now = self._breaker_at(model)
        await breakers_of(self._journal).record_failure(key, fault, policy, now, opened.incident_id)
        words = CAUSE_TEXT[fault.cause]
        return f"{words[:1].lower()}{words[1:]}"

    async def _reply(self, found: OpenIncident, model: str, number: int) -> Any:
        events = await self._journal.read(found.run_id)
        state = fold_events(events)
        report = reports.build_report(state, found.opened)
        messages = [
            SystemMessage(content=INSTRUCTIONS),
            UserMessage(
                content=analysis_prompt(
                    state, report, make_redactor(self._patterns), analysis_evidence(events, found.opened)
                )
            ),
        ]
        provider = self._provider_for(model)
        try:
            streams = getattr(type(provider), "streams", False) is True
            if streams and self._deltas is not None and self._deltas.wants(found.run_id):
                return await self._stream_reply(found, provider, messages, self._deltas, number)
            return await provider.complete(messages, tools=None, max_tokens=MAX_TOKENS)
        finally:
            await provider.aclose()

    async def _stream_reply(
        self, found: OpenIncident, provider: Any, messages: list[Any], deltas: DeltaSink, number: int
    ) -> Any:
        """The reply, its pieces on the way to the consoles that watch the run: under the incident's id, as its
        `number`th text, so that what a second model says is not put behind the first's half sentence.
        """
        assembly = StreamAssembly()
        left = MAX_ANALYSIS_CHARS + 1
        async with aclosing(provider.stream(messages, tools=None, max_tokens=MAX_TOKENS)) as chunks:
            async for chunk in chunks:
                assembly.add(chunk)
                if piece := (chunk.delta or "")[:left]:
                    deltas.put(found.run_id, found.opened.incident_id, number, "text", piece)
                    left -= len(piece)
                if not left:  # one that does not keep to the limit of tokens is listened to no longer
                    break
        return assembly.response()
