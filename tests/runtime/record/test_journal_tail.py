"""Tails: every event once and in order, from any writer, with any slow reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from runtime.record.journal import Journal
from runtime.record.state import events as ev
from tests.runtime.record.journal_samples import elsewhere, opened, started, texts, warned

if TYPE_CHECKING:
    from tests.runtime.record.conftest import Store

Until = Callable[[int], "asyncio.Future[None]"]


class Collector:
    """What a tail has given so far; `upto` waits for a number of events."""

    def __init__(self) -> None:
        self.events: list[ev.JournalEvent] = []
        self.changed = asyncio.Condition()
        self.ended = asyncio.Event()

    async def upto(self, count: int) -> list[ev.JournalEvent]:
        async with self.changed:
            await self.changed.wait_for(lambda: len(self.events) >= count)
        return self.events


@asynccontextmanager
async def collecting(tail: AsyncIterator[list[ev.JournalEvent]]) -> AsyncIterator[Collector]:
    collector = Collector()

    async def collect() -> None:
        async for events in tail:
            assert events, "a tail gives something or waits"
            async with collector.changed:
                collector.events += events
                collector.changed.notify_all()
        collector.ended.set()

    task = asyncio.create_task(collect())
    try:
        yield collector
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_what_was_and_what_comes(journal: Journal) -> None:
    lease = await started(journal)
    async with collecting(journal.tail("r1")) as all_of_it, collecting(journal.tail("r1", 2)) as the_rest:
        await all_of_it.upto(2)
        for number in range(30):
            await journal.append(lease, [warned(str(number))] * (number % 3 + 1))
        written = await journal.read("r1")
        assert await all_of_it.upto(len(written)) == written
        assert await the_rest.upto(len(written) - 2) == written[2:]


async def test_the_whole_journal(journal: Journal) -> None:
    leases = [await started(journal, f"r{n}") for n in range(3)]
    async with collecting(journal.tail()) as everything:
        await everything.upto(6)

        async def produce(number: int) -> None:
            for part in range(40):
                await journal.append(leases[number], [warned(f"{part}")])

        await asyncio.gather(*(produce(number) for number in range(3)))
        await journal.post(ev.WORKSPACE_RUN_ID, ev.GrantRevoked(grant_id="g"))
        events = list(await everything.upto(6 + 120 + 1))
    for run_id in ("r0", "r1", "r2", ev.WORKSPACE_RUN_ID):
        assert [event for event in events if event.run_id == run_id] == await journal.read(run_id)


async def test_a_slow_consumer_misses_nothing(journal: Journal) -> None:
    lease = await started(journal)
    tail = journal.tail("r1")
    got = list(await anext(tail))
    for number in range(12):
        await journal.append(lease, [warned(f"{number} {k}") for k in range(500)])
    while len(got) < 6002:
        got += await anext(tail)
    assert got == await journal.read("r1")


async def test_closing_ends_every_tail(store: Store) -> None:
    journal = await store.open()
    await started(journal)
    async with collecting(journal.tail("r1")) as one, collecting(journal.tail()) as other:
        await one.upto(2)
        await other.upto(2)
        await journal.close()
        await asyncio.wait_for(asyncio.gather(one.ended.wait(), other.ended.wait()), 5)
    assert [events async for events in journal.tail("r1")] == []


async def test_only_the_kinds_that_are_wanted(store: Store, journal: Journal) -> None:
    """From any writer, there before or not; what is left out makes no reader read the file again."""
    lease = await started(journal)
    await journal.append(lease, [opened(), warned("before")])
    await journal.post("r1", ev.AnalysisAdded(incident_id="i1", text="before"))
    kinds = {ev.AnalysisAdded}
    async with collecting(journal.tail("r1", kinds=kinds)) as of_run, collecting(journal.tail(kinds=kinds)) as of_all:
        await of_run.upto(1)
        await of_all.upto(1)
        for number in range(20):
            await journal.append(lease, [warned(str(number))] * 3)
            if number % 7 == 0:
                await journal.post("r1", ev.AnalysisAdded(incident_id="i1", text=str(number)))
        body = 'await journal.post("r1", ev.AnalysisAdded(incident_id="i1", text="elsewhere"))'
        process = elsewhere(store.opener, body)
        _, errors = await asyncio.to_thread(process.communicate)
        assert (process.returncode, errors) == (0, "")
        for each in (of_run, of_all):
            events = await each.upto(5)
            assert [event.text for event in events if isinstance(event, ev.AnalysisAdded)] == [
                "before", "0", "7", "14", "elsewhere",
            ]  # fmt: skip
            assert len(events) == 5


@pytest.mark.parametrize("run_id", ["r1", None])
async def test_own_and_foreign_writes_come_once_and_in_order(
    store: Store, journal: Journal, run_id: str | None
) -> None:
    """This process drives the run; another one, at the same time, posts to it as an operator does."""
    lease = await started(journal)
    await journal.append(lease, [opened()])
    body = """
        print("ready")
        for n in range(150):
            await journal.post("r1", ev.AnalysisAdded(incident_id="i1", text=str(n)))
    """
    async with collecting(journal.tail(run_id)) as tail:
        process = elsewhere(store.opener, body)
        try:
            assert process.stdout is not None
            await asyncio.to_thread(process.stdout.readline)
            for number in range(150):
                await journal.append(lease, [warned(str(number))])
            _, errors = await asyncio.to_thread(process.communicate)
            assert (process.returncode, errors) == (0, "")
            events = list(await tail.upto(303))
        finally:
            process.kill()
            process.communicate()
    assert [event.seq for event in events] == list(range(1, 304))
    assert events == await journal.read("r1")
    assert texts(events) == [str(n) for n in range(150)]
    assert [event.text for event in events if isinstance(event, ev.AnalysisAdded)] == [str(n) for n in range(150)]
