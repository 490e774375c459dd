"""The console in a pseudo-terminal against a bare Textual app with a tree and a table, in turn, the best of each.

First paint is the first frame with our words in it; the inbox is what stands there once the runtime has told its
picture, with 1,000 runs in the journal. The runtime runs already, as it does where a console is opened a second time;
then the first frame is that of the inbox.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from benchmarks import Ratio
from runtime.daemon import daemon
from runtime.record.state import events as ev
from tests.runtime.link.link_bench import Bench

ROUNDS = 7
RUNS = 1000
IDLE_S = 5.0
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

    def bytes_in(self, seconds: float) -> int:
        """What it writes in that time."""
        before, deadline = len(self._seen), time.perf_counter() + seconds
        while (left := deadline - time.perf_counter()) > 0:
            self._read(left)
        return len(self._seen) - before

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._leader)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._leader], [], [], seconds)
        if ready:
            self._seen += os.read(self._leader, 65536)
        return bool(ready)


async def _filled(state_dir: Path) -> None:
    """A journal of finished runs."""
    bench = Bench(state_dir)
    for number in range(RUNS):
        driver = await bench.started(f"run-{number:04}", title=f"finished {number:04}")
        await driver.write(ev.RunFinished(state="completed", output="done"))
    await bench.close()


def run() -> list[Ratio]:
    """First paint, first inbox, and bytes per second while nothing happens."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        directory = Path(name)
        asyncio.run(_filled(directory / ".orbiter"))
        daemon.ensure_runtime(directory / ".orbiter", workspace=directory)
        try:
            return _measured(directory)
        finally:
            daemon.stop(directory / ".orbiter")


def _measured(directory: Path) -> list[Ratio]:
    bare, paint, inbox = [], [], []
    for _ in range(ROUNDS):
        program = Watched(BARE, directory)
        bare.append(program.until("first"))
        program.close()
        program = Watched(OURS, directory)
        paint.append(program.until("orbiter"))
        inbox.append(program.until(f"finished {RUNS - 1:04}"))
        program.bytes_in(1.0)
        idle = program.bytes_in(IDLE_S) / IDLE_S
        program.close()
    base = min(bare)
    return [
        Ratio("first paint / bare Textual app", min(paint) / base, 1.3, f"bare: {base * 1000:.0f} ms"),
        Ratio(
            "inbox of an attached console, 1,000 runs / bare Textual app",
            min(inbox) / base,
            1.3,
            "the console's own modules",
        ),
        Ratio("bytes per second when idle", idle, 0.0, f"over {IDLE_S:.0f} s"),
    ]
