"""What a worker says of itself, and which runs it moves to its code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec.structs import replace

from runtime.record.journal_care import JournalCare
from runtime.record.state import events as ev
from runtime.record.workers import LOST_AFTER_S, CodePolicy, WorkerNeed, WorkerReport
from runtime.worker.presence import Presence
from runtime.worker.worker_report import unserved_words
from tests.runtime.record.conftest import Clock
from tests.runtime.record.journal_samples import created, summary


def reporter(
    worker: str,
    code: str,
    since: datetime,
    *,
    draining: bool = False,
    queues: tuple[str, ...] = (),
    queue_error: str = "",
) -> Callable[[], WorkerReport]:
    told = WorkerReport(
        id=worker, place="host:7", slots=4, code=code, alive_since=since, draining=draining, queues=queues,
        queue_error=queue_error,
    )  # fmt: skip
    return lambda: told


def labelled(run_id: str) -> ev.RunCreated:
    return replace(created(run_id), code="v1")


async def test_a_run_whose_label_has_no_worker_is_told_of_until_it_has_one(journal: JournalCare, clock: Clock) -> None:
    await journal.create(labelled("r1"), summary("r1"))
    here = Presence(journal, reporter("new", "v2", clock()))
    await here.beat()
    assert here.unserved == {WorkerNeed("v1"): ["r1"]}
    assert unserved_words(here.unserved).startswith("run r1 waits for a worker with code 'v1': start one, or move")
    old = Presence(journal, reporter("old", "v1", clock()))
    await old.beat()
    await here.beat()
    assert here.unserved == {}
    clock.jump(LOST_AFTER_S + 1)
    await here.beat()
    assert here.unserved == {WorkerNeed("v1"): ["r1"]}, "a lost worker takes up nothing"
    await Presence(journal, reporter("old", "v1", clock(), draining=True)).beat()
    await here.beat()
    assert here.unserved == {WorkerNeed("v1"): ["r1"]}, "one that drains takes no more runs"


async def test_by_the_policy_latest_runs_go_on_with_the_newest_label_and_never_back(
    journal: JournalCare, clock: Clock
) -> None:
    await journal.create(labelled("r1"), summary("r1"))
    await journal.create(labelled("driven"), summary("driven"))
    lease = await journal.claim("driven", "old#1", 600, code="v1")
    assert lease is not None
    policy: CodePolicy = "latest"
    old = Presence(journal, reporter("old", "v1", clock()), policy=policy)
    new = Presence(journal, reporter("new", "v2", clock()), policy=policy)
    await old.beat()
    assert await journal.runnable(code="v1") == ["r1"]
    await new.beat()
    await old.beat()
    assert (await journal.runnable(code="v1"), await journal.runnable(code="v2")) == ([], ["r1"])
    moved = (await journal.read("r1"))[-1]
    assert isinstance(moved, ev.RunMoved)
    assert (moved.before, moved.code, moved.by.channel) == ("v1", "v2", "rule")
    assert not any(isinstance(each, ev.RunMoved) for each in await journal.read("driven")), "who drives it goes on"
    await journal.release(lease)
    await new.beat()
    assert await journal.runnable(code="v2") == ["r1", "driven"]


async def test_a_second_worker_is_no_break_and_one_that_ends_signs_off(journal: JournalCare, clock: Clock) -> None:
    began = clock() - timedelta(hours=1)
    first = asyncio.create_task(Presence(journal, reporter("first", "", began)).serve())
    while not await journal.workers():  # noqa: ASYNC110 - the store is asked
        await asyncio.sleep(0)
    since: list[datetime] = []
    second = asyncio.create_task(
        Presence(journal, reporter("second", "", clock()), continue_since=since.append).serve()
    )
    while len(await journal.workers()) < 2:  # noqa: ASYNC110 - the store is asked
        await asyncio.sleep(0)
    assert since == ([] if journal.is_local else [began]), "a directory has one worker at a time"
    for each in (first, second):
        each.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert await journal.workers() == []


async def test_a_run_whose_queue_no_worker_takes_is_told_of(journal: JournalCare, clock: Clock) -> None:
    await journal.create(replace(created("r1"), queue="gpu"), summary("r1"))
    here = Presence(journal, reporter("here", "", clock(), queues=("default",)))
    await here.beat()
    assert here.unserved == {WorkerNeed(queue="gpu"): ["r1"]}
    assert unserved_words(here.unserved).startswith("run r1 waits for a worker that takes the queue 'gpu': start one,")
    await Presence(journal, reporter("other", "", clock(), queues=("gpu",))).beat()
    await here.beat()
    assert here.unserved == {}


async def test_where_the_queue_gives_runs_to_no_worker_they_are_told_of_with_the_reason(
    journal: JournalCare, clock: Clock
) -> None:
    await journal.create(created("r1"), summary("r1"))
    here = Presence(journal, reporter("here", "", clock(), queue_error="the connection failed"))
    await here.beat()
    assert here.unserved == {WorkerNeed(): ["r1"]}
    assert WorkerNeed().queue_error(await journal.workers()) == "the connection failed"
    await Presence(journal, reporter("other", "", clock())).beat()
    await here.beat()
    assert here.unserved == {}, "another is given runs"
    assert WorkerNeed().queue_error(await journal.workers()) == ""


async def test_where_no_worker_takes_the_default_queue_its_runs_are_told_of(journal: JournalCare, clock: Clock) -> None:
    await journal.create(created("r1"), summary("r1"))
    here = Presence(journal, reporter("here", "", clock(), queues=("gpu",)))
    await here.beat()
    assert here.unserved == {WorkerNeed(): ["r1"]}


async def test_the_newest_label_is_that_of_workers_of_a_runs_queue(journal: JournalCare, clock: Clock) -> None:
    in_gpu = replace(labelled("r1"), queue="gpu")
    await journal.create(in_gpu, summary("r1"))
    gpu = Presence(journal, reporter("gpu", "v2", clock(), queues=("gpu",)), policy="latest")
    await gpu._journal.beat(gpu._report())
    await Presence(journal, reporter("new", "v3", clock(), queues=("default",)), policy="latest").beat()
    assert await journal.runnable(code="v1", queues=("gpu",)) == ["r1"], "a worker of another queue moves it nowhere"
    await gpu.beat()
    assert await journal.runnable(code="v2", queues=("gpu",)) == ["r1"]
