"""A program that is replaced under a runtime that works: it lets go of its runs and goes on as the new one."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.daemon import daemon, sockets
from runtime.daemon.log_file import log_path
from runtime.link.client.client import LinkClient
from runtime.link.transports.transport import UnixTransport
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config
from tests.runtime.link.linked import linked

ROOT = Path(__file__).parents[3]
PACKAGES = ("console", "orbiter", "runtime", "screens", "themes")
SWARM = '''
import time
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.provider import Call, Reply, script

@tool
def send(place: str) -> str:
    """Send. Not to be repeated."""
    with (Path(__file__).parent / "sent").open("a") as sent:
        sent.write(place + "\\n")
    while not (Path(__file__).parent / "go").exists():
        time.sleep(0.01)
    return "sent"

script("sender", [Reply(calls=[Call("send", {"place": "home"})]), Reply("all sent")])
sender = Agent(name="sender", model="scripted:sender", tools=[send])
'''


class Site:
    """A directory in which our packages are installed, as pip would have it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        for name in PACKAGES:
            (root / name).symlink_to(ROOT / name)
        self._record("1.0.0")

    def _record(self, version: str) -> None:
        info = self.root / f"orbiter_console-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: orbiter-console\nVersion: {version}\n")
        (info / "RECORD").write_text(f"runtime/service/program_version.py,sha256={version},1\n")

    def upgrade(self, version: str, change: Callable[[str], str]) -> None:
        """Take the old version away and put a new one in its place, with a changed module. It is made elsewhere: the
        old one's process imports meanwhile, and would write bytecode into what is being copied.
        """
        new = self.root.with_name("new")
        shutil.copytree(ROOT / "runtime", new)
        module = new / "service" / "program_version.py"
        module.write_text(change(module.read_text()))
        for old in self.root.glob("*.dist-info"):
            shutil.rmtree(old)
        runtime = self.root / "runtime"
        if runtime.is_symlink():
            runtime.unlink()
        else:
            shutil.rmtree(runtime)
        new.rename(runtime)
        self._record(version)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    found = Site(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", os.fspath(found.root))
    return found


@asynccontextmanager
async def attached(state: Path) -> AsyncIterator[LinkClient]:
    async with linked(UnixTransport(state), ready=True) as console:
        yield console


async def _logged(state: Path, words: str) -> None:
    async with asyncio.timeout(60):
        while words not in log_path(state).read_text():  # noqa: ASYNC110 - told by a file
            await asyncio.sleep(0.05)


def _named(console: LinkClient) -> str:
    return console.hello.program if console.hello is not None else ""


@pytest.mark.timeout(120)
async def test_it_drains_and_goes_on_as_the_new_program_with_its_consoles(tmp_path: Path, site: Site) -> None:
    (tmp_path / "swarm.py").write_text(SWARM)
    state = tmp_path / ".orbiter"
    started = await asyncio.to_thread(daemon.ensure_runtime, state, python=sys.executable)
    try:
        assert started.program == "orbiter-console 1.0.0"
        async with attached(state) as console:
            run = (await console.command("start", ref="swarm.py:sender", input="letters"))["id"]
            async with asyncio.timeout(60):
                while not (tmp_path / "sent").exists():  # noqa: ASYNC110 - told by a file
                    await asyncio.sleep(0.01)

            site.upgrade("1.1.0", lambda text: text + "\nthis is not Python\n")
            await _logged(state, "cannot be loaded")
            assert _named(console) == "orbiter-console 1.0.0"

            site.upgrade("1.2.0", lambda text: text.replace('f"{PROGRAM_NAME} ', 'f"new {PROGRAM_NAME} '))
            await _logged(state, "letting go")
            (tmp_path / "go").touch()  # the call that was under way comes to its end before the program changes
            async with asyncio.timeout(60):
                await console.wait_until(lambda: _named(console).startswith("new ") and console.ready)
            assert _named(console) == "new orbiter-console 1.2.0"
            status = await console.command("status")
            assert status["pid"] == started.pid, "a supervisor of this process still watches it"
            async with asyncio.timeout(60):
                await console.wait_until(lambda: console.summaries[run].state == "completed")
        assert (tmp_path / "sent").read_text() == "home\n"
        async with await open_journal(state, readonly=True) as journal:
            events = await journal.read(run)
        assert [event.program for event in events if isinstance(event, ev.RunStarted)] == [
            "orbiter-console 1.0.0",
            "new orbiter-console 1.2.0",
        ]
        assert not any(isinstance(event, ev.IncidentOpened) for event in events)
        assert os.getsid(started.pid) != os.getsid(0)
        os.kill(started.pid, signal.SIGHUP)
    finally:
        (tmp_path / "go").touch()
        assert await asyncio.to_thread(daemon.stop, state), "an older program's stop is understood"


@pytest.mark.timeout(60)
async def test_in_the_foreground_it_goes_on_in_the_same_process(tmp_path: Path, site: Site) -> None:
    state = tmp_path / ".orbiter"
    command = [sys.executable, "-P", "-m", "console", "--state", os.fspath(state), "serve", "--foreground"]
    pipe = asyncio.subprocess.PIPE
    serving = await asyncio.create_subprocess_exec(*command, cwd=tmp_path, stderr=pipe)
    assert serving.stderr is not None
    try:
        async with asyncio.timeout(50):
            assert b"driving the runs" in await serving.stderr.readline()
            site.upgrade("2.0.0", lambda text: text)
            while b"going on as that one" not in await serving.stderr.readline():
                pass
            while b"driving the runs" not in await serving.stderr.readline():
                pass
            found = await asyncio.to_thread(daemon.running_runtime, state)
            assert found is not None
            assert (found.pid, found.program) == (serving.pid, "orbiter-console 2.0.0")
            serving.terminate()
            assert await serving.wait() == 0
    finally:
        if serving.returncode is None:
            serving.kill()
        await serving.communicate()


async def test_the_first_versions_status_and_stop_are_understood(tmp_path: Path) -> None:
    """Word for word as version 1 says them: this test is not to be changed, however the link is."""
    with EmbeddedRuntime(tmp_path / ".orbiter", build_execution_config(tmp_path, {})):
        reader, writer = await asyncio.open_unix_connection(sock=sockets.dial(tmp_path / ".orbiter"))
        async with asyncio.timeout(60):
            hello = json.loads(await reader.readline())
            assert (hello["t"], hello["pid"]) == ("hello", os.getpid())
            assert isinstance(hello["program"], str)
            for verb in ("status", "stop"):
                asked: dict[str, object] = {
                    "t": "command",
                    "id": f"{verb}-1",
                    "verb": verb,
                    "args": {},
                    "channel": "cli",
                }
                writer.write(json.dumps(asked).encode() + b"\n")
                reply: dict[str, Any] = {}
                while reply.get("t") != "reply":
                    reply = json.loads(await reader.readline())
                assert (reply["id"], reply["ok"]) == (f"{verb}-1", True)
                if verb == "status":
                    assert reply["result"]["pid"] == os.getpid()
            assert await reader.read() is not None  # it hangs up by itself: that is how an older program sees the end
        writer.close()
        await writer.wait_closed()
