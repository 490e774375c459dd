"""What a drive asks of its journal: its events once, and nothing after its last ones."""

from __future__ import annotations

import asyncio

import pytest

from runtime.record.journal import Lease
from runtime.record.rules.batch import WrittenEvent
from runtime.record.rules.stored_reader import StoredReader
from tests.present import present
from tests.runtime.bench import Bench


async def test_a_run_to_which_no_other_writes_is_read_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str | None, int]] = []
    reading = StoredReader.events_after

    async def events_after(self: StoredReader, run_id: str | None, cursor: int, limit: int) -> list[WrittenEvent]:
        asked.append((run_id, cursor))
        return await reading(self, run_id, cursor, limit)

    run = await bench.start("plain")
    monkeypatch.setattr(StoredReader, "events_after", events_after)
    async with bench.driving():
        while present(await bench.journal.summary(run)).state != "completed":  # noqa: ASYNC110 - a tail would read, too
            await asyncio.sleep(0.01)
    assert [each for each in asked if each[0] == run] == [(run, 0)]


@pytest.mark.parametrize(("name", "phase"), [("plain", "completed"), ("asker", "waiting")])
async def test_the_last_events_give_the_lease_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str, phase: str
) -> None:
    async def release(_lease: Lease) -> None:
        raise AssertionError("a transaction for what the last one could have done")

    monkeypatch.setattr(bench.journal, "release", release)
    async with bench.driving(grace_s=0.0) as supervisor:
        run = await bench.start(name)
        await bench.until(run, lambda state: state.phase == phase)
        assert await bench.journal.expire_leases(lambda _owner: True) == [], "no process holds it any more"
        while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
