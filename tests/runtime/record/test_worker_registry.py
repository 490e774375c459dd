"""Workers, claims and labels of code, in every store."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from runtime.record.journal import StaleSequence
from runtime.record.journal_care import JournalCare
from runtime.record.state import events as ev
from runtime.record.workers import FORGOTTEN_AFTER_S, LOST_AFTER_S, PlacedRun, WorkerNeed, WorkerReport
from tests.present import present
from tests.runtime.record.conftest import Clock, Store
from tests.runtime.record.journal_samples import created, summary


def report(worker_id: str, **more: object) -> WorkerReport:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return WorkerReport(id=worker_id, place="host:7", slots=4, alive_since=at, **more)  # type: ignore[arg-type]


async def test_workers_are_listed_with_what_they_say_and_drive(journal: JournalCare, clock: Clock) -> None:
    await journal.beat(report("host:7:aaaaaa", code="v1", keys=("OPENAI_API_KEY",)))
    await journal.beat(report("host:7:bbbbbb"))
    await create(journal, "r1", "r2")
    await journal.claim("r1", "host:7:bbbbbb#1", 60)
    await journal.beat(report("host:7:bbbbbb", held_up="the disk is full"))
    first, second = await journal.workers()
    assert (first.report.code, first.report.keys, first.driving) == ("v1", ("OPENAI_API_KEY",), ())
    assert (second.report.held_up, second.driving) == ("the disk is full", ("r1",))
    await journal.sign_off("host:7:aaaaaa")
    assert [each.report.id for each in await journal.workers()] == ["host:7:bbbbbb"]


async def test_a_silent_worker_is_lost_and_then_forgotten(journal: JournalCare, clock: Clock) -> None:
    await journal.beat(report("gone"))
    clock.jump(LOST_AFTER_S + 1)
    (worker,) = await journal.workers()
    assert worker.is_lost
    clock.jump(FORGOTTEN_AFTER_S)
    await journal.beat(report("here"))
    assert [each.report.id for each in await journal.workers()] == ["here"]


async def test_a_clock_that_is_set_back_keeps_no_claim_and_no_dead_worker(journal: JournalCare, clock: Clock) -> None:
    await journal.beat(report("dead"))
    await create(journal, "r1", code="v1")
    assert await journal.claim("r1", "dead#1", 10, code="v1") is not None
    assert await journal.take_claim("queue", "dead", 5)
    clock.jump(-86_400)
    await journal.beat(report("here"))
    assert await journal.take_claim("queue", "here", 5)
    assert not await journal.take_claim("queue", "other", 5)
    assert [each.report.id for each in await journal.workers() if not each.is_lost] == ["here"]
    assert await journal.placed_runs() == [PlacedRun("r1", WorkerNeed("v1"))]


async def test_a_claim_is_one_workers_until_it_runs_out(journal: JournalCare, clock: Clock) -> None:
    assert await journal.take_claim("notices", "one", 10)
    assert not await journal.take_claim("notices", "two", 10)
    assert await journal.take_claim("other", "two", 10)
    assert await journal.take_claim("notices", "one", 20), "it is prolonged"
    clock.jump(15)
    assert not await journal.take_claim("notices", "two", 10)
    await journal.drop_claim("notices", "two")
    clock.jump(6)
    assert await journal.take_claim("notices", "two", 10)
    await journal.drop_claim("notices", "one")
    assert not await journal.take_claim("notices", "one", 10), "what was lost is not given back for another"
    await journal.drop_claim("notices", "two")
    assert await journal.take_claim("notices", "one", 10)


async def test_of_many_clients_one_has_the_claim(store: Store, clock: Clock) -> None:
    clients = [await store.open(clock) for _ in range(4)]
    try:
        taken = await asyncio.gather(*(each.take_claim("x", str(n), 60) for n, each in enumerate(clients)))
    finally:
        for each in clients:
            await each.close()
    assert sum(taken) == 1


async def test_a_labelled_run_is_for_workers_of_its_label(journal: JournalCare, clock: Clock) -> None:
    await create(journal, "any")
    await create(journal, "old", code="v1")
    assert await journal.runnable() == ["any", "old"]
    assert await journal.runnable(code="") == ["any"]
    assert await journal.runnable(code="v2") == ["any"]
    assert await journal.runnable(code="v1") == ["any", "old"]
    assert await journal.claim("old", "me#1", 60, code="v2") is None
    assert await journal.placed_runs() == [PlacedRun("old", WorkerNeed("v1"))]
    lease = present(await journal.claim("any", "me#1", 60, code="v2"))
    await journal.append(lease, [ev.RunStarted(epoch=lease.epoch, owner=lease.owner, code="v2")])
    await journal.append(lease, [ev.RunParked(reason="stop")])
    await journal.release(lease)
    assert await journal.placed_runs() == [PlacedRun("any", WorkerNeed("v2")), PlacedRun("old", WorkerNeed("v1"))]
    assert await journal.runnable(code="v1") == ["old"], "it stays with the code that began it"


async def test_a_moved_run_is_for_another_label(journal: JournalCare, clock: Clock) -> None:
    await create(journal, "r1", code="v1")
    await journal.post("r1", ev.RunMoved(code="v2", before="v1"), effective=True)
    assert (await journal.runnable(code="v1"), await journal.runnable(code="v2")) == ([], ["r1"])
    await journal.post("r1", ev.RunMoved(code=""))
    assert await journal.runnable(code="v3") == ["r1"]
    lease = present(await journal.claim("r1", "me#1", 60, code="v3"))
    await journal.post("r1", ev.RunMoved(code="v4"))
    await journal.append(lease, [ev.RunStarted(epoch=lease.epoch, owner=lease.owner, code="v3")])
    assert lease.run_id not in await journal.runnable(code="v3")
    await journal.release(lease)
    assert await journal.runnable(code="v4") == ["r1"], "said after the claim, it holds"
    lease = present(await journal.claim("r1", "me#2", 60))
    await journal.append(lease, [ev.RunFinished(state="completed")])
    with pytest.raises(StaleSequence, match="it has ended"):
        await journal.post("r1", ev.RunMoved(code="v5"), effective=True)


async def test_the_workspaces_stream_is_compared_and_set(journal: JournalCare) -> None:
    first = await journal.post(ev.WORKSPACE_RUN_ID, ev.BreakerChanged(key="x"))
    await journal.post(ev.WORKSPACE_RUN_ID, ev.BreakerChanged(key="x"), told=first.seq)
    with pytest.raises(StaleSequence):
        await journal.post(ev.WORKSPACE_RUN_ID, ev.BreakerChanged(key="x"), told=first.seq)


async def create(journal: JournalCare, *run_ids: str, code: str = "", queue: str = "default") -> None:
    for run_id in run_ids:
        event = replace(created(run_id), code=code, queue=queue)
        await journal.create(event, summary(run_id))


async def test_a_run_is_for_workers_that_take_its_queue(journal: JournalCare) -> None:
    await create(journal, "any")
    await create(journal, "big", queue="gpu")
    assert await journal.runnable() == ["any", "big"]
    assert await journal.runnable(queues=("default",)) == ["any"]
    assert await journal.runnable(queues=("gpu", "mail")) == ["big"]
    assert await journal.claim("big", "me#1", 60, queues=("default",)) is None
    assert await journal.placed_runs() == [PlacedRun("big", WorkerNeed(queue="gpu"))]
    assert [each.run_id for each in await journal.placed_runs(everywhere=True)] == ["any", "big"]
    await journal.post("big", ev.RunMoved(code="v2", queue="mail"), effective=True)
    assert await journal.placed_runs() == [PlacedRun("big", WorkerNeed("v2", "mail"))]
    await journal.post("big", ev.RunMoved(code=""), effective=True)
    assert await journal.runnable(queues=("mail",)) == ["big"], "a move of the code alone leaves it in its queue"
    assert await journal.claim("big", "me#1", 60, queues=("mail",)) is not None
    assert await journal.placed_runs() == []
