"""A workspace whose driver was killed, and what may happen to the end of its journal afterwards."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from runtime.execution.execution_config import ExecutionConfig
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from runtime.worker.driving_thread import DrivingThread
from tests.runtime.record.journal_samples import ROOT

SWARM = """
import os, signal
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

HERE = Path(__file__).parent

@tool
async def save(number: int) -> str:
    "An effect on the world, which kills its process where the file `die` says so."
    with (HERE / "effects").open("a") as file:
        file.write(f"{os.environ['RUN_NAME']} {number}\\n")
    if (HERE / "die").exists() and (HERE / "die").read_text() == str(number):
        os.kill(os.getpid(), signal.SIGKILL)
    return "saved"

script("cut/saves", [Reply(calls=[Call("save", {"number": each})]) for each in range(9)] + [Reply("done")])
swarm = Agent(name="writer", model="scripted:cut/saves", tools=[save])
"""
FRAME = 24 + 4096

Cut = Callable[[Path], object]
"""Takes the path of a write-ahead log."""


def half(log: Path) -> None:
    os.truncate(log, log.stat().st_size // 2)


def frames(count: int) -> Cut:
    """Keep so many frames."""
    return lambda log: os.truncate(log, 32 + count * FRAME)


def seeded(seed: int) -> Cut:
    """Any length shorter than it is."""
    return lambda log: os.truncate(log, random.Random(seed).randrange(log.stat().st_size))


def killed(root: Path, *, at: int, older: bool) -> Path:
    """A workspace in which a run was killed in its `at`-th effect; in an `older` one another has finished before."""
    root.mkdir()
    (root / "swarm.py").write_text(SWARM)
    if older:
        assert _run(root, "before") == 0
    (root / "die").write_text(str(at))
    assert _run(root, "killed") == -signal.SIGKILL
    (root / "die").unlink()
    return root


def _run(root: Path, name: str) -> int:
    command = [sys.executable, "-m", "console", "run", "swarm.py:swarm", name]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RUN_NAME": name}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
    return done.returncode


def effects(root: Path) -> list[str]:
    return (root / "effects").read_text().splitlines()


async def resumed(root: Path) -> tuple[list[str], list[str]]:
    """Drive the workspace until every run waits or has ended: what was said to be lost, and the states of the runs."""
    state = root / ".orbiter"
    host = DrivingThread(state, ExecutionConfig(workspace=str(root), grace_s=0.0, drain_s=0.05))
    host.start()
    try:
        async with await open_journal(state) as journal:
            left = {each.id for each in await journal.runs() if await _is_taken_up(journal, each)}
            tail = journal.tail()
            while left:
                events = await anext(tail)
                left -= {each.run_id for each in events if isinstance(each, ev.RunParked | ev.RunFinished)}
            lost = [each.detail for each in await journal.read(ev.WORKSPACE_RUN_ID) if isinstance(each, ev.EventsLost)]
            return lost, [each.state for each in await journal.runs()]
    finally:
        host.stop()


async def _is_taken_up(journal: JournalCare, run: Summary) -> bool:
    """A frozen run is taken up only where a process had begun to drive it."""
    return run.state != "frozen" or any(isinstance(each, ev.RunStarted) for each in await journal.read(run.id))


def copied(root: Path, target: Path, cut: Cut) -> Path:
    """A copy of a killed workspace, with the end of its journal's log cut."""
    shutil.copytree(root, target)
    (target / ".orbiter" / "journal.db-shm").unlink()
    cut(target / ".orbiter" / "journal.db-wal")
    return target
