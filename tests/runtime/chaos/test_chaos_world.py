"""A disk that is full for a while, a file that cannot be written for a while, a clock that jumps."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.record.places import open_journal
from tests.runtime.bench import Bench
from tests.runtime.chaos.conftest import Tried
from tests.runtime.chaos.harness import ME, Place, check, check_effects
from tests.runtime.chaos.pairs import PAIRS
from tests.runtime.record.sqlite_parts import writer_of

NOTES = Counter(["note one", "note two", "note p0", "note p1", "note p2"])


@pytest.mark.timeout(180)
@pytest.mark.parametrize("pair", PAIRS[:1], ids=[PAIRS[0].name], indirect=True)  # a limit on files of this process
async def test_a_full_disk_stops_runs_and_harms_none(place: Callable[[str], Place], tried: Tried) -> None:
    async def one(more: int) -> int:
        async with place(f"{more}") as found:
            runs = [await found.start("zoo:workflow")]
            biggest = max(path.stat().st_size for path in found.root.glob("journal.db*"))
            died, doubts = await found.to_the_end(runs, file_bytes=biggest + more * 4096)
            assert not died
            for run in runs:
                assert check(await found.journal.read(run)).output == "done: three notes"
            check_effects(found.effects, NOTES, doubts, lives=3)
            return sum("full" in each for each in found.said)

    full = 0
    for n in range(0, 24, 4):
        full += sum(await asyncio.gather(*(one(n + each) for each in range(4))))
    assert full >= 6
    tried("a full disk in the middle of a run, with room again later", full)


async def test_a_file_that_cannot_be_written_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: Tried
) -> None:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    async with await open_journal(tmp_path) as journal:
        bench = Bench(tmp_path, journal)
        writer = writer_of(journal)
        async with bench.driving(grace_s=60.0) as supervisor:
            run, incident = await bench.asked("saver")
            await bench.answer(incident, "grant")
            await writer.run_exclusive(lambda connection: connection.execute("PRAGMA query_only = 1").fetchall())
            async with asyncio.timeout(60):
                while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
                    await asyncio.sleep(0.01)
            await writer.run_exclusive(lambda connection: connection.execute("PRAGMA query_only = 0").fetchall())
            events = await journal.read(run)
            state = await bench.until(run, lambda s: s.terminal or bool(s.open_incidents and s.lives > 1))
            for again in await journal.incidents(run):
                await bench.answer(again, "result", value="it had happened")
            state = await bench.ended(run)
        assert state.phase in ("completed", "degraded")
        assert (await journal.read(run))[: len(events)] == events
        assert bench.effects.count("save") <= 1
    tried("a journal that turns read-only under a run, and back", 1)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", range(3))
async def test_a_clock_that_jumps_loses_no_run(place: Callable[[str], Place], tried: Tried, seed: int) -> None:
    dice = random.Random(seed)
    jumps = 0
    async with place("c") as found:
        names = ("zoo:workflow", "chaos:nested", "chaos:failing")
        runs = [await found.start(name) for name in names]
        for _ in range(12):
            life = found.lives.begin("live", found.root, lease_s=0.2)
            jumping = asyncio.create_task(life.status())
            while not jumping.done():
                clock = found.root / "clock.new"
                clock.write_text(str(dice.choice([-86_400, -60, 0, 60, 86_400])))
                clock.rename(found.root / "clock")
                jumps += 1
                await asyncio.wait({jumping}, timeout=0.02)
            assert jumping.result() == 0, found.log
            await found.answer_all()
            if not await found.unfinished(runs):
                break
        assert not await found.unfinished(runs)
        for run in runs:
            check(await found.journal.read(run))
    tried("a jump of the clock under live runs", jumps)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("alive", [True, False], ids=["alive", "dead"])
@pytest.mark.parametrize("seconds", [-86_400, -3_600, 86_400])
async def test_a_clock_that_jumps_under_a_parked_run_delays_it_by_no_more_than_its_wait(
    place: Callable[[str], Place], tried: Tried, seconds: int, alive: bool
) -> None:
    async with place("c") as found:
        run = await found.start("zoo:throttled")
        life = found.lives.begin("live", found.root, stay=True)
        try:
            await found.until(run, lambda s: s.open_incidents)
            (incident,) = await found.journal.incidents()
            await found.decisions.answer(incident.opened.incident_id, "wait_retry", {"seconds": 6.0}, by=ME)
            await found.until(run, lambda s: s.phase == "waiting" and s.wake_at is not None and not s.open_incidents)
            if not alive:
                await life.signal(signal.SIGKILL)
                assert await life.status() == -signal.SIGKILL
            clock = found.root / "clock.new"
            clock.write_text(str(seconds))
            clock.rename(found.root / "clock")
            if not alive:
                life = found.lives.begin("live", found.root, stay=True)
            state = await found.until(run, lambda s: any(node.attempts > 1 for node in s.nodes.values()))
            assert state.anomalies == 0
        finally:
            await life.signal(signal.SIGKILL)
            await life.status()
    tried("a jump of the clock under a parked run", 1)
