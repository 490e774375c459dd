"""The journal against SQLite by hand.

Three ways of making the same events durable (WAL, synchronous FULL), round after round in turn:

- *bare*: `sqlite3`, one commit with fsync for each event, in the calling thread;
- *by hand*: a writer thread with natural batching, a `seq` for each run and a fence, and nothing else: no models, no
  state, no incidents, no summaries, one kind of operation;
- *journal*: `SqliteJournal.append` of a `StepEnded`.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks import Ratio
from runtime.record.journal import Lease
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary

ROUNDS = 5
SEQUENTIAL = 300
PRODUCERS = 64
EACH = 30
STEPS = 10_000
EVENTS = 1_000_000
RUNS = 200
PARKED = 10_000
RESULT = {"content": "A reply of a model, about as long as replies are. " * 5, "tool_calls": [], "finish": "stop"}


class Bare:
    """One commit per event."""

    def __init__(self, path: Path) -> None:
        self.connection = by_hand(path)
        self.seq = 0

    async def append(self) -> None:
        self.seq += 1
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute("INSERT INTO event (run, seq, body) VALUES (1, ?, ?)", (self.seq, line(self.seq)))
        self.connection.execute("COMMIT")

    async def close(self) -> None:
        self.connection.close()


class Batching:
    """A thread that takes all events that have gathered while it wrote the ones before; fenced, `seq` by run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.turn = 0
        self.waiting: queue.SimpleQueue[tuple[int, str, asyncio.Future[int]] | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.work, args=(asyncio.get_running_loop(),))
        self.thread.start()

    def work(self, loop: asyncio.AbstractEventLoop) -> None:
        connection = by_hand(self.path)
        fence = "UPDATE run SET last_seq = last_seq + 1 WHERE rid = ? AND epoch = ? RETURNING last_seq"
        while (first := self.waiting.get()) is not None:
            batch = [first]
            while not self.waiting.empty() and (item := self.waiting.get()) is not None:
                batch.append(item)
            connection.execute("BEGIN IMMEDIATE")
            rows = [(run, connection.execute(fence, (run, 1)).fetchone()[0], body) for run, body, _ in batch]
            connection.executemany("INSERT INTO event (run, seq, body) VALUES (?, ?, ?)", rows)
            connection.execute("COMMIT")
            loop.call_soon_threadsafe(
                finish, [(future, row[1]) for (_, _, future), row in zip(batch, rows, strict=True)]
            )
        connection.close()

    async def append(self) -> None:
        await self.note()

    def note(self) -> asyncio.Future[int]:
        """An event that need not be waited for."""
        self.turn += 1
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.waiting.put((self.turn % PRODUCERS, line(self.turn), future))
        return future

    async def close(self) -> None:
        self.waiting.put(None)
        await asyncio.to_thread(self.thread.join)


class Journaled:
    def __init__(self, journal: SqliteJournal, leases: list[Lease]) -> None:
        self.journal = journal
        self.leases = leases
        self.turn = 0

    @classmethod
    async def make(cls, path: Path) -> Journaled:
        journal = await SqliteJournal.open(path)
        return cls(journal, [await claimed(journal, f"r{n}") for n in range(PRODUCERS)])

    async def append(self) -> None:
        self.turn += 1
        event = ev.StepEnded(node_id="swarm~0/agent~1/llm~0", attempt=1, result=RESULT, input_tokens=self.turn)
        await self.journal.append(self.leases[self.turn % PRODUCERS], [event])

    async def close(self) -> None:
        await self.journal.close()


def by_hand(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE run (rid INTEGER PRIMARY KEY, epoch INTEGER, last_seq INTEGER)")
    connection.execute(
        "CREATE TABLE event (pos INTEGER PRIMARY KEY, run INTEGER, seq INTEGER, body TEXT, UNIQUE (run, seq))"
    )
    connection.executemany("INSERT INTO run VALUES (?, 1, 0)", [(n,) for n in range(PRODUCERS)])
    return connection


def line(number: int) -> str:
    stamp = "2026-01-01T00:00:00.000000Z"
    return json.dumps({"type": "ended", "node": "swarm~0/agent~1/llm~0", "ts": stamp, "n": number, "result": RESULT})


def finish(done: list[tuple[asyncio.Future[int], int]]) -> None:
    for future, seq in done:
        future.set_result(seq)


async def claimed(journal: SqliteJournal, run_id: str) -> Lease:
    await journal.create(ev.RunCreated(run_id=run_id, ref="/bench.py:swarm"), Summary(id=run_id))
    lease = await journal.claim(run_id, "bench", 3600)
    assert lease is not None
    return lease


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    start = time.perf_counter()
    await work()
    return time.perf_counter() - start


async def one(way: Bare | Batching | Journaled) -> None:
    for _ in range(SEQUENTIAL):
        await way.append()


async def many(way: Bare | Batching | Journaled) -> None:
    async def produce() -> None:
        for _ in range(EACH):
            await way.append()

    await asyncio.gather(*(produce() for _ in range(PRODUCERS)))


async def appends(directory: Path) -> list[Ratio]:
    bare, hand = Bare(directory / "bare.db"), Batching(directory / "hand.db")
    journal = await Journaled.make(directory / "journal.db")
    ways: dict[str, Bare | Batching | Journaled] = {"bare": bare, "hand": hand, "journal": journal}
    times: dict[tuple[str, str], list[float]] = {(name, kind): [] for name in ways for kind in ("one", "many")}
    try:
        for _ in range(ROUNDS):
            for name, way in ways.items():
                times[name, "one"].append(await timed(lambda way=way: one(way)) / SEQUENTIAL)  # type: ignore[misc]
                times[name, "many"].append(await timed(lambda way=way: many(way)) / (PRODUCERS * EACH))  # type: ignore[misc]
    finally:
        for way in ways.values():
            await way.close()
    cost = {key: statistics.median(values) for key, values in times.items()}
    size = {name: (directory / f"{name}.db").stat().st_size for name in ("hand", "journal")}

    def ratio(kind: str, against: str, name: str, goal: float | None) -> Ratio:
        mine, theirs = cost["journal", kind], cost[against, kind]
        return Ratio(name, mine / theirs, goal, f"{mine * 1e6:.0f} us against {theirs * 1e6:.0f} us an event")

    return [
        ratio("one", "bare", "durable append, 1 producer: journal / bare sqlite3 with fsync", None),
        ratio("many", "bare", f"durable append, {PRODUCERS} producers: journal / bare sqlite3 with fsync", 1.0),
        ratio("one", "hand", "durable append, 1 producer: journal / batching writer by hand", 2.0),
        ratio("many", "hand", f"durable append, {PRODUCERS} producers: journal / batching writer by hand", 2.0),
        Ratio(
            "bytes on disk: journal / batching writer by hand",
            size["journal"] / size["hand"],
            2.0,
            f"{size['journal'] / (ROUNDS * (SEQUENTIAL + PRODUCERS * EACH)):.0f} bytes an event",
        ),
    ]


async def resume(directory: Path) -> list[Ratio]:
    """A run of 10,000 steps is read and folded, against the same lines read and parsed by hand."""
    path = directory / "long.db"
    async with await SqliteJournal.open(path) as journal:
        lease = await claimed(journal, "long")
        for start in range(0, STEPS, 500):
            events: list[ev.JournalEvent] = []
            for number in range(start, start + 500):
                place = f"swarm~0/agent~{number}/llm~0"
                events.append(ev.StepStarted(node_id=place, kind="llm", name="llm", agent="a", attempt=1, epoch=1))
                events.append(ev.StepEnded(node_id=place, attempt=1, result=RESULT))
            await journal.append(lease, events)
        state = await journal._reader.fold("long")
        assert state.steps == STEPS
        connection = sqlite3.connect(path)
        mine, theirs = [], []
        for _ in range(3):
            mine.append(await timed(lambda: journal._reader.fold("long")))
            start_s = time.perf_counter()
            parsed = [
                json.loads(body) for (body,) in connection.execute("SELECT body FROM event WHERE run = 2 ORDER BY seq")
            ]
            theirs.append(time.perf_counter() - start_s)
            assert len(parsed) == 2 * STEPS + 1
        connection.close()
    value = statistics.median(mine) / statistics.median(theirs)
    note = f"{statistics.median(mine) * 1000:.0f} ms; for orientation"
    return [Ratio(f"resume of a run with {STEPS} steps: read and fold / json.loads alone", value, None, note)]


async def attach(directory: Path) -> list[Ratio]:
    """Opening the journal, the list of runs and the inbox: with a million events, against the same runs without."""
    paths = {"empty": directory / "few.db", "full": directory / "million.db"}
    for name, path in paths.items():
        async with await SqliteJournal.open(path) as journal:
            for number in range(RUNS):
                await claimed(journal, f"r{number}")
        if name == "full":
            fill(path)
    times: dict[str, list[float]] = {name: [] for name in paths}

    async def look(path: Path) -> None:
        async with await SqliteJournal.open(path, readonly=True) as journal:
            await journal.runs(50)
            await journal.incidents()
            await journal.position()

    for _ in range(9):
        for name, path in paths.items():
            times[name].append(await timed(lambda path=path: look(path)))  # type: ignore[misc]
    full, empty = (statistics.median(times[name]) for name in ("full", "empty"))
    return [
        Ratio(
            "attach: a journal with a million events / one with none",
            full / empty,
            1.5,
            f"{full * 1000:.1f} ms against {empty * 1000:.1f} ms",
        )
    ]


async def parked(directory: Path) -> list[Ratio]:
    """What the reconciler asks again and again, with 10,000 parked runs and with none; both have one run to give."""
    paths = {0: directory / "none.db", PARKED: directory / "parked.db"}
    times: dict[int, list[float]] = {}
    for count, path in paths.items():
        async with await SqliteJournal.open(path) as journal:
            leases = await asyncio.gather(*(claimed(journal, f"p{n}") for n in range(count)))
            waits = [ev.RunParked(reason="waiting", wake_at=ev.utc_now() + timedelta(days=1))]
            await asyncio.gather(*(journal.append(lease, waits) for lease in leases))
            await asyncio.gather(*(journal.release(lease) for lease in leases))
            await journal.create(ev.RunCreated(run_id="one", ref="/bench.py:swarm"), Summary(id="one"))
            assert await journal.runnable() == ["one"]
            times[count] = [await timed(lambda j=journal: j.runnable()) for _ in range(200)]  # type: ignore[misc]
    many_, none = (statistics.median(times[count]) for count in (PARKED, 0))
    name = f"what is runnable: beside {PARKED} parked runs / beside none"
    return [Ratio(name, many_ / none, 1.5, f"{many_ * 1e6:.0f} us against {none * 1e6:.0f} us")]


def fill(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    per_run = EVENTS // RUNS
    connection.execute("BEGIN")
    connection.execute(
        "WITH RECURSIVE n(seq) AS (SELECT 2 UNION ALL SELECT seq + 1 FROM n WHERE seq < ?1)"
        " INSERT INTO event (run, seq, body) SELECT rid, seq, ?2 FROM run, n WHERE rid > 1",
        (per_run, line(0)),
    )
    connection.execute("UPDATE run SET last_seq = ? WHERE rid > 1", (per_run,))
    connection.execute("COMMIT")
    connection.close()


def run() -> list[Ratio]:
    async def all_of_it() -> list[Ratio]:
        with tempfile.TemporaryDirectory() as directory:
            found = await appends(Path(directory))
            found += await resume(Path(directory))
            found += await attach(Path(directory))
            found += await parked(Path(directory))
        return found

    return asyncio.run(all_of_it())
