"""Old runs go, with their partitions or row by row: exactly those that a model says, however it is interrupted."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.record.address import parse_address
from runtime.record.journal import JournalError
from runtime.record.journal_care import JournalCare
from runtime.record.places import init_database, open_journal
from runtime.record.postgres import retention
from runtime.record.postgres.connection import Connection, connect
from runtime.record.state import events as ev
from tests.runtime.record.conftest import Clock
from tests.runtime.record.journal_samples import ROOT, opened, started, texts, warned

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer

HOUR = timedelta(hours=1)
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["finish", "finish", "finish", "wait", "end"]), st.integers(0, 2)),
        st.tuples(st.just("jump"), st.integers(1, 3)),
        st.tuples(st.sampled_from(["prune", "prune by row", "prune whole"]), st.integers(0, 4)),
        st.tuples(st.sampled_from(["make", "prune all"]), st.just(0)),
    ),
    min_size=5,
    max_size=25,
)


@dataclass
class Workspace:
    """Runs as they should be."""

    journal: JournalCare
    clock: Clock
    url: str
    open: dict[str, Any] = field(default_factory=dict)
    """Leases of the runs that have not ended."""
    finished: dict[str, float] = field(default_factory=dict)
    """When the others did."""
    values: dict[str, int] = field(default_factory=dict)
    """Which long value each has."""
    numbers: Any = field(default_factory=itertools.count)

    async def do(self, what: str, n: int) -> None:
        if what == "jump":
            self.clock.jump(n * 3600)
        elif what == "make":
            await self.journal.make_partitions()
        elif what in ("finish", "wait"):
            run_id = f"r{next(self.numbers)}"
            lease = self.open[run_id] = await started(self.journal, run_id, ttl_s=1e9)
            self.values[run_id] = n
            await self.journal.append(lease, [opened(f"i-{run_id}"), ev.StepEnded(attempt=1, result=str(n) * 70_000)])
            if what == "finish":
                await self.end(run_id)
        elif what == "end":
            if self.open:
                await self.end(sorted(self.open)[n % len(self.open)])
        else:
            await self.prune(what, n)

    async def end(self, run_id: str) -> None:
        await self.journal.append(self.open.pop(run_id), [ev.RunFinished(state="completed", ts=self.clock.now)])
        self.finished[run_id] = self.clock.now.timestamp()

    async def prune(self, what: str, n: int) -> None:
        kept = {run_id: await self.journal.read(run_id) for run_id in self.values}
        exported: list[str] = []

        async def export(run_id: str) -> None:
            assert await self.journal.read(run_id) == kept[run_id], "it is whole when it is exported"
            exported.append(run_id)

        limit = (self.clock.now - n * HOUR).timestamp()
        due = {run_id for run_id, at in self.finished.items() if what == "prune all" or at < limit}
        retention.WORTHWHILE_EVENTS = 10**9 if what == "prune by row" else 0
        asked: dict[str, Any] = {"older_than": n * HOUR, "whole_partitions": what == "prune whole"}
        asked = {"max_bytes": 0} if what == "prune all" else asked
        would_go = await self.journal.prune(**asked, export=export, dry_run=True)
        assert exported == []
        assert {run.id for run in await self.journal.runs()} == set(kept)
        gone = await self.journal.prune(**asked, export=export)
        assert sorted(would_go) == sorted(gone)
        assert sorted(gone) == sorted(exported)
        assert set(gone) <= due
        if what != "prune whole":
            assert set(gone) == due
        for run_id in gone:
            del self.finished[run_id], self.values[run_id]
        assert {run.id for run in await self.journal.runs()} == set(self.values)
        for run_id, events in kept.items():
            assert await self.journal.read(run_id) == ([] if run_id in gone else events)
        assert {each.run_id for each in await self.journal.incidents()} == set(self.open)
        assert len(await self.journal.read(ev.WORKSPACE_RUN_ID)) == 1
        assert await self.journal.check() == []
        connection = await connect(parse_address(self.url))
        try:
            found = await (await connection.execute("SELECT left(value, 2) FROM blob")).fetchall()
        finally:
            await connection.close()
        assert {value[1] for (value,) in found} == {str(n) for n in self.values.values()}, "values, as long as named"


def test_what_is_pruned_is_what_is_old_enough(
    postgres: PostgresServer, worker_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = itertools.count()
    monkeypatch.setattr(retention, "WORTHWHILE_EVENTS", 0)
    monkeypatch.setattr(retention, "KEPT_SHARE", 1.5)

    @given(DEEDS)
    @settings(max_examples=15, deadline=None)
    def whatever_comes(deeds: list[tuple[str, int]]) -> None:
        asyncio.run(history(postgres.url(f"tests_{worker_id}", f"old{os.getpid()}-{next(numbers)}"), deeds))

    whatever_comes()


async def history(url: str, deeds: list[tuple[str, int]]) -> None:
    await init_database(url, partition_runs=2)
    clock = Clock()
    async with await open_journal(url, clock=clock) as journal:
        await journal.post(ev.WORKSPACE_RUN_ID, ev.FreezeSet(by=ev.Actor(name="ann", channel="cli")))
        workspace = Workspace(journal, clock, url)
        for what, n in [*deeds, ("make", 0), ("prune", 0)]:
            await workspace.do(what, n)


async def finished(journal: JournalCare, run_id: str) -> None:
    lease = await started(journal, run_id)
    await journal.append(lease, [warned(f"of {run_id}"), ev.RunFinished(state="completed")])


async def names(url: str) -> list[str]:
    connection = await connect(parse_address(url))
    try:
        found = await connection.execute("SELECT name FROM event_partition ORDER BY low")
        return [row[0] for row in await found.fetchall()]
    finally:
        await connection.close()


async def test_a_partition_of_which_nothing_stays_is_dropped_and_one_that_gets_runs_is_not(postgres_url: str) -> None:
    await init_database(postgres_url, partition_runs=2)
    async with await open_journal(postgres_url) as journal:
        for number in range(5):
            await finished(journal, f"r{number}")
            await journal.make_partitions()
        assert await names(postgres_url) == ["event_from_1", *(f"event_from_{n}" for n in (2, 4, 6, 8))]
        assert await journal.prune(older_than=-HOUR) == [f"r{number}" for number in range(5)]
        assert await names(postgres_url) == ["event_from_1", "event_from_6", "event_from_8"]
        await finished(journal, "next")
        assert texts(await journal.read("next")) == ["of next"]
        assert await journal.check() == []


async def test_of_a_partition_that_is_emptied_the_runs_stay_that_go_on(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what they write while it is emptied."""
    monkeypatch.setattr(retention, "WORTHWHILE_EVENTS", 0)
    monkeypatch.setattr(retention, "KEPT_SHARE", 1e9)
    await init_database(postgres_url, partition_runs=100)
    async with await open_journal(postgres_url) as journal, await open_journal(postgres_url) as other:
        lease = await started(journal, "stays", ttl_s=600.0)
        over = asyncio.Event()

        async def writing() -> int:
            count = 0
            while not over.is_set():
                await journal.append(lease, [warned(str(count))])
                count += 1
            return count

        task = asyncio.create_task(writing())
        for number in range(4):
            await finished(other, f"r{number}")
            assert await other.prune(older_than=-HOUR) == [f"r{number}"]
        over.set()
        written = await task
        assert written
        assert texts(await other.read("stays")) == [str(number) for number in range(written)]
        assert await other.check() == []


async def test_whole_partitions_are_waited_for(postgres_url: str) -> None:
    await init_database(postgres_url, partition_runs=2)
    async with await open_journal(postgres_url) as journal:
        await finished(journal, "r2")
        await journal.make_partitions()
        await started(journal, "r3")
        await finished(journal, "r4")
        await journal.make_partitions()
        assert await journal.prune(older_than=-HOUR, whole_partitions=True) == []
        await finished(journal, "r5")
        assert await journal.prune(older_than=-HOUR, whole_partitions=True) == ["r4", "r5"]
        assert await journal.prune(older_than=-HOUR) == ["r2"]


async def test_a_run_that_changes_after_its_export_stays(postgres_url: str) -> None:
    await init_database(postgres_url, partition_runs=2)
    async with await open_journal(postgres_url) as journal:
        for number in range(2, 5):
            await finished(journal, f"r{number}")

        async def export(run_id: str) -> None:
            if run_id != "r3":
                await journal.post(run_id, ev.AnalysisAdded(incident_id="i1", text="late"))

        assert await journal.prune(older_than=-HOUR, export=export) == ["r3"]
        assert {run.id for run in await journal.runs()} == {"r2", "r4"}, "one of a partition, one by itself"
        assert texts(await journal.read("r2")) == ["of r2"]
        assert await journal.prune(max_bytes=0, export=export) == []
        assert sorted(await journal.prune(older_than=-HOUR)) == ["r2", "r4"]
        assert await journal.check() == []


async def test_the_oldest_go_until_the_data_fits_and_all_data_is_summed_up_twice(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value that several runs name goes with the last of them."""
    sums: list[int] = []
    used = retention._used

    async def counted(connection: Connection) -> int:
        sums.append(await used(connection))
        return sums[-1]

    monkeypatch.setattr(retention, "_used", counted)
    await init_database(postgres_url)
    shared, own = {"a": "x" * 200_000}, {"b": "y" * 100_000}
    async with await open_journal(postgres_url) as journal:
        for name, result in (("r1", shared), ("r2", own), ("r3", {}), ("r4", shared), ("r5", shared)):
            lease = await started(journal, name)
            await journal.append(lease, [ev.StepEnded(node_id="a~0", attempt=1, result=result)])
            if name != "r5":
                await journal.append(lease, [ev.RunFinished(state="completed")])
        assert await journal.prune(max_bytes=400_000) == []
        assert await journal.prune(max_bytes=250_000) == ["r1", "r2"]
        assert len(sums) == 3, "once where all fits; else before and after"
        assert 200_000 < sums[-1] < 210_000
        assert await journal.prune(max_bytes=0) == ["r3", "r4"], "and not the value of a run that goes on"
        assert [run.id for run in await journal.runs()] == ["r5"]
        assert await journal.check() == []


async def test_nothing_goes_after_an_export_that_failed(postgres_url: str) -> None:
    await init_database(postgres_url, partition_runs=2)
    async with await open_journal(postgres_url) as journal:
        for number in range(2, 5):
            await finished(journal, f"r{number}")

        async def full(run_id: str) -> None:
            raise OSError(28, f"no space for {run_id}")

        for whole in (True, False):
            with pytest.raises(OSError, match="no space for r2"):
                await journal.prune(older_than=-HOUR, export=full, whole_partitions=whole)
        with pytest.raises(OSError, match="no space for r2"):
            await journal.prune(max_bytes=0, export=full)
        assert len(await journal.runs()) == 3


async def test_who_reads_all_events_is_waited_for_and_then_said(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "LOCK_TRIES", 1)
    monkeypatch.setattr(retention, "LOCK_WAIT_MS", 50)
    await init_database(postgres_url, partition_runs=1)
    address = parse_address(postgres_url)
    async with await open_journal(postgres_url) as journal:
        await finished(journal, "r2")
        reading = await connect(address)
        try:
            async with reading.transaction():
                await reading.execute("SELECT count(*) FROM event")
                with pytest.raises(JournalError, match=r"another session reads all events.*call prune again"):
                    await journal.prune(older_than=-HOUR)
        finally:
            await reading.close()
        assert texts(await journal.read("r2")) == ["of r2"], "nothing is gone"
        assert await journal.prune(older_than=-HOUR) == ["r2"]


def test_a_process_that_dies_anywhere_in_a_prune_loses_nothing(postgres: PostgresServer, worker_id: str) -> None:
    """With kill -9 before each change and each export, in turn: `killed_prune` says what must hold then."""
    postgres.make_database(f"killed_{worker_id}")
    place = postgres.url(f"killed_{worker_id}", "kept")
    done = subprocess.run(
        [sys.executable, "-m", "tests.runtime.record.postgres.killed_prune", place],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) > 20, "so many times it was killed"
