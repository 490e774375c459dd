"""What durability costs after the fact: taking up a run with 10,000 steps, and looking at a long journal."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks import Ratio
from runtime.judgement.retry import RetryPolicy
from runtime.record import events as ev
from runtime.record.sqlite import SqliteJournal
from runtime.record.state import fold
from runtime.work.conditions import Conditions
from runtime.work.desk import Desk
from runtime.work.drive import drive

LOOPING = Path(__file__).with_name("looping.py")
STEPS = 10_000
ROUNDS = 5
_REPLY = {"text": "x" * 200, "tool_calls": [], "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}


async def _long_run(journal: SqliteJournal, root: Path, by: ev.Actor) -> str:
    """A run with so many steps on record, below a node that its swarm never asks for again."""
    run_id = await Desk(journal, root).start(f"{LOOPING}:agent", "go", by=by)
    lease = await journal.claim(run_id, "writer", 60.0)
    assert lease is not None
    events: list[ev.Record] = [
        ev.RunStarted(epoch=lease.epoch),
        ev.NodeOpened(node_id="past~7", kind="agent", name="past"),
    ]
    for number in range(STEPS):
        node = {"node_id": f"past~7/llm~{number}", "parent_id": "past~7"}
        spec = {"kind": "llm", "name": "instant:x", "agent": "past", "requested": {"count": number, "digest": "0" * 16}}
        events.append(ev.StepStarted.model_validate({**node, **spec, "attempt": 1, "epoch": lease.epoch}))
        events.append(ev.StepEnded.model_validate({**node, "attempt": 1, "result": _REPLY}))
    for start in range(0, len(events), 2_000):
        await journal.append(lease, events[start : start + 2_000])
    state = fold(await journal.read(run_id))
    await journal.append(lease, [ev.RunParked(reason="stop")], summary=state.summary())
    await journal.release(lease)
    return run_id


async def _resume(root: Path) -> list[Ratio]:
    by = ev.Actor(name="benchmark")
    conditions = Conditions(workspace=str(root), policy=RetryPolicy())
    ratios, fresh, reads = [], [], []
    for number in range(ROUNDS):
        async with await SqliteJournal.open(root / f"{number}.db") as journal:
            long = await _long_run(journal, root, by)
            short = await Desk(journal, root).start(f"{LOOPING}:agent", "go", by=by)
            began = time.perf_counter()
            assert await drive(journal, short, "me", conditions) == "finished"
            fresh.append(time.perf_counter() - began)
            began = time.perf_counter()
            await journal.read(long)
            reads.append(time.perf_counter() - began)
            began = time.perf_counter()
            assert await drive(journal, long, "me", conditions) == "finished"
            ratios.append((time.perf_counter() - began) / reads[-1])
    note = f"reading its events alone takes {median(reads) * 1000:.0f} ms, a new run {median(fresh) * 1000:.0f} ms"
    return [Ratio(f"taking up a run with {STEPS} steps / reading its events", median(ratios), 2.5, note)]


def run() -> list[Ratio]:
    """All ratios of this module."""
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(_resume(Path(directory)))
