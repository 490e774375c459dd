"""Key to screen of a console while four workers write 500 events a second into a workspace on Postgres, against one
process that writes as many into a directory.

    python -m benchmarks many_workers

Each worker is a process with a journal and a run of its own; the one of the directory has all four runs. A runtime
serves the workspace in this process, and an attached console shows the first run in a pseudo-terminal of 120 by 40. The
two take turns, each with its console open while the other one's processes rest.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from benchmarks import Ratio
from benchmarks.screens.load import OURS, SETTLE_S, Throttled, node, pressed, tried
from benchmarks.trial_server import trial_server
from runtime.record.places import init_database, make_state_directory, open_journal
from tests.runtime.link.link_bench import Bench

RUNS = 4
NODES = 100
EVENTS = 500
"""A second, over all runs."""
TICKS = 20
"""Batches of events a second, of each run."""
ROUNDS, KEYS = 4, 20
WORK = "work"
"""While this file is in the state directory, its processes write."""


async def write(state_dir: Path, numbers: Sequence[int]) -> None:
    """Drive runs whose steps try again and again."""
    bench = Bench(state_dir)
    drivers = [await bench.started(f"run-{number}") for number in numbers]
    for driver in drivers:
        await driver.write(*(tried(index, 1) for index in range(NODES)))
    print("ready", flush=True)
    chance, loop = random.Random(1), asyncio.get_running_loop()
    tries, next_at = 1, loop.time()
    while True:
        next_at = max(next_at + 1 / TICKS, loop.time() - 1)
        await asyncio.sleep(max(0.0, next_at - loop.time()))
        if not (state_dir / WORK).exists():
            continue
        tries += 1
        for driver in drivers:
            await driver.write(*(tried(chance.randrange(NODES), tries) for _ in range(EVENTS // RUNS // TICKS)))


class Served(threading.Thread):
    """A runtime that serves a workspace whose runs other processes drive; they rest but in `working`."""

    def __init__(self, place: Path, workers: int, address: str = "") -> None:
        super().__init__(daemon=True)
        self.state_dir = place / ".orbiter"
        self._address = address
        self._ready = threading.Event()
        self._over = threading.Event()
        self._failed = False
        self.start()
        self._ready.wait()
        if self._failed:
            raise RuntimeError("the runtime did not start; what happened is printed above")
        shares = [[*range(RUNS)][first::workers] for first in range(workers)]
        module = [sys.executable, "-m", "benchmarks.screens.many_workers", str(self.state_dir)]
        self._workers = [
            subprocess.Popen([*module, *map(str, share)], stdout=subprocess.PIPE, text=True) for share in shares
        ]
        for worker in self._workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException:
            self._failed = True
            raise
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        if self._address:
            await init_database(self._address)
            make_state_directory(self._address, self.state_dir)
        bench = Bench(self.state_dir)
        await bench.serve()
        self._ready.set()
        await asyncio.to_thread(self._over.wait)
        await bench.close()

    @contextmanager
    def working(self) -> Iterator[None]:
        (self.state_dir / WORK).touch()
        try:
            yield
        finally:
            (self.state_dir / WORK).unlink()

    def close(self) -> None:
        for worker in self._workers:
            worker.kill()
            worker.communicate()
        self._over.set()
        self.join()

    async def count(self) -> int:
        """How many events its runs have."""
        async with await open_journal(self.state_dir) as journal:
            return sum([len(await journal.read(f"run-{number}")) for number in range(RUNS)])


def run() -> list[Ratio]:
    with tempfile.TemporaryDirectory(prefix="orb-") as name:
        root = Path(name)
        places: list[Served] = []
        with trial_server(root / "data") as base:
            try:
                places += [Served(root / "one", 1), Served(root / "four", RUNS, f"{base}many")]
                return compared(*places)
            finally:
                for place in places:
                    place.close()


def compared(one: Served, four: Served) -> list[Ratio]:
    """The median over the rounds of the middle and of the slowest keys of each."""
    taken: dict[Served, list[list[float]]] = {one: [], four: []}
    rates: dict[Served, list[float]] = {one: [], four: []}
    for _, place in product(range(ROUNDS), (one, four)):
        before, began = asyncio.run(place.count()), time.monotonic()
        with place.working():
            taken[place].append(keys(place))
        rates[place].append((asyncio.run(place.count()) - before) / (time.monotonic() - began))
    written = " and ".join(f"{statistics.median(rates[place]):.0f}" for place in (four, one))
    found = []
    for name, percent in (("p50", 50), ("p95", 95)):
        ms = {
            place: statistics.median(statistics.quantiles(each, n=100)[percent - 1] for each in taken[place])
            for place in taken
        }
        note = f"{ms[four]:.0f} / {ms[one]:.0f} ms; {ROUNDS} rounds of {KEYS} keys, {written} events/s"
        found.append(Ratio(f"key to screen {name}, 4 workers on Postgres / one machine", ms[four] / ms[one], 1.5, note))
    return found


def keys(place: Served) -> list[float]:
    """Milliseconds from each key to its screen, in a console of its own."""
    with Throttled("-c", OURS, str(place.state_dir)) as screen:
        screen.until(node(20), seconds=60)
        screen.quiet(SETTLE_S)
        return [pressed(screen, number) for number in range(KEYS)]


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), [int(each) for each in sys.argv[2:]]))
