"""What a step costs: in plain `run` against a loop by hand, and durably against both and against a bare journal.

A journaled step is a call of a model or a tool under `drive`: gates asked, its begin and its end written, the end on
disk before the next step begins. It is compared, for one run and for 64 at once, each of 201 steps, with

- *a step by hand*: the same loop without a journal;
- *two bare synced inserts*: what a step must write, each row on disk by itself; no JSON, no `seq`, no fence, no loop;
- *a durable writer by hand*: the same loop with a thread that takes all rows that have gathered, encodes them as JSON,
  counts `seq` for each run, checks the fence and syncs once for all. It has no models, no state, no summary, no gates
  and no hearing, and of 64 runs at once it writes dozens of rows with one sync: what is left of either is Python.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from benchmarks import Ratio
from benchmarks.by_hand import by_hand, workflow_by_hand
from benchmarks.journal import Batching
from benchmarks.looping import LONG, STEPS, Instant, agent, plain, workflow
from orbiter.config import ModelConfig
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.operations.decisions import Decisions
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.service.gc_policy import relaxed_gc
from runtime.worker.drive import drive

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


async def _durably(root: Path, runs: int, rounds: int) -> tuple[float, float]:
    """Seconds and bytes per step of so many runs driven at once. One run before them pays for what is loaded once."""
    path = root / "journal.db"
    async with await open_journal(root) as journal:
        link = Decisions(journal, root)
        config = ExecutionConfig(workspace=str(root), policy=RetryPolicy())
        by = ev.Actor(name="benchmark")
        first, *ids = [await link.start(f"{LOOPING}:agent", f"loop {rounds}", by=by) for _ in range(runs + 1)]
        assert await drive(journal, first, "me", config) == "finished"
        before, began = _bytes(path), time.perf_counter()
        outcomes = await asyncio.gather(*(drive(journal, run_id, "me", config) for run_id in ids))
        seconds = time.perf_counter() - began
        assert set(outcomes) == {"finished"}
    steps = runs * (2 * rounds + 1)
    return seconds / steps, (_bytes(path) - before) / steps


def _bytes(path: Path) -> int:
    """What the events take: pages of the file, without the write-ahead log, which is used over and over."""
    with sqlite3.connect(path) as reader:
        (found,) = reader.execute("SELECT sum(length(body)) FROM event").fetchone()
    reader.close()
    return int(found)


async def _writing(root: Path, runs: int, rounds: int) -> float:
    """Seconds per step of the same loops by hand, with a writer by hand: a row for each begin, which is not awaited,
    and a durable one for each end.
    """
    provider = Instant(ModelConfig(provider="instant", model_name="x"))
    writer = Batching(root / "hand.db")

    async def record(ended: bool) -> None:
        if ended:
            await writer.append()
        else:
            writer.note()

    began = time.perf_counter()
    await asyncio.gather(*(by_hand(provider, f"loop {rounds}", record) for _ in range(runs)))
    seconds = time.perf_counter() - began
    await writer.close()
    return seconds / (runs * (2 * rounds + 1))


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
    for runs, rounds in ((1, LONG), (64, LONG)):  # so long that what a run costs to begin does not count
        to_hand, to_writer, to_bare, size, ours = [], [], [], 0.0, 0.0
        for _ in range(3):
            with tempfile.TemporaryDirectory() as directory, relaxed_gc():  # for all of them, as a runtime has it
                root = Path(directory)
                hand = await _seconds(lambda: by_hand(provider, "loop"), 40) / CALLS
                ours, size = await _durably(root, runs, rounds)
                written = await _writing(root, runs, rounds)
                bare = await asyncio.to_thread(_bare, root, 200, durable=True)
            to_hand.append(ours / hand)
            to_writer.append(ours / written)
            to_bare.append(ours / bare)
        at_once = f"{runs} run{'s' if runs > 1 else ''} at once"
        most = 3.0 if runs > 1 else None
        note = f"{ours * 1e3:.2f} ms and {size:.0f} bytes a step"
        synced = f"{bare * 1e6:.0f} us on this disk: the quicker it syncs, the more what is computed counts"
        found.extend((
            Ratio(f"a journaled step / a step by hand, {at_once}", median(to_hand), None, note),
            Ratio(f"a journaled step / one with a durable writer by hand, {at_once}", median(to_writer), most, note),
            Ratio(f"a journaled step / two bare synced inserts, {at_once}", median(to_bare), 2.0, synced),
        ))  # fmt: skip
    return found


def run() -> list[Ratio]:
    """All ratios of this module."""
    return [*asyncio.run(_plain()), *asyncio.run(_journaled())]
