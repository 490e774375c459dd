"""A runtime with many runs: what one takes to begin, 10,000 that are parked, and the memory of those that are live.

CPU is that of all threads of a process, so that other work on the machine counts for little.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks import Ratio
from benchmarks.durability import park, until_analysed
from benchmarks.idle import SETTLE_S, WINDOW_S, cpu_s
from runtime.daemon import daemon
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.link.client.client import LinkClient
from runtime.link.transports.transport import Streams, Transport, UnixTransport
from runtime.operations.decisions import Decisions
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.worker.drive import drive
from runtime.worker.supervisor import Supervisor

LOOPING = Path(__file__).with_name("looping.py")
BY = ev.Actor(name="benchmark")
AT_ONCE = 64
STEPS = 21
ROUNDS = 3
STARTED = 500
PARKED = 10_000
LIVE = 1_000
LOOKS = 101
SLOW_LINE = 16 * 1024
SLICE = 512
ASKING = """
from orbiter import Agent, tool
from orbiter.ask import ask_operator
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply

@tool(idempotent=True)
async def ask() -> str:
    return str(await ask_operator("go on?"))

script("live/asks", [Reply(calls=[Call("ask", {})]), "done"])
agent = Agent(name="asker", model="scripted:live/asks", tools=[ask])
"""


async def _cpu_of_runs(root: Path, rounds: int) -> float:
    """Seconds of CPU of one of `AT_ONCE` runs."""
    async with await open_journal(root) as journal:
        decisions, config = Decisions(journal, root), ExecutionConfig(workspace=str(root), policy=RetryPolicy())
        first, *ids = [await decisions.start(f"{LOOPING}:agent", f"loop {rounds}", by=BY) for _ in range(AT_ONCE + 1)]
        assert await drive(journal, first, "me", config) == "finished"  # pays for what is loaded once
        began = time.process_time()
        outcomes = await asyncio.gather(*(drive(journal, run_id, "me", config) for run_id in ids))
        spent = time.process_time() - began
    assert set(outcomes) == {"finished"}
    return spent / AT_ONCE


async def _beginning() -> Ratio:
    found: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            alone, many = await _cpu_of_runs(Path(one), 0), await _cpu_of_runs(Path(other), (STEPS - 1) // 2)
        step = (many - alone) / (STEPS - 1)
        found.append((1e3 * (alone - step), 1e3 * step))
    begins, steps = zip(*found, strict=True)
    note = f"beside {median(steps):.2f} ms for each step; its file is unchanged"
    return Ratio("ms of CPU that a run takes beyond its steps", median(begins), 2.0, note)


async def _started_at_once() -> Ratio:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        async with await open_journal(root) as journal:
            decisions = Decisions(journal, root)
            supervisor = Supervisor(journal, ExecutionConfig(workspace=str(root), policy=RetryPolicy()))
            serving = asyncio.create_task(supervisor.serve())
            began, cpu = time.perf_counter(), time.process_time()
            ids = [await decisions.start(f"{LOOPING}:agent", "go", by=BY) for _ in range(STARTED)]
            while len(await journal.runs(STARTED, states=("completed",))) < len(ids):  # noqa: ASYNC110 - a poll
                await asyncio.sleep(0.1)
            seconds, spent = time.perf_counter() - began, time.process_time() - cpu
            supervisor.stop()
            await serving
    return Ratio(
        f"seconds until {STARTED} runs of one step are started and done", seconds, 5.0, f"{spent:.1f} s of CPU"
    )


class SlowTransport(UnixTransport):
    """A line that carries `SLOW_LINE` bytes a second to the console, not compressed."""

    async def connect(self) -> Streams:
        fast, writer = await super().connect()
        slow = asyncio.StreamReader()

        async def carry() -> None:
            while data := await fast.read(SLICE):
                await asyncio.sleep(len(data) / SLOW_LINE)
                slow.feed_data(data)
            slow.feed_eof()

        self._carrying = asyncio.create_task(carry())
        return slow, writer


async def _picture_s(transport: Transport, *, whole: bool = True) -> tuple[float, float]:
    """Seconds until a console shows the first rows of its first picture, and until it has the whole."""
    client = LinkClient(transport)
    began = time.perf_counter()
    client.start()
    await client.wait_until(lambda: client.ready)
    first = time.perf_counter() - began
    if whole:
        await client.wait_until(lambda: client.whole)
    seconds = time.perf_counter() - began
    await client.close()
    return first, seconds


async def _first_rows_s(place: Path) -> float:
    """Seconds until a console shows its first rows."""
    gc.collect()  # what earlier looks have left is not collected within this one
    return (await _picture_s(UnixTransport(place), whole=False))[0]


def _rss_kib(pid: int | str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError(f"process {pid} has no VmRSS in /proc")


async def _parked(root: Path) -> list[Ratio]:
    places = {count: root / str(count) / ".orbiter" for count in (0, PARKED)}
    pids: dict[int, int] = {}
    try:
        for count, place in places.items():
            place.parent.mkdir()
            async with await open_journal(place) as journal:
                for start in range(0, count, 500):
                    await asyncio.gather(*(park(journal, number) for number in range(start, start + 500)))
            pids[count] = (await asyncio.to_thread(daemon.ensure_runtime, place, workspace=place.parent)).pid
        async with await open_journal(places[PARKED], readonly=True) as journal:
            await until_analysed(journal)
        await asyncio.to_thread(daemon.stop, places[PARKED])  # the next has not just looked at all of them
        async with await open_journal(places[PARKED]) as journal:
            while await journal.index_texts(str):  # nor has it to take them into the search index
                pass
        begun = await asyncio.to_thread(daemon.ensure_runtime, places[PARKED], workspace=places[PARKED].parent)
        pids[PARKED] = begun.pid
        await asyncio.sleep(SETTLE_S)
        before = {count: cpu_s(pid) for count, pid in pids.items()}
        await asyncio.sleep(WINDOW_S)
        none, many = (100 * (cpu_s(pids[count]) - before[count]) / WINDOW_S for count in (0, PARKED))
        resident = _rss_kib(pids[PARKED]) / 1024
        looks = [[await _first_rows_s(places[count]) for count in (0, PARKED)] for _ in range(LOOKS)]
        first, whole = await _picture_s(UnixTransport(places[PARKED]))
        slow, _ = await _picture_s(SlowTransport(places[PARKED]), whole=False)
    finally:
        for place in places.values():
            await asyncio.to_thread(daemon.stop, place)
    picture = median(full / empty for empty, full in looks)
    return [
        Ratio(f"idle CPU with {PARKED} parked runs / with none", many / none, 1.2, f"{many:.2f} % of a core"),
        Ratio(f"MiB that are resident with {PARKED} parked runs", resident, 60.0),
        Ratio(
            f"first picture with {PARKED} parked runs / with none",
            picture,
            1.3,
            f"{1e3 * first:.0f} ms; the whole after {1e3 * whole:.0f} ms",
        ),
        Ratio(f"seconds until the first rows of {PARKED} parked runs on a line of 16 KiB/s", slow, 3.0),
    ]


async def _until_quiet(journal: JournalCare) -> None:
    """Wait until nothing is written. What is written is not listed: a list would take memory, too."""
    seen = -1
    while (position := await journal.position()) != seen:
        seen = position
        await asyncio.sleep(1.0)


async def _live_kib(root: Path) -> float:
    """KiB that each of `LIVE` runs takes that are in memory and wait for a person."""
    swarm = root / "asking.py"
    swarm.write_text(ASKING)
    async with await open_journal(root) as journal:
        decisions = Decisions(journal, root)
        config = ExecutionConfig(workspace=str(root), policy=RetryPolicy(), grace_s=3600.0)
        ids = [await decisions.start(f"{swarm}:agent", "go", by=BY) for _ in range(LIVE + 10)]
        drives: list[asyncio.Task[str]] = []
        before = 0
        for wanted in (10, LIVE + 10):  # the first ones pay for what is loaded once
            before = _rss_kib("self")
            drives.extend(asyncio.create_task(drive(journal, each, "me", config)) for each in ids[len(drives) : wanted])
            await _until_quiet(journal)
        grown = _rss_kib("self") - before
        assert len(await journal.incidents()) == LIVE + 10, "a run does not wait yet"
        assert not any(task.done() for task in drives), "a run has left memory before it was measured"
        for task in drives:
            task.cancel()
        await asyncio.gather(*drives, return_exceptions=True)
    return grown / LIVE


def _live() -> Ratio:
    """In a process of its own, whose memory holds nothing else."""
    code = "import asyncio, tempfile, pathlib; from benchmarks.many_runs import _live_kib\n"
    code += "with tempfile.TemporaryDirectory() as place: print(asyncio.run(_live_kib(pathlib.Path(place))))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return Ratio(f"KiB that are resident for each of {LIVE} live runs", float(done.stdout), 40.0)


def run() -> list[Ratio]:
    """All ratios of this module."""
    found = [asyncio.run(_beginning()), asyncio.run(_started_at_once())]
    if not Path("/proc/self/status").exists():  # the other figures come from there
        return found
    with tempfile.TemporaryDirectory() as directory:
        return [*found, *asyncio.run(_parked(Path(directory))), _live()]
