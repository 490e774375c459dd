"""The runtime as a whole with a real swarm: in the background as a process of its own, and embedded."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.config.loader import InvalidConfiguration
from runtime.daemon import daemon, sockets
from runtime.daemon.errors import DaemonError
from runtime.daemon.log_file import log_path
from runtime.link.client.client import CommandRefused, LinkClient, LinkLost
from runtime.link.transports.transport import UnixTransport
from runtime.record import workspace_lock
from runtime.record.state.durable_run import DurableRun
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.gc_policy import GC_THRESHOLDS
from runtime.service.program_version import program_version
from runtime.service.serve import (
    build_execution_config,
    serve,
)
from tests.present import present
from tests.runtime.link.linked import linked

SWARM = '''
import time
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.provider import Call, Reply, script

@tool
def look(place: str) -> str:
    """Look.

    Args:
        place: Where.
    """
    print("a tool printed this")
    while not (Path(__file__).parent / "go").exists():
        time.sleep(0.01)
    return f"nothing at {place}"

script("looker", [Reply(calls=[Call("look", {"place": "home"})]), Reply("seen")])
looker = Agent(name="looker", model="scripted:looker", tools=[look])
'''


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "swarm.py").write_text(SWARM)
    return tmp_path


@pytest.fixture
def state_dir(workspace: Path) -> Iterator[Path]:
    state = workspace / ".orbiter"
    try:
        yield state
    finally:
        (workspace / "go").touch()
        daemon.stop(state)


class Consoles:
    def __init__(self) -> None:
        self.open: list[LinkClient] = []

    async def __call__(self, state: Path, **settings: Any) -> LinkClient:
        async def revive() -> None:
            await asyncio.to_thread(daemon.ensure_runtime, state)

        console = LinkClient(UnixTransport(state, reviver=revive), **settings)
        self.open.append(console)
        console.start()
        await console.wait_until(lambda: console.ready)
        return console


@pytest.fixture
async def consoles() -> AsyncIterator[Consoles]:
    made = Consoles()
    yield made
    for console in made.open:
        await console.close()


def _finished(console: LinkClient, run_id: str) -> DurableRun | None:
    state = console.run(run_id)
    return state if state is not None and state.terminal else None


async def test_a_run_outlives_the_console_that_started_it(workspace: Path, state_dir: Path, consoles: Consoles) -> None:
    started = await asyncio.to_thread(daemon.ensure_runtime, state_dir)
    assert started.started
    assert started.program == program_version()
    again = await asyncio.to_thread(daemon.ensure_runtime, state_dir)
    assert (again.pid, again.started) == (started.pid, False)
    assert os.getsid(started.pid) != os.getsid(0)
    first = await consoles(state_dir)
    run_id = (await first.command("start", ref="swarm.py:looker", input="look"))["id"]
    first.watch(run_id)
    await first.wait_until(
        lambda: (state := first.run(run_id)) is not None and any(n.kind == "tool" for n in state.nodes.values())
    )
    await first.close()
    os.kill(started.pid, signal.SIGHUP)
    second = await consoles(state_dir)
    assert second.summaries[run_id].state == "running"
    (workspace / "go").touch()
    second.watch(run_id)
    await second.wait_until(lambda: _finished(second, run_id) is not None)
    state = present(second.run(run_id))
    assert (state.phase, state.output) == ("completed", "seen")
    assert "a tool printed this" in log_path(state_dir).read_text()


async def test_the_runtime_is_killed_and_revived_and_the_run_goes_on(
    workspace: Path, state_dir: Path, consoles: Consoles
) -> None:
    started = await asyncio.to_thread(daemon.ensure_runtime, state_dir)
    console = await consoles(state_dir)
    run_id = (await console.command("start", ref="swarm.py:looker", input="look"))["id"]
    console.watch(run_id)
    await console.wait_until(
        lambda: (state := console.run(run_id)) is not None and any(n.kind == "tool" for n in state.nodes.values())
    )
    os.kill(started.pid, signal.SIGKILL)
    await console.wait_until(lambda: console.status.phase == "lost")
    with pytest.raises(LinkLost):
        await console.command("status")
    (workspace / "go").touch()
    await console.revive()
    await console.wait_until(lambda: console.status.phase == "connected")
    revived = await console.command("status")
    assert revived["pid"] != started.pid
    # the tool had begun and is not idempotent: whether it had its effect is for a person to say
    await console.wait_until(lambda: bool(console.incidents))
    incident = next(iter(console.incidents.values())).opened
    assert incident.in_doubt
    await console.command("answer", incident_id=incident.incident_id, option="retry", revision=incident.revision)
    await console.wait_until(lambda: _finished(console, run_id) is not None)
    state = present(console.run(run_id))
    assert (state.phase, state.output) == ("completed", "seen")
    assert not console.incidents


async def test_stop_ends_it_and_the_run_is_found_as_it_was(
    workspace: Path, state_dir: Path, consoles: Consoles
) -> None:
    assert await asyncio.to_thread(daemon.status, state_dir) is None
    assert await asyncio.to_thread(daemon.stop, state_dir) is False
    started = await asyncio.to_thread(daemon.ensure_runtime, state_dir)
    told = present(await asyncio.to_thread(daemon.status, state_dir))
    assert (told.pid, told.state_dir, told.driving) == (started.pid, str(state_dir), True)
    assert await asyncio.to_thread(daemon.stop, state_dir) is True
    assert await asyncio.to_thread(daemon.running_runtime, state_dir) is None
    assert workspace_lock.holder(state_dir) is None
    assert not list((state_dir / "run").glob("*.sock"))
    assert "stopping" in log_path(state_dir).read_text()


def test_once_stop_returns_nothing_of_the_runtime_is_open_and_its_state_may_be_taken_away(state_dir: Path) -> None:
    daemon.ensure_runtime(state_dir)
    assert daemon.stop(state_dir)
    assert sorted(path.name for path in state_dir.iterdir()) == ["journal.db", "runtime.lock", "runtime.log"]


def test_two_at_once_start_one(state_dir: Path) -> None:
    found: list[daemon.RunningRuntime] = []
    threads = [threading.Thread(target=lambda: found.append(daemon.ensure_runtime(state_dir))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({running.pid for running in found}) == 1
    assert [running.started for running in found].count(True) == 1


def test_it_says_why_it_does_not_come_up(tmp_path: Path) -> None:
    state = tmp_path / ".orbiter"
    with (
        workspace_lock.acquire(state, program="somebody else"),
        pytest.raises(DaemonError, match="somebody else"),
    ):
        daemon.ensure_runtime(state)
    with pytest.raises(DaemonError, match=r"command line: unknown key 'runtime\.nonsense'"):
        daemon.ensure_runtime(state, settings={"nonsense": 1})
    (tmp_path / "keys.env").write_text("rubbish\n")
    with pytest.raises(DaemonError, match=r"keys\.env, line 1"):
        daemon.ensure_runtime(state, env_file=tmp_path / "keys.env")


def test_an_interpreter_without_our_package_is_told_the_one_command_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    monkeypatch.setenv("VIRTUAL_ENV", str(bare))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with pytest.raises(DaemonError, match=r"bare/bin/python -m pip install orbiter-console"):
        daemon.ensure_runtime(tmp_path / ".orbiter")
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    _script(tmp_path / "bin" / "python", "#!/bin/sh\nexit 3\n")
    with pytest.raises(DaemonError, match="runtime ended before it was ready"):
        daemon.ensure_runtime(tmp_path / ".orbiter")


def _script(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(0o755)


def test_the_runtime_has_the_keys_of_its_env_file(
    state_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "keys.env").write_text("OPENAI_API_KEY=not-a-key\n")
    daemon.ensure_runtime(state_dir, env_file=tmp_path / "keys.env")
    told = present(daemon.status(state_dir))
    assert "OPENAI_API_KEY" in told.keys


async def test_embedded_is_the_same_over_a_pair(workspace: Path) -> None:
    (workspace / "go").touch()
    state_dir = workspace / ".orbiter"
    with EmbeddedRuntime(state_dir, build_execution_config(workspace, {})) as runtime:
        async with linked(runtime.transport()) as console:
            run_id = (await console.command("start", ref="swarm.py:looker", input="look"))["id"]
            console.watch(run_id)
            await console.wait_until(lambda: _finished(console, run_id) is not None)
            state = present(console.run(run_id))
            assert (state.phase, state.output) == ("completed", "seen")
            with pytest.raises(workspace_lock.Locked):
                EmbeddedRuntime(state_dir, build_execution_config(workspace, {})).start()
            with pytest.raises(CommandRefused):
                await console.command("abort", run_id=run_id)
            await console.command("stop")
            await console.wait_until(lambda: console.status.phase == "lost")
            assert "open the console again" in console.status.reason
    assert workspace_lock.holder(state_dir) is None
    with pytest.raises(sockets.RuntimeNotRunning):
        sockets.dial(state_dir)


async def test_a_process_that_serves_is_swept_rarely_and_only_while_it_serves(workspace: Path) -> None:
    before, found = gc.get_threshold(), []

    def ready() -> None:
        found.append((gc.get_threshold(), gc.get_freeze_count() > 0))
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGTERM)

    assert await serve(workspace / ".orbiter", build_execution_config(workspace, {}), ready, outlive=True) is False
    assert found == [(GC_THRESHOLDS, True)]
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
    with EmbeddedRuntime(workspace / ".orbiter", build_execution_config(workspace, {})):
        assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0), "the process is not ours alone"


def test_settings_that_cannot_be_are_named(tmp_path: Path) -> None:
    made = build_execution_config(tmp_path, {"grace_s": 1, "fallbacks": ["scripted:x"]})
    assert (made.grace_s, made.fallbacks) == (1, ("scripted:x",))
    refused: list[dict[str, Any]] = [{"grace_s": -1}, {"what": 1}, {"handoff_rounds": "x"}]
    for bad in refused:
        with pytest.raises(InvalidConfiguration, match="command line"):
            build_execution_config(tmp_path, bad)
