"""A soak: an attached console on a run of 200 events a second, for twenty minutes, and what becomes of the memory.

    python -m benchmarks.soak [--minutes 20] [--rate 200] [--strict]

Nodes open, work, stream and close; after some hundreds the run ends and another begins, which the console follows as
an operator would: it opens the newest run now and then, and goes back. Every ten seconds the resident memory of both
processes is looked at; at the end it says whether it grew (`growth`). Not part of `python -m benchmarks`: it takes its
time.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from runtime.record.state import events as ev
from tests.console.pseudo_terminal import Terminal
from tests.runtime.link.link_bench import Bench, Driver

NODES_A_RUN = 400
EVENTS_A_NODE = 4
BATCHES = 10
LOOK_S = 10.0
WARM_UP = 0.25
"""The part of the time in which caches fill, modules are loaded and the first runs come: not judged."""
MOST_MIB_AN_HOUR = 24.0
"""More than this is a leak: 8 MiB in twenty minutes, half a GiB a day."""
STEP_MIB = 2.0
"""What an allocator takes from the system at once, and keeps: one such step says nothing of a leak (measured: up to
1.8). So a time is long enough if one step in it stays below `MOST_MIB_AN_HOUR`, which fifteen minutes do."""
CONSOLE = """
import sys
from pathlib import Path
from console.open import run_app, make_client
from runtime.link.transports.transport import UnixTransport
run_app(lambda: make_client(UnixTransport(Path(sys.argv[1]))), goes_on=False, mouse=False)
"""
RUNTIME = "from benchmarks.soak import serve; import sys; serve(sys.argv[1], float(sys.argv[2]))"


def serve(state_dir: str, rate: float) -> None:
    """The process of the runtime: runs one run after the other, at `rate` events a second, until its stdin ends."""
    asyncio.run(_serve(Path(state_dir), rate))


async def _serve(state_dir: Path, rate: float) -> None:
    bench = Bench(state_dir)
    await bench.serve()
    print("ready", flush=True)
    over = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    number = 0
    while not over.done():
        number += 1
        await _one_run(await bench.started(f"run-{number}", title=f"soak {number}"), bench, rate, over)
    await bench.close()


async def _one_run(driver: Driver, bench: Bench, rate: float, over: asyncio.Task[str]) -> None:
    loop = asyncio.get_running_loop()
    began, told = loop.time(), 0
    for start in range(0, NODES_A_RUN, BATCHES):
        names = [f"node-{number:04}" for number in range(start, start + BATCHES)]
        await driver.nodes(*names)
        await driver.write(*(_started(name) for name in names))
        for name in names:
            bench.streams.put(driver.run_id, _step(name), 1, "text", "some words of a reply " * 5)
        await driver.write(*(ev.StepEnded(node_id=_step(name), parent_id=name, attempt=1) for name in names))
        await driver.write(*(ev.NodeClosed(node_id=name, state="succeeded", output="done") for name in names))
        told += BATCHES * EVENTS_A_NODE
        await asyncio.sleep(max(0.0, began + told / rate - loop.time()))
        if over.done():
            break
    await driver.write(ev.RunFinished(state="completed", output="done"))


def _started(name: str) -> ev.StepStarted:
    return ev.StepStarted(node_id=_step(name), parent_id=name, kind="llm", name="model", agent=name, attempt=1, epoch=1)


def _step(name: str) -> str:
    return f"{name}/model@1"


def resident(pid: int) -> float:
    """MiB of memory that a process has in use."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Growth(NamedTuple):
    """How fast a process grows, and how exactly that can be told; both in MiB an hour."""

    speed: float
    doubt: float

    @property
    def verdict(self) -> str:
        if self.speed > MOST_MIB_AN_HOUR + self.doubt:
            return "grows"
        return "flat" if max(self.speed, self.doubt) <= MOST_MIB_AN_HOUR else "too short to tell"


def growth(points: Sequence[tuple[float, float]]) -> Growth:
    """Of points of seconds and MiB, evenly spaced: what is behind the warm-up is cut into thirds, and the median of the
    last stands against that of the first. Medians, for a look in the middle of a garbage collection counts for nothing.

    Raises:
        ValueError: fewer than two points are left.
    """
    settled = points[int(len(points) * WARM_UP) :]
    third = max(1, len(settled) // 3)
    early, late = settled[:third], settled[-third:]
    hours = (median(at for at, _ in late) - median(at for at, _ in early)) / 3600
    if hours <= 0:
        raise ValueError(f"{len(points)} looks are too few: give it more --minutes")
    return Growth((median(mib for _, mib in late) - median(mib for _, mib in early)) / hours, STEP_MIB / hours)


def soak(place: Path, minutes: float, rate: float) -> dict[str, Growth]:
    """How fast each process grew."""
    state = str(place / ".orbiter")
    with Terminal("-c", RUNTIME, state, str(rate)) as runtime:
        runtime.until("ready")
        with Terminal("-c", CONSOLE, state, size=(120, 40)) as console:
            console.until("soak 1")
            pids = {"console": console.process.pid, "runtime": runtime.process.pid}
            seen: dict[str, list[tuple[float, float]]] = {name: [] for name in pids}
            began, inside = time.monotonic(), False
            while (now := time.monotonic() - began) < minutes * 60:
                console.quiet(min(LOOK_S, minutes * 60 - now))
                console.output = b""  # what was painted is of no interest, and would be what grows
                for name, pid in pids.items():
                    seen[name].append((time.monotonic() - began, resident(pid)))
                console.press("\x1b" if inside else "\r")
                inside = not inside
                line = ", ".join(f"{name} {points[-1][1]:.1f} MiB" for name, points in seen.items())
                print(f"{now / 60:5.1f} min  {line}", flush=True)
            console.press("\x11")
            code = console.ended()
            if code:
                raise RuntimeError(f"the console ended with {code}")
        runtime.press("\x04")
    return {name: growth(points) for name, points in seen.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=200.0, help="events a second")
    parser.add_argument("--strict", action="store_true", help="exit with 1 unless the memory is flat")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="orb-") as name:
        found = soak(Path(name), given.minutes, given.rate)
    for process, grown in found.items():
        print(f"{process}: {grown.speed:+.1f} MiB an hour, give or take {grown.doubt:.1f}: {grown.verdict}")
    print(f"(behind the first {WARM_UP:.0%} of the time; flat: at most {MOST_MIB_AN_HOUR:g})")
    return int(given.strict and any(grown.verdict != "flat" for grown in found.values()))


if __name__ == "__main__":
    sys.exit(main())
