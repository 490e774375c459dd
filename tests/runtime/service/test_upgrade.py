"""A package that is upgraded under a runtime of an earlier program: its runs go on, nothing is lost or done twice.

The earlier programs are taken from the history of the repository.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from runtime.daemon import daemon
from runtime.daemon.errors import DaemonError
from runtime.daemon.log_file import log_path
from runtime.link.client.client import LinkClient
from runtime.link.transports.transport import UnixTransport
from runtime.link.wire import protocol as p
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from tests.workspaces import kept
from tests.workspaces.kept import OVER, Operator, Verbs
from tests.workspaces.scenarios import KILLED

ROOT = Path(__file__).parents[3]
PACKAGES = ("console", "orbiter", "runtime", "screens", "themes")
SENDER = '''
import time
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models import Call, Reply, script

HERE = Path(__file__).parent

@tool
def send(place: str) -> str:
    """Send. Not to be repeated."""
    with (HERE / "sent").open("a") as sent:
        sent.write(place + "\\n")
    while not (HERE / "go").exists():
        time.sleep(0.01)
    return "sent"

script("sender", [Reply(calls=[Call("send", {"place": "home"})]), Reply("all sent")])
sender = Agent(name="sender", model="scripted:sender", tools=[send])
'''
LATER = """
from orbiter import Agent, Swarm
from orbiter.models import Reply, script

script("later", [Reply("done")])
team = Swarm(agents=[Agent(name="later", model="scripted:later")], flow="later")
"""


class Site:
    """A directory in which an earlier program is installed, as pip would have it."""

    def __init__(self, root: Path, commit: str) -> None:
        self.root = root
        git = ["git", "-C", str(ROOT), "archive", commit, *PACKAGES]
        found = subprocess.run(git, capture_output=True, check=False)
        if found.returncode:
            pytest.skip(f"this checkout has no history: {found.stderr.decode(errors='replace').strip()}")
        with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
            archive.extractall(root, filter="data")
        self._record("0.1.0")

    def _record(self, version: str) -> None:
        info = self.root / f"orbiter_console-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: orbiter-console\nVersion: {version}\n")
        (info / "RECORD").write_text(f"runtime/__init__.py,sha256={version},1\n")

    def upgrade(self) -> None:
        """Take the earlier program away and put the one of today in its place."""
        shutil.rmtree(self.root / "orbiter_console-0.1.0.dist-info")
        for name in PACKAGES:
            shutil.rmtree(self.root / name)
            (self.root / name).symlink_to(ROOT / name)
        self._record("0.2.0")

    @asynccontextmanager
    async def runtime(self, workspace: Path) -> AsyncIterator[subprocess.Popen[bytes]]:
        """A background runtime of what is installed here, in the way in which its own console starts it."""
        state = workspace / ".orbiter"
        state.mkdir(mode=0o700, exist_ok=True)
        ready, its_end = os.pipe()
        words = ["--state", str(state), "--workspace", str(workspace), "--settings", '{"grace_s": 0}']
        process = subprocess.Popen(  # noqa: ASYNC220 - it is waited for by its words
            [sys.executable, "-P", "-m", "runtime.link.serve", *words, "--ready-fd", str(its_end)],
            cwd=workspace,
            env={**os.environ, "PYTHONPATH": str(self.root)},
            pass_fds=(its_end,),
            stdin=subprocess.DEVNULL,
        )
        try:
            os.close(its_end)
            assert b'"orbiter-console 0.1.0"' in await asyncio.to_thread(os.read, ready, 1000)
            os.close(ready)
            yield process
        finally:
            (workspace / "go").touch()
            process.kill()
            process.wait()


@asynccontextmanager
async def attached(workspace: Path, protocol: int = p.PROTOCOL_VERSION) -> AsyncIterator[LinkClient]:
    """A console of today, or one that speaks an earlier protocol."""
    console = LinkClient(UnixTransport(workspace / ".orbiter"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(p, "PROTOCOL_VERSION", protocol)
        console.start()
        try:
            await _until(console, lambda: console.ready)
            yield console
        finally:
            await console.close()


async def _upgraded(workspace: Path) -> None:
    """The runtime says that it is the program of today."""
    async with asyncio.timeout(60):
        while True:
            with suppress(OSError):
                found = await asyncio.to_thread(daemon.status, workspace / ".orbiter")
                if found is not None and "0.2.0" in found.program:
                    return
            await asyncio.sleep(0.05)


async def _until(console: LinkClient, fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        await console.wait_until(fact)


async def _exists(path: Path, words: str = "") -> None:
    async with asyncio.timeout(60):
        while not path.exists() or words not in path.read_text():  # noqa: ASYNC110 - told by a file
            await asyncio.sleep(0.02)


async def _programs(workspace: Path, run: str) -> list[str]:
    async with await open_journal(workspace / ".orbiter", readonly=True) as journal:
        return [event.program for event in await journal.read(run) if isinstance(event, ev.RunStarted)]


@pytest.mark.timeout(240)
async def test_the_runs_of_a_kept_workspace_go_on_when_the_drain_comes_to_its_end(tmp_path: Path) -> None:
    site = Site(tmp_path / "site", "92d48fd")
    root = tmp_path / "workspace"
    root.mkdir()
    kept.opened("killed", root)
    kept.mend(root)
    (root / "sender.py").write_text(SENDER)
    (root / "later.py").write_text(LATER)
    ends = json.loads(gzip.decompress((kept.DATA / "killed" / "outcome.json.gz").read_bytes()))
    record = json.loads(gzip.decompress((kept.DATA / "killed" / "record.json.gz").read_bytes()))
    async with AsyncExitStack() as stack:
        process = await stack.enter_async_context(site.runtime(root))
        async with attached(root, protocol=1) as before:
            run = (await before.command("start", ref="sender.py:sender", input="letters"))["run_id"]
            await _exists(root / "sent")
            resting = OVER | {"waiting", "frozen"}
            await _until(before, lambda: all(s.state in resting for i, s in before.summaries.items() if i != run))
            site.upgrade()
            # The earlier program imports what this one needs, and finds modules of today.
            later = (await before.command("start", ref="later.py:team", input="later"))["run_id"]
            await _exists(log_path(root / ".orbiter"), "letting go")
        (root / "go").touch()
        await _upgraded(root)
        console = await stack.enter_async_context(attached(root))
        assert console.hello is not None
        assert "0.2.0" in console.hello.program
        assert console.hello.pid == process.pid, "it went on in the same process"
        answers = {each.input: each.after for each in KILLED} | {"later": (("", "retry"),)}
        with Verbs(root) as verbs:
            verbs("thaw", "--all", codes=(0, 2))
            await asyncio.to_thread(Operator(verbs, answers).drive)
            reported = await asyncio.to_thread(kept.report, verbs)
            effects = verbs.effects()
        assert await asyncio.to_thread(daemon.stop, root / ".orbiter")
    reported["runs"] = [each for each in reported["runs"] if each["id"] not in (run, later)]
    reached = kept.outcome(reported, (each["id"] for each in record["runs"]))
    assert kept.differences(*map(kept.without_wording, (ends["runs"], reached))) == []
    assert Counter(effects) == Counter(ends["effects"])
    assert console.summaries[run].state == console.summaries[later].state == "completed"
    assert (root / "sent").read_text() == "home\n", "done once"
    assert await _programs(root, run) == ["orbiter-console 0.1.0", "orbiter-console 0.2.0"]


@pytest.mark.timeout(120)
async def test_a_run_goes_on_when_the_drain_is_cut_off(tmp_path: Path) -> None:
    """The earlier runtime dies while it waits for the end of a call: the runtime of today asks what became of it."""
    site = Site(tmp_path / "site", "653c6f9")
    (tmp_path / "sender.py").write_text(SENDER)
    state = tmp_path / ".orbiter"
    async with site.runtime(tmp_path) as process:
        async with attached(tmp_path, protocol=1) as console:
            run = (await console.command("start", ref="sender.py:sender", input="letters"))["run_id"]
            await _exists(tmp_path / "sent")
            site.upgrade()
            await _exists(log_path(state), "letting go")
        process.send_signal(signal.SIGKILL)
        process.wait()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(site.root))
            started = await asyncio.to_thread(daemon.ensure_runtime, state, settings={"grace_s": 0})
        try:
            assert started.program == "orbiter-console 0.2.0"
            async with attached(tmp_path) as console:
                await _until(console, lambda: len(console.incidents) == 1)
                (asked,) = console.incidents.values()
                assert asked.opened.in_doubt
                await console.command(
                    "answer", incident_id=asked.opened.incident_id, option="result", params={"value": "sent"}
                )
                await _until(console, lambda: console.summaries[run].state == "completed")
        finally:
            with suppress(DaemonError):
                await asyncio.to_thread(daemon.stop, state)
    assert (tmp_path / "sent").read_text() == "home\n", "done once"
    assert set(await _programs(tmp_path, run)) == {"orbiter-console 0.1.0", "orbiter-console 0.2.0"}
