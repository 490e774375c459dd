"""A journal that has lost its end lets nothing go on by itself: what only the lost part told of would be done again."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.operations.run_controls import RunControls
from runtime.operations.run_creation import create_run
from runtime.record.journal import JournalError
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.sqlite import wal_loss
from runtime.record.state import events as ev
from runtime.worker.driving_thread import DrivingThread

ME = ev.Actor(name="tester", channel="cli")
SWARM = """
import asyncio
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

@tool(idempotent=True)
async def ready() -> str:
    "May be done again."
    while not (Path(__file__).parent / "go").exists():
        await asyncio.sleep(0.01)
    return "ready"

@tool
async def save() -> str:
    "An effect on the world."
    with (Path(__file__).parent / "effects").open("a") as file:
        file.write("saved\\n")
    return "saved"

@tool
async def linger() -> str:
    "Does not end by itself."
    await asyncio.Event().wait()

script("lost/end", [Reply(calls=[Call(name)]) for name in ("ready", "save", "linger")])
swarm = Agent(name="writer", model="scripted:lost/end", tools=[ready, save, linger])
"""


@pytest.fixture
def swarm(tmp_path: Path) -> Path:
    (tmp_path / "swarm.py").write_text(SWARM)
    return tmp_path / "swarm.py"


def _saved(swarm: Path) -> int:
    effects = swarm.with_name("effects")
    return effects.read_text().count("\n") if effects.exists() else 0


async def _until(journal: JournalCare, run_ids: set[str], wanted: Callable[[ev.JournalEvent], bool]) -> None:
    async for events in journal.tail():
        run_ids -= {each.run_id for each in events if wanted(each)}
        if not run_ids:
            return


@pytest.fixture
async def dead(swarm: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of two runs that have saved, copied under their driver's hands; and of the journal's log nothing is
    left from the moment on at which both were about to.
    """
    monkeypatch.setattr("runtime.worker.driving_thread.has_died", lambda _owner: True)
    live, copy = swarm.with_name("live"), swarm.with_name("dead")
    host = _host(live, swarm)
    host.start()
    try:
        async with await open_journal(live) as journal:
            for run_id in ("one", "two"):
                await create_run(journal, ev.RunCreated(ref=f"{swarm}:swarm", input="go", by=ME, run_id=run_id))
            host.hint()
            await _until(journal, {"one", "two"}, lambda each: isinstance(each, ev.StepStarted) and _at(each, "ready"))
            kept = (live / "journal.db-wal").stat().st_size
            swarm.with_name("go").touch()
            await _until(journal, {"one", "two"}, lambda each: isinstance(each, ev.StepEnded) and _at(each, "save"))
            copy.mkdir()
            for name in ("journal.db", "journal.db-wal"):
                shutil.copy(live / name, copy / name)
            wal_loss.write_mark(copy / "journal.db", await journal.position())
    finally:
        host.stop()
    os.truncate(copy / "journal.db-wal", kept)
    return copy


def _at(event: ev.JournalEvent, tool: str) -> bool:
    return f"/{tool}~" in event.node_id


def _host(state_dir: Path, swarm: Path) -> DrivingThread:
    return DrivingThread(state_dir, ExecutionConfig(workspace=str(swarm.parent), drain_s=0.05, grace_s=0.0))


async def test_nothing_is_repeated_before_somebody_has_looked(
    swarm: Path, dead: Path, caplog: pytest.LogCaptureFixture
) -> None:
    host = _host(dead, swarm)
    host.start()
    try:
        async with await open_journal(dead) as journal:
            # Taken up, for their driver is gone, and let go of without a step: who thaws one lets that one go on.
            await _until(journal, {"one", "two"}, lambda each: isinstance(each, ev.RunParked))
            assert {each.id: each.state for each in await journal.runs()} == {"one": "frozen", "two": "frozen"}
            assert "look at the runs, then thaw" in (await journal.freezes())[""].reason
            assert _saved(swarm) == 2
            await create_run(journal, ev.RunCreated(ref=f"{swarm}:swarm", input="go", by=ME, run_id="later"))
            assert await RunControls(journal).thaw("two", by=ME) == ["two"]
            host.hint()
            await _until(journal, {"two"}, lambda each: isinstance(each, ev.StepEnded) and _at(each, "save"))
            assert {each.id: each.state for each in await journal.runs(states=("frozen",))} == {
                "one": "frozen",
                "later": "frozen",
            }
            assert not any(_at(each, "save") for each in await journal.read("one"))
    finally:
        host.stop()
    assert _saved(swarm) == 3
    assert "Everything is frozen until an operator has looked: " in caplog.text


async def test_a_loss_takes_effect_once(swarm: Path, dead: Path) -> None:
    for _ in range(2):
        host = _host(dead, swarm)
        host.start()
        host.stop()
        async with await open_journal(dead) as journal:
            frozen = await RunControls(journal).thaw(by=ME)
    assert frozen == [], "what was thawed stays thawed"
    async with await open_journal(dead) as journal:
        told = [type(each) for each in await journal.read(ev.WORKSPACE_RUN_ID)]
    assert told == [ev.FreezeSet, ev.EventsLost, ev.FreezeLifted, ev.FreezeLifted]


async def test_where_the_runs_cannot_be_frozen_none_is_driven(swarm: Path, dead: Path) -> None:
    with closing(sqlite3.connect(dead / "journal.db")) as connection, connection:
        connection.execute("CREATE TRIGGER full BEFORE INSERT ON event BEGIN SELECT raise(FAIL, 'no room'); END")
    with pytest.raises(JournalError, match="no room"):
        _host(dead, swarm).start()
    with closing(sqlite3.connect(dead / "journal.db")) as connection, connection:
        connection.execute("DROP TRIGGER full")
    host = _host(dead, swarm)
    host.start()
    host.stop()
    async with await open_journal(dead) as journal:
        assert {each.state for each in await journal.runs()} == {"frozen"}, "it is found again"


async def test_what_a_power_cut_may_take_is_no_loss(tmp_path: Path) -> None:
    """Events that were not synced can be done again: that they are missing freezes nothing."""
    async with await open_journal(tmp_path) as journal:
        await create_run(journal, ev.RunCreated(ref="x:y", input="go", by=ME, run_id="one"))
        lease = await journal.claim("one", "me", 10.0)
        assert lease is not None
        known = wal_loss.read_mark(tmp_path / "journal.db")
        assert known == await journal.position()
        await journal.append(lease, [ev.Warned(text="not synced")])
        assert wal_loss.read_mark(tmp_path / "journal.db") == known < await journal.position()
        await journal.append(lease, [ev.RunParked(reason="stop")])
        assert wal_loss.read_mark(tmp_path / "journal.db") == await journal.position()
