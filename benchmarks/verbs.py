"""Verbs of the command line, each a process of its own, against a bare one that loads click: CPU of the processes.

`runs` and `incidents` list a workspace with 1,000 runs, `answer` is refused by an incident that does not exist.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks import Ratio
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.summary import Summary

RUNS = 1_000
ROUNDS = 7
BARE = (sys.executable, "-c", "import click")
VERBS = (("runs",), ("incidents",), ("answer", "i-none", "retry"))
GOAL_S = 0.25
"""Of a verb, on a quiet machine on which the bare process takes `BARE_S`."""
BARE_S = 0.09


async def _fill(state: Path) -> None:
    async with await open_journal(state) as journal:
        await asyncio.gather(
            *(
                journal.create(ev.RunCreated(run_id=f"r{number}", ref="a.py:b"), Summary(id=f"r{number}", ref="a.py:b"))
                for number in range(RUNS)
            )
        )


def _cpu_s(command: Sequence[str], workspace: Path) -> float:
    """User and system time of a process from its start to its end."""
    began = sum(os.times()[2:4])
    subprocess.run(command, cwd=workspace, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return sum(os.times()[2:4]) - began


def run() -> Iterator[Ratio]:
    """A ratio for each verb."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        asyncio.run(_fill(workspace / ".orbiter"))
        program = (sys.executable, "-c", "from console.cli import main; main()")
        for verb in VERBS:
            pairs = [(_cpu_s((*program, *verb), workspace), _cpu_s(BARE, workspace)) for _ in range(ROUNDS)]
            value = median(ours / bare for ours, bare in pairs)
            note = f"{min(ours for ours, _ in pairs):.2f} s of CPU against {min(bare for _, bare in pairs):.2f} s"
            yield Ratio(f"{verb[0]} / a process that loads click", value, GOAL_S / BARE_S, note)
