"""A state directory that is taken away, or replaced, under a runtime that works in it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime.link.client.client import CommandRefused, LinkClient, LinkLost
from runtime.record import workspace_lock
from runtime.record.journal import Displaced
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config
from runtime.worker import driving_thread
from runtime.worker.rescue import NOTE_NAME, rescue_directories
from tests.runtime.link.linked import linked
from tests.runtime.record.journal_samples import ROOT

SWARM = """
import time
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.provider import Call, Reply, script

@tool
def save() -> str:
    "An effect on the world that takes its time."
    with (Path(__file__).parent / "effects").open("a") as file:
        file.write("saved\\n")
    while not (Path(__file__).parent / "go").exists():
        time.sleep(0.01)
    return "saved"

script("saver", [Reply(calls=[Call("save")]), Reply(calls=[Call("save")]), Reply("done")])
saver = Agent(name="saver", model="scripted:saver", tools=[save])
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    (root / "swarm.py").write_text(SWARM)
    return root


@asynccontextmanager
async def _console(runtime: EmbeddedRuntime) -> AsyncIterator[LinkClient]:
    async with linked(runtime.transport(), ready=True) as console:
        yield console


async def _saving(console: LinkClient) -> str:
    """Start a run, and return while its effect is under way."""
    run_id: str = (await console.command("start", ref="swarm.py:saver", input="go"))["id"]
    console.watch(run_id)

    def under_way() -> bool:
        state = console.run(run_id)
        return state is not None and any(node.kind == "tool" for node in state.in_flight)

    await console.wait_until(under_way)
    return run_id


async def _other(root: Path) -> Path:
    """The journal of another workspace."""
    async with await open_journal(root) as journal:
        await journal.create(ev.RunCreated(run_id="other", ref="x:y"), Summary(id="other", ref="x:y"))
    return root / "journal.db"


def _replaced(state: Path, other: Path) -> None:
    state.rename(state.with_name("aside"))
    state.mkdir(mode=0o700)
    shutil.copy(other, state / "journal.db")


DAMAGE: dict[str, Callable[[Path, Path], object]] = {
    "removed": lambda state, _: shutil.rmtree(state),
    "moved": lambda state, _: state.rename(state.with_name("aside")),
    "replaced": _replaced,
    "the workspace removed": lambda state, _: shutil.rmtree(state.parent),
    "the journal alone removed": lambda state, _: (state / "journal.db").unlink(),
    "the journal of another workspace": lambda state, other: other.replace(state / "journal.db"),
    "the log alone removed": lambda state, _: (state / "journal.db-wal").unlink(),
}


@pytest.mark.parametrize("how", DAMAGE)
async def test_nothing_new_begins_and_what_was_recorded_is_kept(
    tmp_path: Path, workspace: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    state, other = workspace / ".orbiter", await _other(tmp_path / "other")
    runtime = EmbeddedRuntime(state, build_execution_config(workspace, {}))
    runtime.start()
    try:
        async with _console(runtime) as console:
            run_id = await _saving(console)
            DAMAGE[how](state, other)
            with pytest.raises(CommandRefused, match=r"not carried out: .*journal\.db.* while it was in use"):
                await console.command("start", ref="swarm.py:saver", input="another")
            workspace.mkdir(exist_ok=True)
            (workspace / "go").touch()
            await console.wait_until(lambda: console.status.phase == "lost")
            with pytest.raises(LinkLost):
                await console.command("status")
    finally:
        (workspace / "go").touch()
        with pytest.raises(Displaced, match="Everything that it had recorded is kept in ") as caught:
            await asyncio.to_thread(runtime.close)
    (kept,) = rescue_directories(state)
    assert f"orbiter-console --state {kept} runs" in str(caught.value)
    assert str(kept) in (kept / NOTE_NAME).read_text()
    assert kept.stat().st_mode & 0o777 == 0o700
    async with await open_journal(kept, readonly=True) as journal:
        assert await journal.check() == []
        assert [each.id for each in await journal.runs()] == [run_id], "what was refused is not there"
        events = await journal.read(run_id)
    ended = [each for each in events if isinstance(each, ev.StepEnded) and "/save~" in each.node_id]
    assert [each.result for each in ended] != [], "what was under way came to its end and is recorded"
    begun = [each for each in events if isinstance(each, ev.StepStarted) and "/save~" in each.node_id]
    assert len(begun) == 1, "the next step did not begin"
    async with await open_journal(kept) as journal:
        assert await journal.look_for_loss() == ""


async def test_what_is_at_the_path_by_now_is_left_alone(workspace: Path) -> None:
    """Closing SQLite's last connection removes the log by its name: here it is the log of another."""
    state = workspace / ".orbiter"
    runtime = EmbeddedRuntime(state, build_execution_config(workspace, {}))
    runtime.start()
    state.rename(state.with_name("aside"))
    async with await open_journal(state) as other:
        await other.create(ev.RunCreated(run_id="other", ref="x:y"), Summary(id="other", ref="x:y"))
        with pytest.raises(Displaced):
            await asyncio.to_thread(runtime.close)
        assert other.displaced() == ""
        async with await open_journal(state, readonly=True) as reading:
            assert [each.id for each in await reading.runs()] == ["other"]


async def test_a_lock_that_was_removed_is_taken_again(workspace: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = workspace / ".orbiter"
    with EmbeddedRuntime(state, build_execution_config(workspace, {})) as runtime:
        (state / workspace_lock.LOCK_NAME).unlink()
        while (holder := workspace_lock.holder(state)) is None:  # noqa: ASYNC110 - a file wakes no waiter
            await asyncio.sleep(0.01)
        assert holder.pid == os.getpid()
        with pytest.raises(workspace_lock.Locked):
            EmbeddedRuntime(state, build_execution_config(workspace, {})).start()
        async with _console(runtime) as console:
            assert (await console.command("status"))["driving"]
    assert "the lock" in caplog.text
    assert rescue_directories(state) == []


@pytest.mark.parametrize("moved", [False, True], ids=["lock removed", "directory moved"])
async def test_where_another_has_taken_the_path_it_ends_at_once(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch, *, moved: bool
) -> None:
    state = workspace / ".orbiter"
    runtime = EmbeddedRuntime(state, build_execution_config(workspace, {}))
    runtime.start()
    try:
        async with _console(runtime) as console:
            await _saving(console)
            if moved:
                state.rename(state.with_name("aside"))
            else:
                (state / workspace_lock.LOCK_NAME).unlink()
            monkeypatch.setenv("HOME", str(tmp_path / "home"))  # as another user, who shares no lock on the path
            with workspace_lock.acquire(state, program="another"):
                # The effect that is under way does not end before `go` is there: it is not waited for.
                await console.wait_until(lambda: console.status.phase == "lost")
    finally:
        (workspace / "go").touch()
        with pytest.raises(Displaced, match=r"another \(pid .*works there now"):
            await asyncio.to_thread(runtime.close)
    assert len(rescue_directories(state)) == moved


@pytest.mark.parametrize("how", ["removed", "moved", "replaced", "the workspace removed"])
def test_a_second_runtime_is_refused_before_the_first_has_noticed(
    tmp_path: Path, workspace: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving_thread, "FILE_CHECK_S", 3600.0)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    state, other = workspace / ".orbiter", asyncio.run(_other(tmp_path / "other"))
    first = EmbeddedRuntime(state, build_execution_config(workspace, {}))
    first.start()
    try:
        DAMAGE[how](state, other)
        workspace.mkdir(exist_ok=True)
        with pytest.raises(workspace_lock.Locked, match=rf"in use by .*pid {os.getpid()} "):
            EmbeddedRuntime(state, build_execution_config(workspace, {})).start()
        with workspace_lock.acquire(workspace / "beside"):
            pass  # the lock is on the path of the state directory, not on the workspace
    finally:
        with pytest.raises(Displaced):
            first.close()
    with EmbeddedRuntime(state, build_execution_config(workspace, {})):
        pass
    assert list(workspace_lock.path_lock(state).parent.iterdir()) == []


async def test_while_it_lets_go_no_other_works_at_the_path(workspace: Path) -> None:
    state = workspace / ".orbiter"
    runtime = EmbeddedRuntime(state, build_execution_config(workspace, {}))
    runtime.start()
    try:
        async with _console(runtime) as console:
            await _saving(console)
            shutil.rmtree(state)
            while (holder := workspace_lock.holder(state)) is None:  # noqa: ASYNC110 - a file wakes no waiter
                await asyncio.sleep(0.01)
            assert holder.pid == os.getpid()
            with pytest.raises(workspace_lock.Locked):
                EmbeddedRuntime(state, build_execution_config(workspace, {})).start()
    finally:
        (workspace / "go").touch()
        with pytest.raises(Displaced):
            await asyncio.to_thread(runtime.close)


@pytest.mark.parametrize("verb", [["run", "swarm.py:saver", "go"], ["serve", "--foreground"]], ids=lambda verb: verb[0])
def test_in_the_foreground_it_says_so_and_ends(workspace: Path, verb: list[str]) -> None:
    state = workspace / ".orbiter"
    os.mkfifo(workspace / "effects")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "console", *verb]
    with subprocess.Popen(command, cwd=workspace, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        if verb[0] == "run":
            with (workspace / "effects").open() as effects:
                assert effects.readline() == "saved\n"
        else:
            assert "driving the runs of" in process.stderr.readline()
        shutil.rmtree(state)
        (workspace / "go").touch()
        _, said = process.communicate()
    assert process.returncode == 1
    (kept,) = rescue_directories(state)
    assert f"Everything that it had recorded is kept in {kept}" in " ".join(said.split())
    assert "Traceback" not in said


@pytest.mark.skipif(os.getuid() != 0, reason="mounts need root")
def test_a_mount_that_is_gone_is_noticed(workspace: Path) -> None:
    state = workspace / ".orbiter"
    state.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", state], capture_output=True, check=False
    ).returncode:
        pytest.skip("no mounts here")
    runtime = EmbeddedRuntime(state, build_execution_config(workspace, {}))
    try:
        runtime.start()
        subprocess.run(["umount", "--lazy", state], check=True)
        with pytest.raises(Displaced):
            runtime.close()
    finally:
        subprocess.run(["umount", "--lazy", state], capture_output=True, check=False)
    assert len(rescue_directories(state)) == 1
