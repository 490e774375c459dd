"""`freeze --wait`, and how far a freeze is: in processes of their own."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.console.program import Program
from tests.patience import PATIENCE_S

SWARM = '''
import asyncio
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.provider import Call, Reply, script

@tool
async def linger() -> str:
    """Takes its time."""
    Path("lingers").touch()
    while not Path("go").exists():
        await asyncio.sleep(0.02)
    return "done"

script("lingering", [Reply(calls=[Call("linger", {})]), Reply("over")])
swarm = Agent(name="patient", model="scripted:lingering", tools=[linger])
'''


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def test_a_freeze_shows_what_is_under_way_and_may_be_waited_for(program: Program) -> None:
    (program.directory / "slow.py").write_text(SWARM)
    with program.start("run", "slow.py:swarm", "go") as running:
        _until((program.directory / "lingers").exists)  # the tool: what is under way before it is a turn of the model
        _until(lambda: any(run["in_flight"] for run in program.json("runs")))
        (run,) = [run["id"] for run in program.json("runs")]
        with program.start("freeze", run, "--wait", "--reason", "lunch") as freezing:
            _until(lambda: program.json("runs")[0]["state"] == "frozen")
            assert "freezing" in program("runs").stdout
            assert "freezing, 1 step under way (patient: linger)" in program("show", run).stdout
            assert freezing.poll() is None
            (program.directory / "go").touch()
            _, said = freezing.communicate(timeout=PATIENCE_S)
        assert freezing.returncode == 0
        assert f"run {run}: frozen" in said
        assert program.json("runs")[0]["in_flight"] == 0
        assert program("thaw", run).returncode == 0
        _, told = running.communicate(timeout=PATIENCE_S)
    if running.returncode == 3:  # it had looked long enough at a run that stands still, and left before the thaw
        assert "thaw" in told
        assert program("run", "slow.py:swarm", "go", "--resume").returncode == 0
    else:
        assert running.returncode == 0
    assert program.json("runs")[0]["state"] == "completed"
    assert told is not None
