"""Several workers on one journal, killed and frozen; operators who say everything three times."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runtime.operations.run_controls import RunControls
from runtime.record.places import JOURNAL_FILE, journal_address
from runtime.record.state import events as ev
from tests.runtime.chaos.conftest import Tried
from tests.runtime.chaos.harness import ME, Place, check
from tests.runtime.chaos.pairs import PAIRS

ON_POSTGRES = [pair for pair in PAIRS if pair.name.startswith("postgres")]
NOTES = Counter(["note deep1", "note deep2", "note high1", "note high2"])


@pytest.mark.timeout(120)
async def test_a_thawed_worker_finds_itself_fenced(place: Callable[[str], Place], tried: Tried) -> None:
    async with place("w") as found:
        run = await found.start("chaos:patient")
        frozen = found.lives.begin("live", found.root, lease_s=0.3)
        async with asyncio.timeout(60):
            while not found.effects["look out"]:  # noqa: ASYNC110 - told by a file
                await asyncio.sleep(0.005)
        await _freeze(frozen, found.root)
        other = found.lives.begin("live", found.root, lease_s=0.3)
        async with asyncio.timeout(60):
            while found.effects["look out"] < 2:  # noqa: ASYNC110 - told by a file
                await asyncio.sleep(0.005)
        (found.root / "go").touch()
        assert await other.status() == 0
        written = await found.journal.read(run)
        await frozen.signal(signal.SIGCONT)
        assert await frozen.status() == 0
        assert f"{await frozen.pid()} run {run}: fenced" in found.log
        events = await found.journal.read(run)
        assert events == written, "a fenced worker wrote"
        state = check(events)
    assert state.output == "the end: seen"
    tried("SIGSTOP of a worker, thawed after another took over", 1)


async def _freeze(process: Any, root: Path) -> None:
    """Freeze a worker between two transactions: inside one it would hold the file's write lock, and all would wait. On
    Postgres the server ends the transaction by itself.
    """
    for _ in range(100):
        await process.signal(signal.SIGSTOP)
        if journal_address(root) is not None or await asyncio.to_thread(_writable, root / JOURNAL_FILE):
            return
        await process.signal(signal.SIGCONT)
    raise AssertionError("the worker was inside a transaction whenever it was frozen")


def _writable(path: Path) -> bool:
    with closing(sqlite3.connect(path, timeout=1.0, isolation_level=None)) as file:
        try:
            file.execute("BEGIN IMMEDIATE")
            file.execute("ROLLBACK")
        except sqlite3.OperationalError:
            return False
    return True


@pytest.mark.timeout(180)
async def test_three_workers_killed_and_frozen_lose_no_run(place: Callable[[str], Place], tried: Tried) -> None:
    async with place("w") as found:
        runs = [await found.start("chaos:nested", f"task {number}") for number in range(12)]
        begin = partial(found.lives.begin, "live", found.root, lease_s=0.3, engine_options={"slots": 3})
        # Alone, for two others could end all runs before it begins.
        assert await begin(die_after=20).status() == -signal.SIGKILL
        others = [begin(), begin()]
        await _freeze(others[0], found.root)
        doubts = 0
        for _ in range(12):
            assert await found.lives.live(found.root, lease_s=0.3) == 0
            doubts += await found.answer_all()
            if not await found.unfinished(runs):
                break
        await others[0].signal(signal.SIGCONT)
        for process in others:
            assert await process.status() == 0
        assert not await found.unfinished(runs)
        for run in runs:
            check(await found.journal.read(run))
        effects = found.effects
        assert all(count <= len(runs) for count in effects.values())
        missing = Counter({what: len(runs) for what in NOTES}) - effects
        assert sum(missing.values()) <= doubts
    tried("runs shared by three workers, one killed, one frozen", len(runs))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("live", [True, False], ids=["driven", "parked"])
async def test_each_decision_is_taken_once(place: Callable[[str], Place], tried: Tried, live: bool) -> None:
    async with place("d") as found:
        runs = [await found.start("zoo:saver", f"task {number}") for number in range(5)]
        if live:
            begin = partial(found.lives.begin, "live", found.root, engine_options={"slots": 2})
            driving = [begin(lease_s=10.0, grace_s=60.0, stay=True) for _ in range(3)]
            for run in runs:
                await found.until(run, lambda s: bool(s.open_incidents))
        else:
            assert await found.lives.live(found.root) == 0
        waiting = await found.journal.incidents()
        assert len(waiting) == len(runs)
        operators = [
            found.lives.begin("answer", found.root, incident=each.opened.incident_id, option="grant", times=3)
            for each in waiting
            for _ in range(3)
        ]
        for operator in operators:
            assert await operator.status() == 0, found.log
        said = found.said
        assert len(said) == 9 * len(runs)
        for incident in waiting:
            told = [each for each in said if each["incident"] == incident.opened.incident_id]
            (taken,) = [each for each in told if each["accepted"]]
            assert {each["first"] for each in told if not each["accepted"]} == {taken["by"]}
        if live:
            for run in runs:
                await found.until(run, lambda s: s.terminal)
            for worker in driving:
                await worker.signal(signal.SIGTERM)
                assert await worker.status() == 0, found.log
        else:
            await found.to_the_end(runs)
        for run in runs:
            check(await found.journal.read(run))
        assert sum(found.effects.values()) == len(runs)
    tried(
        f"a decision said by three clients three times, run {'driven by three workers' if live else 'parked'}",
        len(said),
    )


@pytest.mark.timeout(240)
async def test_a_rolling_change_of_code_under_way(place: Callable[[str], Place], tried: Tried) -> None:
    """What the old code has begun waits for it until it is moved, and goes on with the new code from where it was."""
    async with place("c") as found:
        runs = [await found.start("chaos:patient", f"task {number}") for number in range(4)]
        blue = found.lives.begin("live", found.root, lease_s=10.0, stay=True, code="blue")
        for run in runs:
            await found.until(run, lambda s: any(node.name == "watch" for node in s.nodes.values()))
        green = found.lives.begin("live", found.root, lease_s=10.0, code="green")
        await blue.signal(signal.SIGTERM)
        assert await blue.status() == 0, found.log
        (found.root / "go").touch()
        new = await found.start("chaos:patient", "begun with the new code")
        await found.until(new, lambda s: s.terminal)
        assert sorted(await found.unfinished(runs)) == sorted(runs)
        placed = await found.journal.placed_runs()
        assert sorted((each.run_id, each.need.code) for each in placed) == sorted((run, "blue") for run in runs)
        for run in runs:
            await RunControls(found.journal).move(run, code="green", by=ME)
        assert await green.status() == 0, found.log
        for run in [*runs, new]:
            events = await found.journal.read(run)
            assert check(events).output == "the end: seen"
            codes = [event.code for event in events if isinstance(event, ev.RunStarted)]
            assert codes == (["green"] if run == new else ["blue", "green"])
    tried("a run moved to new code while it was under way", len(runs))


@pytest.mark.parametrize("pair", ON_POSTGRES, ids=[pair.name for pair in ON_POSTGRES], indirect=True)
@pytest.mark.timeout(240)
async def test_a_worker_whose_clock_is_wrong_takes_no_run_from_another(
    place: Callable[[str], Place], tried: Tried
) -> None:
    """All go by the server's clock; on a machine that is 20 s ahead every lease would have run out."""
    async with place("k") as found:
        runs = [await found.start("chaos:patient", f"task {number}") for number in range(4)]
        right = found.lives.begin("live", found.root, lease_s=10.0, skew_s=0.0)
        for run in runs:
            await found.until(run, lambda s: any(node.name == "watch" for node in s.nodes.values()))
        wrong = found.lives.begin("live", found.root, lease_s=10.0, skew_s=20.0)
        late = await found.start("zoo:plain")
        await found.until(late, lambda s: s.terminal)
        while "the clock here differs by +20.0 s from the database's" not in found.log:  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.01)
        (found.root / "go").touch()
        assert [await each.status() for each in (right, wrong)] == [0, 0], found.log
        for run in [*runs, late]:
            events = await found.journal.read(run)
            check(events)
            assert len([event for event in events if isinstance(event, ev.RunStarted)]) == 1
        assert found.effects["look out"] == len(runs)
    tried("a run beside a worker whose clock is 20 s ahead", len(runs))
