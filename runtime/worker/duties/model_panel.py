"""Asks models for an analysis of one incident, one after the other, within a time for all of them.

Through the breaker that the runs' own calls go by, with what the run's budget leaves, and streamed to the consoles
that watch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

from msgspec.structs import replace

from orbiter.models.reply_assembly import StreamAssembly
from orbiter.types import SystemMessage, Usage, UserMessage
from runtime.execution.execution_config import DeltaSink, ExecutionConfig
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.gates.budget import extended_budget, run_budget
from runtime.execution.incidents import TASK_CHARS, task_of
from runtime.execution.secret_vault import make_redactor, mask_texts
from runtime.judgement.faults.cause_text import CAUSE_TEXT
from runtime.judgement.faults.classify import classify
from runtime.judgement.recovery.breaker import BreakerPolicy
from runtime.judgement.reports.analysis_prompt import (
    INSTRUCTIONS,
    MAX_ANALYSIS_CHARS,
    MAX_TOKENS,
    analysis_evidence,
    analysis_prompt,
    analysis_text,
)
from runtime.judgement.reports.incident_report import NO_ANALYSIS, build_report
from runtime.judgement.reports.prices import load_prices
from runtime.record.inbox_row import InboxRow
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.fault_taxonomy import Effect, Origin
from runtime.worker.duties.analysis_models import analysis_models, budget_reason, no_model_reason, refused_reason

log = logging.getLogger("runtime.analysis")

MAX_CONCURRENT = 4
"""Incidents that a model is asked about at the same time."""

FIRST_MODEL_SHARE = 0.6
"""Of the time that is left, how much a model gets where another one could still be asked after it."""


class ModelPanel:
    """The models of one worker's analyst. `provider_for` makes a provider from a model string."""

    def __init__(
        self, journal: Journal, config: ExecutionConfig, provider_for: Callable[[str], Any], timeout_s: float
    ) -> None:
        self._journal = journal
        self._config = config
        self._provider_for = provider_for
        self._timeout_s = timeout_s
        self._at_once = asyncio.Semaphore(MAX_CONCURRENT)

    def has_model(self, opened: ev.IncidentOpened) -> bool:
        """Whether any model could be asked about the incident."""
        able = analysis_models(self._config.analysis, opened.fault.provider)
        return not all(refused_reason(model, opened) for model in able)

    async def ask(self, found: InboxRow, at: dict[str, Any]) -> ev.AnalysisAdded:
        """What the first model that answers says, as the event at `at`; the fixed sentence where none does."""
        async with self._at_once:
            end = asyncio.get_running_loop().time() + self._timeout_s
            reasons: list[str] = []
            for number, (model, share) in enumerate(await self._usable_models(found.opened, reasons), 1):
                asked = await self._ask_model(found, model, at, end=end, share=share, number=number)
                if isinstance(asked, ev.AnalysisAdded):
                    return asked
                reasons.append(asked)
        return ev.AnalysisAdded(**at, text=NO_ANALYSIS, fallback=True, reason="; ".join(reasons)[:500])

    async def _usable_models(self, opened: ev.IncidentOpened, reasons: list[str]) -> list[tuple[str, float]]:
        """Who can be asked now, best first, each with its share of the time that is left by then. What keeps one from
        being asked is put into `reasons`.
        """
        able = analysis_models(self._config.analysis, opened.fault.provider)
        if not able:
            reasons.append(no_model_reason(self._config.analysis))
            return []
        if used_up := await self._budget_used(opened.run_id):
            reasons.append(used_up)
            return []
        models: list[str] = []
        for model in able:
            if refused := refused_reason(model, opened):
                reasons.append(refused)
                continue
            verdict = await breakers_of(self._journal).check(*self._breaker_at(model), opened.incident_id)
            if verdict.allowed:
                models.append(model)
            else:
                reasons.append(f"{model}: calls are held back after repeated failures")
        return [(model, 1.0 if model is models[-1] else FIRST_MODEL_SHARE) for model in models]

    async def _budget_used(self, run_id: str) -> str:
        """What says that the run has no money or tokens left for an analysis; empty where it has."""
        state = fold_events(await self._journal.read(run_id))
        return budget_reason(state, extended_budget(state, "", run_budget(state, self._config.budget)))

    def _breaker_at(self, model: str) -> tuple[str, BreakerPolicy, float]:
        """The breaker that the runs' own calls go by, too, and now."""
        return f"model:{model}", self._config.errors.breaker_policy(), ev.utc_now().timestamp()

    async def _ask_model(
        self, found: InboxRow, model: str, at: dict[str, Any], *, end: float, share: float, number: int
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

    async def _reply(self, found: InboxRow, model: str, number: int) -> Any:
        events = await self._journal.read(found.run_id)
        # In a thread: a run may have many texts.
        prompt = await asyncio.to_thread(masked_prompt, events, found.opened, self._config.redact)
        messages = [SystemMessage(content=INSTRUCTIONS), UserMessage(content=prompt)]
        provider = self._provider_for(model)
        try:
            streams, deltas = getattr(type(provider), "streams", False) is True, self._config.deltas
            if streams and deltas is not None and deltas.wants(found.run_id):
                return await self._stream_reply(found, provider, messages, deltas, number)
            return await provider.complete(messages, tools=None, max_tokens=MAX_TOKENS)
        finally:
            await provider.aclose()

    async def _stream_reply(
        self, found: InboxRow, provider: Any, messages: list[Any], deltas: DeltaSink, number: int
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

    async def _cost(self, model: str, usage: Usage | None) -> float | None:
        if not usage:
            return None
        if self._config.prices.needs_package(model):
            await asyncio.to_thread(load_prices)
        return self._config.prices.cost(model, usage, ev.utc_now())


def masked_prompt(events: Sequence[ev.JournalEvent], opened: ev.IncidentOpened, patterns: Sequence[str]) -> str:
    """What a model is told of an incident. Every text of the run is masked before anything is made of it that is cut,
    also the task, of which the incident has a part only.
    """
    mask = make_redactor(patterns)
    opened = mask_texts(opened, mask.value)
    events = [opened if each.seq == opened.seq else mask_texts(each, mask.value) for each in events]
    state = fold_events(events)
    opened = replace(opened, task=task_of(state, state.lineage(opened.node_id))[:TASK_CHARS])
    return analysis_prompt(state, build_report(state, opened), mask, analysis_evidence(events, opened, mask))
