"""Where several machines drive one workspace, a process id tells nothing about who lives."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.record.places import init_database, make_state_directory, open_journal
from runtime.record.state import events as ev
from runtime.worker.driving_thread import DrivingThread
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
