"""A tool that blocks the driving loop is named, in the log and at its node."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from runtime.worker.loop_watchdog import LoopWatchdog
from tests.runtime.bench import ME, Bench

SWARM = """
import threading
from pathlib import Path

from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

@tool(idempotent=True)
async def hog(what: str) -> str:
    "Waits without awaiting."
    while not (Path(__file__).parent / "go").exists():
        threading.Event().wait(0.01)  # in the code of a library: what is named is the line that called it
    return what

script("hogging", [Reply(calls=[Call("hog", {"what": "the loop"})]), "done"])
swarm = Agent(name="hogger", model="scripted:hogging", tools=[hog])
"""


async def test_the_tool_that_blocks_the_loop_is_named(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    (bench.root / "swarm.py").write_text(SWARM)
    caplog.set_level(logging.WARNING, "runtime.watchdog")

    blocked = []

    def release() -> None:
        deadline = time.monotonic() + 20
        while "has blocked every run" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
        blocked.append(watchdog.blocked)
        (bench.root / "go").touch()

    watchdog = LoopWatchdog(every_s=0.05, patience_s=0.2)
    releasing = threading.Thread(target=release)
    releasing.start()
    try:
        async with bench.driving():
            run = await bench.decisions.start(f"{bench.root / 'swarm.py'}:swarm", "go", by=ME)
            state = await bench.ended(run)
    finally:
        watchdog.stop()
        releasing.join()
    (named,) = [record.getMessage() for record in caplog.records if "has blocked" in record.getMessage()]
    assert "'hog' of agent 'hogger'" in named
    assert "swarm.py, line 1" in named
    assert run in named
    assert blocked[0] is not None
    assert blocked[0][0] == run, "status and doctor say it while it lasts"
    assert watchdog.blocked is None
    (node,) = [node for node in state.nodes.values() if node.kind == "tool"]
    assert any("write it as a plain def" in warning for warning in node.warnings)
    assert state.phase == "completed"
