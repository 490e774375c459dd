"""What durability costs after the fact: taking up a run with 10,000 steps, and opening where 10,000 runs are parked."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
import time
from pathlib import Path
from statistics import median

import msgspec

from benchmarks import Ratio
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.operations.decisions import Decisions
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)
from runtime.worker.drive import drive

LOOPING = Path(__file__).with_name("looping.py")
STEPS = 10_000
PARKED = 10_000
ROUNDS = 5
_REPLY = {"text": "x" * 200, "tool_calls": [], "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}


def _new(place: Path) -> Path:
    place.mkdir()
    return place


async def _long_run(journal: JournalCare, root: Path, by: ev.Actor) -> str:
    """A run with so many steps on record, below a node that its swarm never asks for again."""
    run_id = await Decisions(journal, root).start(f"{LOOPING}:agent", "go", by=by)
    lease = await journal.claim(run_id, "writer", 60.0)
    assert lease is not None
    events: list[ev.JournalEvent] = [
        ev.RunStarted(epoch=lease.epoch),
        ev.NodeOpened(node_id="past~7", kind="agent", name="past"),
    ]
    for number in range(STEPS):
        node = {"node_id": f"past~7/llm~{number}", "parent_id": "past~7"}
        spec = {"kind": "llm", "name": "instant:x", "agent": "past", "requested": {"count": number, "digest": "0" * 16}}
        events.append(msgspec.convert({**node, **spec, "attempt": 1, "epoch": lease.epoch}, ev.StepStarted))
        events.append(msgspec.convert({**node, "attempt": 1, "result": _REPLY}, ev.StepEnded))
    for start in range(0, len(events), 2_000):
        await journal.append(lease, events[start : start + 2_000])
    state = fold_events(await journal.read(run_id))
    await journal.append(lease, [ev.RunParked(reason="stop")], summary=state.summary())
    await journal.release(lease)
    return run_id


async def _resume(root: Path) -> list[Ratio]:
    by = ev.Actor(name="benchmark")
    config = ExecutionConfig(workspace=str(root), policy=RetryPolicy())
    ratios, fresh, reads = [], [], []
    for number in range(ROUNDS):
        async with await open_journal(_new(root / str(number))) as journal:
            long = await _long_run(journal, root, by)
            short = await Decisions(journal, root).start(f"{LOOPING}:agent", "go", by=by)
            began = time.perf_counter()
            assert await drive(journal, short, "me", config) == "finished"
            fresh.append(time.perf_counter() - began)
            began = time.perf_counter()
            await journal.read(long)
            reads.append(time.perf_counter() - began)
            began = time.perf_counter()
            assert await drive(journal, long, "me", config) == "finished"
            ratios.append((time.perf_counter() - began) / reads[-1])
    note = f"reading its events alone takes {median(reads) * 1000:.0f} ms, a new run {median(fresh) * 1000:.0f} ms"
    return [Ratio(f"taking up a run with {STEPS} steps / reading its events", median(ratios), 1.5, note)]


async def park(journal: JournalCare, number: int) -> None:
    created = ev.RunCreated(run_id=f"r{number}", ref="/bench.py:swarm", title="bench.py:swarm", input="go")
    fault = Classification(origin=Origin.TOOL, cause=Cause.TOOL_FAILED, persistence=Persistence.UNKNOWN)
    opened = ev.IncidentOpened(incident_id=f"i{number}", fault=fault, message="it failed", task="go", safe="abort")
    events = [created, ev.RunStarted(epoch=1), opened, ev.RunParked(reason="waiting")]
    await journal.create(created, fold_events(events[:1]).summary())
    lease = await journal.claim(created.run_id, "me", 60.0)
    assert lease is not None
    await journal.append(lease, events[1:], summary=fold_events(events).summary())
    await journal.release(lease)


async def until_analysed(journal: JournalCare) -> None:
    """Wait until a runtime has looked at each incident, as it does when one opens: here all come at once."""
    while [each async for each in journal.iterate_incidents(unmarked='{"type":"incident.analysed"')]:  # noqa: ASYNC110 - a poll
        await asyncio.sleep(1.0)


async def _opening(place: Path) -> list[Ratio]:
    async with await open_journal(place) as journal:
        for start in range(0, PARKED, 500):
            await asyncio.gather(*(park(journal, number) for number in range(start, start + 500)))
    ready_times, inboxes, bares = [], [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        async with await open_journal(place) as journal:
            assert await journal.runnable() == []
            ready_times.append(time.perf_counter() - began)
            assert len(await journal.runs(PARKED, states=("waiting",))) == len(await journal.incidents()) == PARKED
            inboxes.append(time.perf_counter() - began)
        began = time.perf_counter()
        bare = sqlite3.connect(place / "journal.db")
        for sql in ("SELECT summary FROM run WHERE rid > 1", "SELECT body FROM event WHERE seq = 3"):
            assert len([json.loads(body) for (body,) in bare.execute(sql)]) == PARKED
        bare.close()
        bares.append(time.perf_counter() - began)
    ratio = median(inbox / bare for inbox, bare in zip(inboxes, bares, strict=True))
    ready_ms, inbox_ms = median(ready_times) * 1000, median(inboxes) * 1000
    note = f"ready to drive after {ready_ms:.1f} ms; all rows of the inbox {inbox_ms:.0f} ms"
    return [Ratio(f"opening with {PARKED} parked runs / reading their rows bare", ratio, 10.0, note)]


def run() -> list[Ratio]:
    """All ratios of this module."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        return [*asyncio.run(_resume(root)), *asyncio.run(_opening(_new(root / "parked")))]
