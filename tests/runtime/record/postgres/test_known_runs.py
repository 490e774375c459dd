"""Appends to runs that this writer knows: without a look before, and right where another process has written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from runtime.record.journal import Fenced
from runtime.record.places import init_database, open_journal
from runtime.record.postgres import writer as writers
from runtime.record.postgres.connection import Connection
from runtime.record.postgres.locked_rows import Clock, load_batch
from runtime.record.rules.batch import Batch, Write
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from tests.present import present
from tests.runtime.record.journal_samples import opened, started, state_of, summary, texts, warned

ANN = ev.Actor(name="ann", channel="cli")


@pytest.fixture
async def workspace(postgres_url: str) -> str:
    await init_database(postgres_url)
    return postgres_url


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many operations were in each batch that looked at the server first."""
    found: list[int] = []

    async def counted(
        connection: Connection, ops: Sequence[Write], writer_id: str, clock: Clock | None
    ) -> tuple[Batch, list[int]] | None:
        found.append(len(ops))
        return await load_batch(connection, ops, writer_id, clock)

    monkeypatch.setattr(writers, "load_batch", counted)
    return found


async def test_an_append_to_a_known_run_needs_no_look(workspace: str, looks: list[int]) -> None:
    async with await open_journal(workspace) as journal:
        lease = await started(journal)
        looks.clear()
        for number in range(3):
            (written,) = await journal.append(lease, [warned(f"{number}")])
            assert written.seq == 3 + number
        renamed = Summary(id="r1", ref="/swarm.py:swarm", title="a new title")
        await journal.append(lease, [warned("3"), warned("4")], summary=renamed)
        assert looks == []
        assert texts(await journal.read("r1")) == ["0", "1", "2", "3", "4"]
        assert [run.title for run in await journal.runs()] == ["a new title"]
        assert await journal.check() == []


async def test_what_changes_more_than_the_length_looks_first(workspace: str, looks: list[int]) -> None:
    async with await open_journal(workspace) as journal:
        lease = await started(journal)
        looks.clear()
        await journal.append(lease, [opened()])
        await journal.append(lease, [ev.StepEnded(node_id="a~0", attempt=1, result={"long": "x" * 200_000})])
        await journal.append(lease, [], summary=summary())
        assert looks == [1, 1, 1]
        await journal.append(lease, [warned("known again")])
        assert looks == [1, 1, 1]
        await journal.append(lease, [ev.RunFinished(state="completed")])
        assert looks == [1, 1, 1, 1]
        assert await state_of(journal) == "completed"
        assert await journal.check() == []


async def test_what_another_process_wrote_meanwhile_comes_before(workspace: str, looks: list[int]) -> None:
    """The whole batch is carried out again, for every run in it: none of it was written."""
    async with await open_journal(workspace) as journal, await open_journal(workspace) as other:
        leases = [await started(journal, f"r{number}") for number in range(3)]
        await asyncio.gather(*(journal.append(lease, [warned("first")]) for lease in leases))
        await other.post("r1", ev.AbortRequested(by=ANN))
        looks.clear()
        position = await journal.position()
        written = await asyncio.gather(*(journal.append(lease, [warned("second")]) for lease in leases))
        assert looks == [3]
        assert [events[0].seq for events in written] == [4, 5, 4]
        placed = await journal.latest(after=position)
        assert [(each.pos - position, each.event.run_id) for each in placed] == [(1, "r0"), (2, "r1"), (3, "r2")]
        await asyncio.gather(*(journal.append(lease, [warned("third")]) for lease in leases))
        assert looks == [3], "known again"
        assert await journal.check() == []


async def test_the_holder_of_a_lease_that_was_taken_over_is_fenced(workspace: str) -> None:
    async with await open_journal(workspace) as journal, await open_journal(workspace) as other:
        lease = await started(journal, ttl_s=0.01)
        await journal.append(lease, [warned("mine")])
        while (heir := await other.claim("r1", "heir", 60)) is None:  # noqa: ASYNC110 - the server's clock is waited for
            await asyncio.sleep(0)
        with pytest.raises(Fenced, match="heir holds epoch 2"):
            await journal.append(lease, [warned("from the grave")])
        await other.append(heir, [warned("the heir's")])
        assert texts(await other.read("r1")) == ["mine", "the heir's"]


async def test_a_lease_that_was_given_back_appends_no_more(workspace: str) -> None:
    async with await open_journal(workspace) as journal, await open_journal(workspace) as other:
        lease = await started(journal)
        await other.release(lease)
        with pytest.raises(Fenced, match="given back"):
            await journal.append(lease, [warned("too late")])
        assert texts(await journal.read("r1")) == []


async def test_two_processes_write_one_run_in_one_order(workspace: str) -> None:
    """Each event has a number of its own, and positions are in the order of the commits."""
    async with await open_journal(workspace) as journal, await open_journal(workspace) as other:
        lease = await started(journal)

        async def drive() -> None:
            for number in range(40):
                await journal.append(lease, [warned(f"{number}")])

        async def operate() -> None:
            for number in range(40):
                await other.post("r1", ev.MessageInjected(injection_id=f"{number}", agent="a", text="t", by=ANN))

        await asyncio.gather(drive(), operate())
        events = await other.read("r1")
        assert [event.seq for event in events] == list(range(1, 83))
        assert texts(events) == [f"{number}" for number in range(40)]
        placed = await other.latest(limit=1000)
        assert [each.event.seq for each in placed] == list(range(1, 83))
        assert present(await journal.summary("r1")).id == "r1"
        assert await journal.check() == []
