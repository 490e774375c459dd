"""The process ends, whatever threads and exit handlers of user code still do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

QUICK = "import console.exit_limit as limit; limit.EXIT_S = 0.2; from console.cli import main; main()"
SWARM = '''
import asyncio, atexit, threading
from orbiter import Agent, tool
from orbiter.models import Call, Reply, script

@tool(timeout=0.1)
async def blocks() -> str:
    """Block in a thread for ever."""
    return await asyncio.to_thread(threading.Event().wait)

@tool
def hangs() -> str:
    """Leave an exit handler that does not end."""
    atexit.register(threading.Event().wait)
    return "registered"

def agent(used):
    script(used.name, [Reply("", calls=[Call(used.name, {})]), Reply("done")])
    return Agent(name="clerk", model=f"scripted:{used.name}", tools=[used])

thread, handler = agent(blocks), agent(hangs)
'''


@pytest.mark.parametrize("name", ["thread", "handler"])
def test_the_program_ends_after_its_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "swarm.py").write_text(SWARM)
    done = subprocess.run(
        [sys.executable, "-c", QUICK, "run", f"swarm.py:{name}", "go"],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"done" in done.stdout
