"""A runtime whose program is replaced imports no module of ours any more, nor reads its rules, until it goes on as the
new one.

Of other packages it may: `httpx` imports `anyio` when its client is closed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SWARM = '''
import time
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models import Call, Reply, script

@tool
def send(place: str) -> str:
    """Send. Not to be repeated."""
    (Path(__file__).parent / "sent").touch()
    while not (Path(__file__).parent / "go").exists():
        time.sleep(0.01)
    raise OSError(110, "connection timed out")

script("sender", [Reply(calls=[Call("send", {"place": "home"})]), Reply("all sent")])
sender = Agent(name="sender", model="scripted:sender", tools=[send])
'''
RUNTIME = """
import asyncio, functools, logging, os, sys
from pathlib import Path
from runtime.operations.run_creation import create_run
from runtime.record.places import open_journal
from runtime.record.state.events import Actor, RunCreated
from runtime.service import serve

root = Path.cwd()
state = root / ".orbiter"
imported = []

class Recorder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("orbiter", "runtime"):
            imported.append(name)
        return None

def opened(event, args):
    if event == "open" and str(args[0]).endswith(".toml"):
        imported.append(str(args[0]))

async def created():
    state.mkdir(mode=0o700)
    async with await open_journal(state) as journal:
        me = Actor(name="me")
        await create_run(journal, RunCreated(ref=f"{root / 'swarm.py'}:sender", input="x", title="x", by=me))

class Notice(logging.Handler):
    def emit(self, record):
        if "another program is installed" in record.msg:
            sys.meta_path.insert(0, Recorder())
            sys.addaudithook(opened)
            (root / "go").touch()

async def loads():
    return True

def replaced(python, command, environ):
    (root / "imported").write_text(" ".join([*command[1:4], *imported]))
    os._exit(0)

asyncio.run(created())
logging.getLogger("runtime.service.serve").addHandler(Notice())
serve.program_changed = functools.partial(serve.program_changed, every_s=0.2)
serve.installed_fingerprint = lambda: "new" if (root / "sent").exists() else "old"
serve._new_program_loads = loads
os.execve = replaced
serve.main(["--state", str(state), "--workspace", str(root)])
"""


@pytest.mark.timeout(60)
def test_nothing_of_ours_is_imported_between_the_notice_and_the_exec(tmp_path: Path) -> None:
    """A call that was under way fails meanwhile: the fault is judged, and recorded, by what is there."""
    (tmp_path / "swarm.py").write_text(SWARM)
    done = subprocess.run(
        [sys.executable, "-P", "-c", RUNTIME], cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "imported").read_text().split() == ["-P", "-m", "runtime.service.serve"]
