"""Verbs of the command line, each a process of its own, against a bare one that loads click: CPU of the processes.

`runs` and `incidents` list a workspace with 1,000 runs, 20 of which wait for a person. `answer` answers one of them,
at a runtime that is there, as it is while a console is open; and once more where no runtime is there.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks import Ratio
from runtime.daemon import daemon
from runtime.record.state import events as ev
from tests.runtime.link.link_bench import Bench

RUNS = 1_000
ROUNDS = 7
WAITING = 2 * (ROUNDS + 1)
"""Each answer ends the wait of one."""
BARE = (sys.executable, "-c", "import click")
PROGRAM = (sys.executable, "-c", "from console.cli import main; main()")
LISTS = (("runs",), ("incidents",), ("incidents", "--json"))
GOAL_S = 0.25
"""Of a verb, on a quiet machine on which the bare process takes `BARE_S`."""
BARE_S = 0.09


async def _fill(state: Path) -> None:
    bench = Bench(state)
    for number in range(RUNS):
        driver = await bench.started(f"r{number}", title=f"run {number}")
        if number < WAITING:
            await driver.incident(f"i-{number:04}")
        else:
            await driver.write(ev.RunFinished(state="completed", output="done"))
    await bench.close()


def _cpu_s(command: Sequence[str], workspace: Path) -> float:
    """User and system time of a process from its start to its end, as the kernel gives it: in microseconds.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    began = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    subprocess.run(command, cwd=workspace, capture_output=True, check=True)
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - began


def run() -> Iterator[Ratio]:
    """A ratio for each verb."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        workspace = Path(folder)
        state = workspace / ".orbiter"
        asyncio.run(_fill(state))
        for verb in LISTS:
            yield _measured(" ".join(verb), workspace, lambda verb=verb: verb)  # type: ignore[misc]
        waiting = iter(range(WAITING))

        def answer() -> tuple[str, ...]:
            return "answer", f"i-{next(waiting):04}", "retry"

        yield _measured("answer, where no runtime is there", workspace, answer)
        daemon.ensure_runtime(state, workspace=workspace)
        try:
            yield _measured("answer", workspace, answer)
        finally:
            daemon.stop(state)


def _measured(name: str, workspace: Path, verb: Callable[[], tuple[str, ...]]) -> Ratio:
    _cpu_s((*PROGRAM, *verb()), workspace)  # so that its modules are compiled
    pairs = [(_cpu_s((*PROGRAM, *verb()), workspace), _cpu_s(BARE, workspace)) for _ in range(ROUNDS)]
    value = median(ours / bare for ours, bare in pairs)
    note = f"{median(ours for ours, _ in pairs):.3f} s of CPU against {median(bare for _, bare in pairs):.3f} s"
    return Ratio(f"{name} / a process that loads click", value, GOAL_S / BARE_S, note)
