"""What a step costs: in plain `run` against a loop by hand, and durably against both and against a bare journal."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from benchmarks import Ratio
from benchmarks.looping import STEPS, Instant, agent, by_hand, plain, workflow, workflow_by_hand
from orbiter.config import ModelConfig
from runtime.judgement.retry import RetryPolicy
from runtime.record import events as ev
from runtime.record.sqlite import SqliteJournal
from runtime.work.conditions import Conditions
from runtime.work.desk import Desk
from runtime.work.drive import drive

LOOPING = Path(__file__).with_name("looping.py")
ROUNDS = 7
CALLS = STEPS * 2 + 1
"""Steps of one run: ten replies with a tool call each, and the last reply."""


async def _seconds(work: Callable[[], Awaitable[object]], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        await work()
    return (time.perf_counter() - began) / times


async def _pairs(ours: Callable[[], Awaitable[object]], other: Callable[[], Awaitable[object]], times: int) -> float:
    """The median of the ratios of interleaved rounds: what the machine does meanwhile hits both alike."""
    await ours()
    await other()
    ratios = []
    for _ in range(ROUNDS):
        theirs = await _seconds(other, times)
        ratios.append(await _seconds(ours, times) / theirs)
    return median(ratios)


async def _plain() -> list[Ratio]:
    provider = Instant(ModelConfig(provider="instant", model_name="x"))
    loop = await _pairs(lambda: plain(agent, "loop"), lambda: by_hand(provider, "loop"), 40)
    three = await _pairs(lambda: plain(workflow, "go"), lambda: workflow_by_hand(provider, "go"), 200)
    return [
        Ratio("a step of a ten-step tool loop, plain run / by hand", loop, 2.5),
        Ratio("a three-agent workflow, plain run / by hand", three, 2.0),
    ]


async def _durably(root: Path, runs: int) -> tuple[float, float]:
    """Seconds and bytes per step of so many runs driven at once."""
    async with await SqliteJournal.open(root / "journal.db") as journal:
        desk = Desk(journal, root)
        conditions = Conditions(workspace=str(root), policy=RetryPolicy())
        by = ev.Actor(name="benchmark")
        ids = [await desk.start(f"{LOOPING}:agent", "loop", by=by) for _ in range(runs)]
        began = time.perf_counter()
        outcomes = await asyncio.gather(*(drive(journal, run_id, "me", conditions) for run_id in ids))
        seconds = time.perf_counter() - began
        assert set(outcomes) == {"finished"}
    return seconds / (runs * CALLS), (root / "journal.db").stat().st_size / (runs * CALLS)


def _bare(root: Path, steps: int, durable: bool) -> float:
    """Seconds per step of a bare journal: two rows a step, the second one synced if `durable`."""
    with sqlite3.connect(root / "bare.db", isolation_level=None) as bare:
        bare.execute("PRAGMA journal_mode=WAL")
        bare.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        bare.execute("CREATE TABLE IF NOT EXISTS event (run TEXT, seq INTEGER, body TEXT)")
        began = time.perf_counter()
        for number in range(steps):
            for _ in range(2):
                bare.execute("INSERT INTO event VALUES (?, ?, ?)", ("r", number, "x" * 380))
        return (time.perf_counter() - began) / steps


async def _journaled() -> list[Ratio]:
    found: list[Ratio] = []
    provider = Instant(ModelConfig(provider="instant", model_name="x"))
    for runs in (1, 64):
        to_hand, to_bare, size = [], [], 0.0
        for _ in range(3):
            with tempfile.TemporaryDirectory() as directory:
                root = Path(directory)
                hand = await _seconds(lambda: by_hand(provider, "loop"), 40) / CALLS
                seconds, size = await _durably(root, runs)
                bare = await asyncio.to_thread(_bare, root, 200, durable=True)
            to_hand.append(seconds / hand)
            to_bare.append(seconds / bare)
        note = f"{runs} run{'s' if runs > 1 else ''} at once, {size:.0f} bytes a step on disk"
        found.extend((
            Ratio(f"a journaled step / a step by hand, {runs} at once", median(to_hand), None, note),
            Ratio(f"a journaled step / two bare synced inserts, {runs} at once", median(to_bare), 2.0, note),
        ))  # fmt: skip
    return found


def run() -> list[Ratio]:
    """All ratios of this module."""
    return [*asyncio.run(_plain()), *asyncio.run(_journaled())]
