"""An attached console on a run of 10,000 nodes and 1,000 updates a second, against a bare tree on Textual's line API
with the same updates made in its own process: keys, CPU, bytes; and on a terminal that takes 16 KiB a second.

    python -m benchmarks load

    python -m benchmarks.screens.load 50000     # the same with as many nodes

Both are real processes in pseudo-terminals of 120 by 40. Where "in sight", all updates are of the first 30 nodes, else
of any of the 10,000. A key is `j` or `k`, pressed every 0.15 s; its screen is there when the line that the cursor went
to, or the one that it left, was painted again. CPU is that of the process with the screen.

The p95 is that of the keys of all rounds: of 60 keys it was the third longest, which a busy machine decides. Bare and
ours take turns. The runtime is a process of its own: as a thread of this one it kept the clock waiting, for up to 5 ms.
"""

from __future__ import annotations

import asyncio
import os
import random
import select
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path

from benchmarks import Ratio
from benchmarks.idle import cpu_s
from runtime.record.state import events as ev
from tests.console.pseudo_terminal import Terminal
from tests.runtime.link.link_bench import Bench

NODES = 10_000
UPDATES = 1_000
TICKS = 20
"""Batches of updates a second, in both."""
IN_SIGHT = 30
KEYS = 100
ROUNDS = 2
SETTLE_S = 3.0
SLOW_LINE = 16 * 1024
SLICE = 512

BARE = """
import random, sys
from textual.app import App
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from rich.segment import Segment
from rich.style import Style

NODES, UPDATES, TICKS, NEAR = map(int, sys.argv[1:])

class Bare(ScrollView, can_focus=True):
    def on_mount(self):
        self.virtual_size = Size(100, NODES)
        self.tries, self.cursor, self.dirty, self.chance = [1] * NODES, 0, set(), random.Random(1)
        self.set_interval(1 / TICKS, self.work)
        self.set_interval(0.1, self.paint)

    def work(self):
        for _ in range(UPDATES // TICKS):
            index = self.chance.randrange(NEAR)
            self.tries[index] += 1
            self.dirty.add(index)

    def paint(self):
        for index in self.dirty:
            if self.scroll_offset.y <= index < self.scroll_offset.y + self.size.height:
                self.refresh(Region(0, index - self.scroll_offset.y, self.size.width, 1))
        self.dirty.clear()

    def render_line(self, y):
        index = y + self.scroll_offset.y
        style = Style(reverse=index == self.cursor)
        text = f"{node(index)} running {self.tries[index]}".ljust(self.size.width)
        return Strip([Segment(text, style)], self.size.width)

    def on_key(self, event):
        before, step = self.cursor, {"j": 1, "k": -1}.get(event.key, 0)
        self.cursor = min(NODES - 1, max(0, self.cursor + step))
        for index in (before, self.cursor):
            self.refresh(Region(0, index - self.scroll_offset.y, self.size.width, 1))

def node(index):
    return f"node-{index:05}"

class Lone(App):
    def compose(self):
        yield Bare()

Lone().run(mouse=False)
"""
OURS = """
import sys
from pathlib import Path
from console.open import run_app, make_client
from runtime.link.transports.transport import UnixTransport
run_app(lambda: make_client(UnixTransport(Path(sys.argv[1]))), run_id="run-1", mouse=False)
"""


def node(index: int) -> str:
    return f"node-{index:05}"


def tried(index: int, attempt: int) -> ev.StepStarted:
    """A step that begins, or begins again: its count of tries is on its line."""
    return ev.StepStarted(node_id=node(index), kind="llm", name=node(index), agent="worker", attempt=attempt, epoch=1)


class Work(SpawnProcess):
    """A runtime that serves one big run, in which nodes try again and again. `near`: how many nodes are updated."""

    def __init__(self, place: Path, nodes: int, near: int) -> None:
        super().__init__(daemon=True)
        self.nodes, self.near = nodes, near
        self.state_dir = place / ".orbiter"
        self.ready = SpawnContext().Event()
        self._over = SpawnContext().Event()

    def run(self) -> None:
        asyncio.run(self._work())

    async def _work(self) -> None:
        bench = Bench(self.state_dir)
        driver = await bench.started(title="a big run")
        for start in range(0, self.nodes, 500):
            await driver.write(*(tried(index, 1) for index in range(start, start + 500)))
        await bench.serve()
        self.ready.set()
        chance, loop = random.Random(1), asyncio.get_running_loop()
        began, batch = loop.time(), 0
        tries = [1] * self.nodes
        while not self._over.is_set():
            events: list[ev.JournalEvent] = []
            for _ in range(UPDATES // TICKS):
                index = chance.randrange(self.near)
                tries[index] += 1
                events.append(tried(index, tries[index]))
            await driver.write(*events)
            batch += 1
            await asyncio.sleep(max(0.0, began + batch / TICKS - loop.time()))
        await bench.close()

    def close(self) -> None:
        self._over.set()
        self.join()


class Throttled(Terminal):
    """A terminal at the end of a line that carries `rate` bytes a second; 0: as many as come."""

    def __init__(self, *arguments: str, rate: int = 0) -> None:
        self._rate = rate
        self._free_at = 0.0
        super().__init__(*arguments, size=(120, 40))

    def _read(self, seconds: float) -> bool:
        if not self._rate:
            return super()._read(seconds)
        deadline = time.monotonic() + max(0.0, seconds)
        if self._free_at > deadline:
            time.sleep(max(0.0, deadline - time.monotonic()))
            return False
        time.sleep(max(0.0, self._free_at - time.monotonic()))
        if not select.select([self.leader], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return False
        data = os.read(self.leader, SLICE)
        self.output += data
        self._free_at = time.monotonic() + len(data) / self._rate
        return bool(data)


@dataclass(slots=True, frozen=True)
class Measured:
    """Milliseconds from key to screen, of each key; percent of one core; KiB a second."""

    took: list[float]
    cpu: float
    kib: float

    @property
    def p50(self) -> float:
        return statistics.median(self.took)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.took, n=20)[-1]


def together(rounds: Sequence[Measured]) -> Measured:
    """All keys of several rounds; the mean of the rest."""
    took = [each for found in rounds for each in found.took]
    return Measured(
        took, statistics.mean(found.cpu for found in rounds), statistics.mean(found.kib for found in rounds)
    )


def measure(*arguments: str, rate: int = 0) -> Measured:
    """A program that shows the nodes, under its load."""
    with Throttled(*arguments, rate=rate) as screen:
        screen.until(node(20), seconds=60)
        screen.quiet(SETTLE_S)
        before, began, bytes_before = cpu_s(screen.process.pid), time.monotonic(), len(screen.output)
        took = [pressed(screen, number) for number in range(KEYS)]
        spent = time.monotonic() - began
        cpu = (cpu_s(screen.process.pid) - before) / spent * 100
        kib = (len(screen.output) - bytes_before) / 1024 / spent
    return Measured(took, cpu, kib)


def pressed(screen: Terminal, number: int) -> float:
    """Milliseconds until the cursor's next line is there: down twenty lines, up twenty, and again."""
    step = number % 40
    key, index = ("j", step + 1) if step < 20 else ("k", 39 - step)
    screen.quiet(0.15)
    began = time.monotonic()
    screen.press(key)
    screen.until(node(index), seconds=60)
    return (time.monotonic() - began) * 1000


def run(nodes: int = NODES) -> Iterator[Ratio]:
    """Keys, CPU and bytes, out of sight and in sight, and keys on a slow line."""
    yield from _compared("out of sight", nodes, nodes)
    yield from _compared("in sight", nodes, IN_SIGHT)
    with working(nodes, IN_SIGHT) as work:
        found = measure("-c", OURS, str(work.state_dir), rate=SLOW_LINE)
    note = f"p50 {found.p50:.0f} ms, {found.kib:.1f} KiB/s; changes in sight"
    yield Ratio("key to screen p95 on a line of 16 KiB/s / half a second", found.p95 / 500, 1.0, note)


def _compared(where: str, nodes: int, near: int) -> Iterator[Ratio]:
    """Each round has a new run, and ours is first: a line counts up to 999 tries, which in sight are 30 seconds."""
    of_ours, of_bare = [], []
    for _ in range(ROUNDS):
        with working(nodes, near) as work:
            of_ours.append(measure("-c", OURS, str(work.state_dir)))
            of_bare.append(measure("-c", BARE, *map(str, (nodes, UPDATES, TICKS, near))))
    ours, bare = together(of_ours), together(of_bare)
    note = f"{ours.p95:.1f} / {bare.p95:.1f} ms; p50 {ours.p50:.1f} / {bare.p50:.1f}"
    yield Ratio(f"key to screen p95, changes {where} / bare tree", ours.p95 / bare.p95, 1.3, note)
    note = f"{ours.cpu:.1f} / {bare.cpu:.1f} %"
    yield Ratio(f"CPU, changes {where} / bare tree", ours.cpu / bare.cpu, 2.0, note)
    note = f"{ours.kib:.1f} / {bare.kib:.1f} KiB/s"
    yield Ratio(f"bytes, changes {where} / bare tree", ours.kib / bare.kib, None, note)


@contextmanager
def working(nodes: int, near: int) -> Iterator[Work]:
    """A runtime at work, in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="orb-") as name:
        work = Work(Path(name), nodes, near)
        work.start()
        work.ready.wait()
        try:
            yield work
        finally:
            work.close()


if __name__ == "__main__":
    for ratio in run(*map(int, sys.argv[1:])):
        print(ratio, flush=True)
    sys.exit(0)
