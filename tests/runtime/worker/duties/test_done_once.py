"""What is done beside runs is done by one worker, however many there are."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from orbiter.models.scripted.provider import script
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.gates.breaker import BreakerRegistry
from runtime.judgement.faults.classify import classify
from runtime.judgement.recovery.breaker import BreakerPolicy
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.judgement.reports.notices import NoticeRules
from runtime.operations.decisions import Decisions
from runtime.record.journal_care import JournalCare
from runtime.record.places import init_database, open_journal
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Origin, Severity
from runtime.worker.duties.claim import claimed
from runtime.worker.supervisor import Supervisor
from tests.runtime.bench import ME, ZOO
from tests.runtime.webhook_receiver import WebhookReceiver

WORKERS = 3
RUNS = 4
script("done-once/analyst", ["The key is not valid.\nRecommended: retry - it may be put right"])


@pytest.fixture(params=["sqlite", "postgres"])
async def journals(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[JournalCare]]:
    """A client of the same workspace for each worker, and one for the test."""
    place: str | Path = tmp_path / "state"
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_url")
        await init_database(place)
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(await open_journal(place)) for _ in range(WORKERS + 1)]


@asynccontextmanager
async def working(journals: list[JournalCare], config: ExecutionConfig) -> AsyncIterator[None]:
    supervisors = [Supervisor(journal, config, period_s=0.02) for journal in journals]
    serving = [asyncio.create_task(each.serve()) for each in supervisors]
    try:
        yield
    finally:
        for each in supervisors:
            each.stop()
        await asyncio.gather(*serving)


async def test_three_workers_make_one_analysis_and_send_one_notice_of_each_incident(
    journals: list[JournalCare], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    journal, *others = journals
    async with WebhookReceiver() as receiver:
        config = ExecutionConfig(
            workspace=str(tmp_path),
            policy=RetryPolicy(max_attempts=1),
            analysis="scripted:done-once/analyst",
            notices=NoticeRules({"webhook": Severity.WARNING}, receiver.url, 0.0),
            drain_s=0.2,
        )
        decisions = Decisions(journal, tmp_path)
        async with working(others, config):
            runs = {await decisions.start(f"{ZOO}:dead", str(number), by=ME) for number in range(RUNS)}
            opened: set[str] = set()
            counts: dict[type[ev.JournalEvent], Counter[str]] = {
                ev.AnalysisStarted: Counter(),
                ev.AnalysisAdded: Counter(),
            }
            sent: Counter[str] = Counter()
            async with asyncio.timeout(60):
                async for batch in journal.tail():
                    for event in batch:
                        if isinstance(event, ev.IncidentOpened):
                            opened.add(event.incident_id)
                        elif isinstance(event, ev.AnalysisStarted | ev.AnalysisAdded):
                            counts[type(event)][event.incident_id] += 1
                        elif isinstance(event, ev.NoticeSent):
                            sent.update(incident_id for incident_id, _ in event.incidents)
                    if len(opened) == RUNS and counts[ev.AnalysisAdded].keys() == sent.keys() == opened:
                        break
        assert len(runs) == RUNS
        once = dict.fromkeys(opened, 1)
        assert counts[ev.AnalysisAdded] == sent == once
        # Equal incidents are asked about once, by one worker.
        assert sum(counts[ev.AnalysisStarted].values()) == 1
        assert Counter(found["id"] for body in receiver.bodies for found in body["incidents"]) == once


async def test_three_workers_probe_a_service_once_and_lose_no_failure(journals: list[JournalCare]) -> None:
    registries = [BreakerRegistry(journal) for journal in journals]
    outage = classify(ConnectionError("refused"), origin=Origin.TOOL)
    policy = BreakerPolicy(threshold=len(registries) * 5, cooldown_s=10.0)
    await asyncio.gather(
        *(each.record_failure("tool:x", outage, policy, 100.0, "c") for each in registries for _ in range(5))
    )
    (breaker,) = await registries[0].breakers()
    assert (breaker.failures, breaker.opened_at) == (len(registries) * 5, 100.0)
    admitted = await asyncio.gather(
        *(each.admit("tool:x", policy, 200.0, f"step {number}") for number, each in enumerate(registries))
    )
    assert sum(verdict.allowed for _, verdict in admitted) == 1


async def test_work_is_taken_over_from_a_worker_that_died_over_it(journals: list[JournalCare]) -> None:
    first, second, *_ = journals
    assert await first.take_claim("notices", "dead", 0.2)
    async with asyncio.timeout(30):
        while True:
            async with claimed(second, "notices", "alive", 10.0) as held:
                if held:
                    break
    assert await first.take_claim("notices", "dead", 0.2), "it was given back"


async def test_a_claim_is_prolonged_while_the_work_is_done_and_given_back_after_it(
    journals: list[JournalCare], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *_ = journals
    taken, thrice = 0, asyncio.Event()
    take = first.take_claim

    async def counted(name: str, owner: str, ttl_s: float) -> bool:
        nonlocal taken
        found = await take(name, owner, ttl_s)
        taken += 1
        if taken == 3:
            thrice.set()
        return found

    monkeypatch.setattr(first, "take_claim", counted)
    async with asyncio.timeout(30), claimed(first, "traces", "sender", 0.1, prolong=True) as held:
        assert held
        await thrice.wait()
    assert await second.take_claim("traces", "next", 10.0), "it was given back, and not taken again after that"
