"""The analyst: asks a model about every incident, beside the run and never in its way.

It holds no lease and opens no incident; what a restart lost is asked again. The structured report is there before it
begins. A model that fails, is silent or cannot be had leaves seed 002's fixed sentence.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from orbiter.models.assembly import StreamAssembly
from orbiter.models.endpoints import ENDPOINTS
from orbiter.models.provider import get_provider
from orbiter.types import SystemMessage, UserMessage
from runtime.judgement import report as reports
from runtime.judgement.breaker import BreakerPolicy
from runtime.judgement.briefing import (
    INSTRUCTIONS,
    LONGEST,
    MAX_TOKENS,
    NO_ANALYSIS,
    TIMEOUT_S,
    analysis_text,
    briefing,
    evidence,
    without_references,
)
from runtime.judgement.classify import classify
from runtime.judgement.prices import PriceTable
from runtime.judgement.redaction import Redactor
from runtime.record import events as ev
from runtime.record.journal import Journal, JournalError, OpenIncident
from runtime.record.state import fold
from runtime.record.taxonomy import Cause, Effect, Impact, Origin
from runtime.work.breakers import breakers_of
from runtime.work.conditions import Deltas
from runtime.work.secrets import VAULT

log = logging.getLogger("runtime.analysis")

PREFERRED = (("anthropic", "anthropic:claude-haiku-4-5"), ("openai", "openai:gpt-4.1-mini"))
"""Who is asked if the configuration names nobody: the first whose key is there and that is not the one that failed.
Models that answer at once: one that reasons first spends the few tokens of an analysis on that.
"""

AT_ONCE = 4
"""Incidents that a model is asked about at the same time."""


def models_to_ask(configured: str, failing_provider: str) -> tuple[str, ...]:
    """Who could be asked, best first: with `auto`, whose key is there, and the provider that failed last. `configured`
    is a model string, `auto`, or `off`.
    """
    if configured == "off":
        return ()
    if configured not in ("", "auto"):
        return (configured,)
    able = [(name, model) for name, model in PREFERRED if any(os.environ.get(v) for v in ENDPOINTS[name].key_variables)]
    return tuple(model for _, model in sorted(able, key=lambda each: each[0] == failing_provider))


def worth_analysing(opened: ev.IncidentOpened) -> bool:
    """Whether a fault is behind it that somebody will decide about: not a question or a breakpoint, where nothing
    failed, nor what is decided without anybody, nor a fault of the process itself (seed 002's FATAL).
    """
    if opened.unattended or opened.fault.impact is Impact.PROCESS:
        return False
    return opened.fault.cause is not Cause.MISSING_INPUT


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
        breaker: BreakerPolicy | None = None,
        deltas: Deltas | None = None,
    ) -> None:
        self._journal = journal
        self._model = model
        self._provider_for = provider_for
        self._timeout_s = timeout_s
        self._patterns = patterns
        self._prices = prices
        self._breaker = breaker or BreakerPolicy()
        self._deltas = deltas
        self._known: dict[str, ev.AnalysisAdded] = {}
        self._asking: dict[str, asyncio.Lock] = {}
        self._at_once = asyncio.Semaphore(AT_ONCE)
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
        if not worth_analysing(found.opened):
            return
        task = asyncio.create_task(self._analyse(found), name=f"analyse {found.opened.incident_id}")
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    async def _analyse(self, found: OpenIncident) -> None:
        try:
            # Of a storm of equal incidents the first is asked about; the others wait for what came of it.
            async with self._asking.setdefault(found.opened.fingerprint or found.opened.incident_id, asyncio.Lock()):
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
            # What it points to are events of the run that it was made of.
            own = known.run_id == found.run_id and known.node_id == opened.node_id
            text = known.text if own else without_references(known.text)
            return known.model_copy(update=at | {"ts": ev.utc_now(), "cost_usd": None, "text": text})
        model = await self._choice(opened)
        if not model:
            return ev.AnalysisAdded(**at, text=NO_ANALYSIS, fallback=True)
        try:
            async with self._at_once, asyncio.timeout(self._timeout_s):
                await self._journal.post(found.run_id, ev.AnalysisStarted(**at, model=model))
                reply = await self._reply(found, model)
            text, fallback = analysis_text(reply.content)
            cost = self._prices.cost(model, reply.usage) if self._prices is not None and reply.usage else None
        except Exception as exc:
            log.warning("incident %s: %s could not be asked: %s", opened.incident_id, model, exc)
            await self._failed(model, opened, exc)
            return ev.AnalysisAdded(**at, text=NO_ANALYSIS, fallback=True)
        except asyncio.CancelledError:
            await asyncio.shield(breakers_of(self._journal).released(f"model:{model}", opened.incident_id))
            raise
        await breakers_of(self._journal).succeeded(f"model:{model}", opened.incident_id)
        analysis = ev.AnalysisAdded(**at, text=text, model=model, fallback=fallback, cost_usd=cost)
        if not fallback and opened.fingerprint:
            self._known[opened.fingerprint] = analysis.model_copy(update={"run_id": found.run_id})
        return analysis

    async def _choice(self, opened: ev.IncidentOpened) -> str:
        """The first that may be asked whose breaker, the one that the runs' own calls go by, lets the call through."""
        breakers = breakers_of(self._journal)
        for model in models_to_ask(self._model, opened.fault.provider):
            now = ev.utc_now().timestamp()
            _, verdict = await breakers.admit(f"model:{model}", self._breaker, now, opened.incident_id)
            if verdict.allowed:
                return model
        return ""

    async def _failed(self, model: str, opened: ev.IncidentOpened, exc: Exception) -> None:
        fault = classify(exc, origin=Origin.MODEL, provider=model.partition(":")[0], effect=Effect.NONE)
        now = ev.utc_now().timestamp()
        await breakers_of(self._journal).failed(f"model:{model}", fault, self._breaker, now, opened.incident_id)

    async def _reply(self, found: OpenIncident, model: str) -> Any:
        events = await self._journal.read(found.run_id)
        state = fold(events)
        report = reports.build(state, found.opened)
        redactor = Redactor(self._patterns, VAULT.known())
        messages = [
            SystemMessage(content=INSTRUCTIONS),
            UserMessage(content=briefing(state, report, redactor, evidence(events, found.opened))),
        ]
        provider = self._provider_for(model)
        try:
            streams = getattr(type(provider), "streams", False) is True
            if streams and self._deltas is not None and self._deltas.wants(found.run_id):
                return await self._streamed(found, provider, messages, self._deltas)
            return await provider.complete(messages, tools=None, max_tokens=MAX_TOKENS)
        finally:
            await provider.aclose()

    async def _streamed(self, found: OpenIncident, provider: Any, messages: list[Any], deltas: Deltas) -> Any:
        """The reply, its pieces on the way to the consoles that watch the run: under the incident's id."""
        assembly = StreamAssembly()
        left = LONGEST + 1
        async with aclosing(provider.stream(messages, tools=None, max_tokens=MAX_TOKENS)) as chunks:
            async for chunk in chunks:
                assembly.add(chunk)
                if piece := (chunk.delta or "")[:left]:
                    deltas.put(found.run_id, found.opened.incident_id, 1, "text", piece)
                    left -= len(piece)
                if not left:  # one that does not keep to the limit of tokens is listened to no longer
                    break
        return assembly.response()
