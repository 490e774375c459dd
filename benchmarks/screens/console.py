"""The console in a pseudo-terminal against a bare Textual app with a tree and a table, in turn: CPU of each process.

First paint is the first frame with our words in it; the inbox is what stands there once the runtime has told its
picture, with 1,000 runs in the journal. The runtime runs already, as it does where a console is opened a second time;
then the first frame is that of the inbox. The same with open decisions in it. The notes have the seconds, best of each.
"""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import Ratio
from benchmarks.idle import cpu_s
from runtime.daemon import daemon
from runtime.record.state import events as ev
from tests.runtime.link.link_bench import Bench

ROUNDS = 7
RUNS = 1000
WAITING = 20
"""Open decisions."""
IDLE_S = 5.0
FIRST_S = 1.0
"""After the inbox stands: what is written until then is what opening costs on a slow line."""
PATIENCE_S = 30.0
SIZE = (120, 40)

BARE = """
from textual.app import App
from textual.widgets import DataTable, Tree

class Bare(App):
    def compose(self):
        yield Tree("first")
        yield DataTable()

    def on_mount(self):
        tree, table = self.query_one(Tree), self.query_one(DataTable)
        for number in range(20):
            tree.root.add_leaf(f"leaf {number}")
        tree.root.expand()
        table.add_columns("one", "two")
        for number in range(20):
            table.add_row(str(number), "x")

Bare().run()
"""
OURS = """
from pathlib import Path
from console.open import open_console
from console.workspace import Workspace
open_console(Workspace(Path.cwd(), Path.cwd() / ".orbiter"))
"""


class Watched:
    """A program in a pseudo-terminal, and when it wrote what."""

    def __init__(self, code: str, directory: Path) -> None:
        self._leader, follower = pty.openpty()
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
        root = str(Path(__file__).parents[2])
        self._began = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            cwd=directory,
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": root},
            start_new_session=True,
        )
        os.close(follower)
        self._seen = b""

    def until(self, words: str) -> float:
        """Seconds from its start until `words` stood there.

        Raises:
            TimeoutError: they never came.
        """
        while words.encode() not in self._seen:
            if not self._read(PATIENCE_S):
                raise TimeoutError(f"{words!r} did not come; the end of what did: {self._seen[-500:]!r}")
        return time.perf_counter() - self._began

    def cpu_s(self) -> float:
        """CPU that its threads have had until now, in seconds."""
        return cpu_s(self._process.pid)

    @property
    def written(self) -> int:
        """Bytes that it has written until now."""
        return len(self._seen)

    def bytes_in(self, seconds: float) -> int:
        """What it writes in that time."""
        before, deadline = self.written, time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            self._read(left)
        return self.written - before

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._leader)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._leader], [], [], seconds)
        if ready:
            self._seen += os.read(self._leader, 65536)
        return bool(ready)


async def _filled(state_dir: Path, *, waiting: int = 0) -> None:
    """A journal of finished runs; so many of them, the newest, wait for a person instead."""
    bench = Bench(state_dir)
    for number in range(RUNS):
        driver = await bench.started(f"run-{number:04}", title=f"finished {number:04}")
        if number >= RUNS - waiting:
            await driver.incident(f"i-{number:04}", message=f"finished {number:04}")
        else:
            await driver.write(ev.RunFinished(state="completed", output="done"))
    await bench.close()


def run() -> Iterator[Ratio]:
    """First paint, first inbox, the same with open decisions, and bytes per second while nothing happens."""
    for waiting in (0, WAITING):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            directory = Path(name)
            asyncio.run(_filled(directory / ".orbiter", waiting=waiting))
            daemon.ensure_runtime(directory / ".orbiter", workspace=directory)
            try:
                yield from _measured(directory, waiting)
            finally:
                daemon.stop(directory / ".orbiter")


@dataclass(slots=True, frozen=True)
class _Shown:
    """What a program has taken until words of its stood there, in seconds."""

    cpu: float
    wall: float


def _until(program: Watched, words: str) -> _Shown:
    wall = program.until(words)
    return _Shown(program.cpu_s(), wall)


def _measured(directory: Path, waiting: int) -> Iterator[Ratio]:
    bare, paint, inbox, opening, idle = [], [], [], [], math.inf
    for _ in range(ROUNDS):
        program = Watched(BARE, directory)
        bare.append(_until(program, "first"))
        if not waiting:
            program.bytes_in(FIRST_S)
        bare_bytes = program.written
        program.close()
        program = Watched(OURS, directory)
        paint.append(_until(program, "orbiter"))
        inbox.append(_until(program, f"finished {RUNS - 1:04}"))
        if not waiting:
            program.bytes_in(FIRST_S)
            opening.append((program.written, bare_bytes))
            idle = min(idle, program.bytes_in(IDLE_S) / IDLE_S)
        program.close()
    goal, what = (1.3, f"{waiting} open decisions") if waiting else (1.2, "nothing open")
    for name, found in (("first paint", paint), (f"inbox of {RUNS:,} runs", inbox)):
        value = median(ours.cpu / base.cpu for ours, base in zip(found, bare, strict=True))
        best = min(each.wall for each in found), min(each.wall for each in bare)
        note = f"{best[0]:.2f} s against {best[1]:.2f} s"
        yield Ratio(f"{name}, {what} / bare Textual app, CPU", value, goal, note)
    if not waiting:
        value = median(ours / base for ours, base in opening)
        note = f"{median(ours for ours, _ in opening) / 1000:.1f} kB, the first second included"
        yield Ratio("bytes of opening / bare Textual app", value, None, note)
        yield Ratio("bytes per second when idle", idle, 0.0, f"over {IDLE_S:.0f} s")
