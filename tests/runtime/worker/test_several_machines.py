"""Where several machines drive one workspace, a process id tells nothing about who lives."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable
from pathlib import Path

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.operations.decisions import Decisions
from runtime.record.journal import Journal
from runtime.record.places import init_database, make_state_directory, open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.worker.driving_thread import DrivingThread
from tests.patience import PATIENCE_S
from tests.runtime.record.journal_samples import started, texts, warned


@pytest.mark.parametrize("local", [True, False], ids=["directory", "postgres"])
async def test_a_driver_with_our_host_name_and_the_number_of_a_dead_process(
    tmp_path: Path, request: pytest.FixtureRequest, local: bool
) -> None:
    """In a container on another machine it is alive. Where only this machine drives, it is dead."""
    state = tmp_path / "state"
    if not local:
        url = request.getfixturevalue("postgres_url")
        await init_database(url)
        make_state_directory(url, state)
    ended = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await ended.wait()
    owner = f"{socket.gethostname()}:{ended.pid}:abcdef#1"
    driving = DrivingThread(state, ExecutionConfig(workspace=str(tmp_path), drain_s=0.05, grace_s=0.0))
    async with await open_journal(state) as journal:
        lease = await started(journal, owner=owner, ttl_s=600)
        await asyncio.to_thread(driving.start)
        try:
            if local:
                async for events in journal.tail("r1", lease.seq + 1):
                    assert events
                    break  # it is driven here, by another owner
            else:
                await journal.append(lease, [warned("alive elsewhere")])
        finally:
            await asyncio.to_thread(driving.stop)
        lives = [event for event in await journal.read("r1") if isinstance(event, ev.RunStarted)]
        assert (lives[-1].owner == owner) == (not local)
        assert len(lives) == (2 if local else 1)
        assert texts(await journal.read("r1")) == ([] if local else ["alive elsewhere"])


_TWIN = ("unshare", "--uts", "--pid", "--fork", "--kill-child")
"""Begins a process whose host name is its own, and whose number is 1."""
_WORKER = """
import asyncio, socket, sys
from runtime.execution.execution_config import ExecutionConfig
from runtime.record.places import open_journal
from runtime.worker.supervisor import Supervisor

async def main():
    socket.sethostname("twin")
    async with await open_journal(sys.argv[1]) as journal:
        supervisor = Supervisor(journal, ExecutionConfig(workspace=sys.argv[2], grace_s=0.0), lease_s=5.0)
        print(supervisor.owner, flush=True)
        await supervisor.serve()

asyncio.run(main())
"""
_SWARM = """
import asyncio
from pathlib import Path

from orbiter import Agent, Swarm, tool
from orbiter.models.scripted.provider import Call, Reply, script

HERE = Path(__file__).parent

def write(word):
    with (HERE / "effects").open("a") as effects:
        effects.write(word)

@tool
def note() -> str:
    "Do what must not be done twice."
    write("n")
    return "noted"

@tool(idempotent=True)
async def hold() -> str:
    "Take until the file is there."
    write("h")
    while not (HERE / "go").exists():
        await asyncio.sleep(0.02)
    return "held"

@script("twins")
def twins(messages, tools):
    turn = sum(message.role == "assistant" for message in messages)
    return Reply(calls=[Call(("note", "hold")[turn], {})]) if turn < 2 else Reply("done")

swarm = Swarm(agents=[Agent(name="one", model="scripted:twins", tools=[note, hold])])
"""


def _can_make_namespaces() -> bool:
    if os.geteuid() or shutil.which("unshare") is None:
        return False
    return subprocess.run([*_TWIN, "true"], check=False, capture_output=True).returncode == 0


async def _last_owner(journal: Journal, run: str, owners: Iterable[str]) -> str:
    """Which of the workers began the run's last life."""
    lives = [each.owner for each in await journal.read(run) if isinstance(each, ev.RunStarted)]
    return next(owner for owner in owners if lives[-1].startswith(owner))


async def test_of_two_workers_with_one_host_name_and_number_the_other_takes_over_and_doubles_nothing(
    tmp_path: Path, postgres_url: str
) -> None:
    """As in two containers: each sees itself as process 1 of the same machine."""
    if not _can_make_namespaces():
        pytest.skip("makes namespaces for host names and processes, for which it must be root and may")
    (tmp_path / "twins.py").write_text(_SWARM)
    await init_database(postgres_url)
    command = (*_TWIN, sys.executable, "-c", _WORKER, postgres_url, str(tmp_path))
    begun: dict[str, Process] = {}
    me = ev.Actor(name="tester", channel="cli")
    try:
        async with asyncio.timeout(PATIENCE_S), await open_journal(postgres_url) as journal:
            for _ in range(2):
                process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
                assert process.stdout is not None
                begun[(await process.stdout.readline()).decode().strip()] = process
            assert {owner.rpartition(":")[0] for owner in begun} == {"twin:1"}
            run = await Decisions(journal, tmp_path).start(f"{tmp_path / 'twins.py'}:swarm", "go", by=me)
            while not (effects := tmp_path / "effects").exists() or "h" not in effects.read_text():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            dying = await _last_owner(journal, run, begun)
            begun[dying].send_signal(signal.SIGKILL)
            await begun[dying].wait()
            (tmp_path / "go").touch()
            state = fold_events([])
            async for batch in journal.tail(run):
                for event in batch:
                    state.apply(event)
                if state.terminal:
                    break
            assert (state.phase, state.output, state.anomalies) == ("completed", "done", 0)
            assert await _last_owner(journal, run, begun) != dying
            assert effects.read_text().count("n") == 1
    finally:
        for process in begun.values():
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
                await process.wait()
