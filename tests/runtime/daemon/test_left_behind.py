"""A tool that blocks the driving loop for good keeps no runtime from stopping; a second stop waits for the first."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from runtime.daemon import daemon
from runtime.daemon.errors import DaemonError
from runtime.record import workspace_lock

SWARM = """
import time
from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script
from pathlib import Path

@tool
async def hog() -> str:
    "Never awaits."
    (Path(__file__).parent / "begun").touch()
    time.sleep(100000)
    return "never"

script("left/hog", [Reply(calls=[Call("hog")]), "done"])
swarm = Agent(name="hogger", model="scripted:left/hog", tools=[hog])
"""

RUNTIME = """
import asyncio, dataclasses, os, sys
from pathlib import Path
from runtime.service import serve
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.operations import run_creation
from runtime.worker import driving_thread

driving_thread.STOP_TIMEOUT_S = 0.3
root = Path(sys.argv[1])

async def begun():
    async with await open_journal(root) as journal:
        me = ev.Actor(name="tester", channel="cli")
        await run_creation.create_run(journal, ev.RunCreated(ref=f"{root / 'swarm.py'}:swarm", input="go", by=me))

asyncio.run(begun())
given = dataclasses.replace(serve.build_execution_config(root, {}), drain_s=0.1)
asyncio.run(serve.serve(root, given, lambda: print("ready", flush=True), outlive=True))
sys.exit("it came to its end by itself")
"""


def test_a_runtime_with_a_blocked_loop_is_stopped_and_its_run_goes_on_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "swarm.py").write_text(SWARM)
    command = [sys.executable, "-P", "-c", RUNTIME, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        until = time.monotonic() + 20
        while not (tmp_path / "begun").exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert daemon.stop(tmp_path, timeout=20)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert workspace_lock.holder(tmp_path) is None, "the workspace is free for the next runtime"


def test_a_stop_while_another_lets_go_waits_for_that(tmp_path: Path) -> None:
    held = workspace_lock.acquire(tmp_path, program="orbiter-console 1.0")
    releasing = threading.Timer(0.2, held.release)
    releasing.start()
    try:
        assert daemon.stop(tmp_path, timeout=20)
    finally:
        releasing.join()
    assert daemon.stop(tmp_path, timeout=20) is False


@pytest.mark.parametrize(
    ("program", "advice"), [("orbiter-console 1.0", "kill -9 {}"), (workspace_lock.RUN_PROGRAM, "ctrl+c")]
)
def test_a_holder_that_listens_to_nobody_is_named(tmp_path: Path, program: str, advice: str) -> None:
    with workspace_lock.acquire(tmp_path, program=program), pytest.raises(DaemonError) as raised:
        daemon.stop(tmp_path, timeout=0.1)
    assert advice.format(os.getpid()) in str(raised.value)


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "runtime.log").mkdir()
    with pytest.raises(DaemonError, match=r"cannot write the log .*runtime\.log: Is a directory; .*--state"):
        daemon.ensure_runtime(tmp_path)
