"""A journal that cannot be written for a while: what came of a step is held in memory, and nothing is asked of it."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.faults.fingerprint import fingerprint
from runtime.operations.run_creation import create_run
from runtime.record.journal import JournalError, Unwritable
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Origin,
    Persistence,
)
from runtime.worker import driving_thread
from runtime.worker.driving_thread import DrivingThread
from tests.present import present
from tests.runtime.record.journal_samples import ROOT
from tests.runtime.record.sqlite_parts import writer_of
from tests.runtime.worker.test_lost_end import ME

SWARM = """
import asyncio
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

HERE = Path(__file__).parent

@tool
async def save(number: int) -> str:
    "An effect on the world that comes to its end when the test says so."
    with (HERE / "effects").open("a") as file:
        file.write(f"{number}\\n")
    while not (HERE / "go").exists():
        await asyncio.sleep(0.01)
    return "saved" + "." * 60_000

script("room/save", [Reply(calls=[Call("save", {"number": 1}), Call("save", {"number": 2})]),
                     Reply(calls=[Call("save", {"number": 3})]), Reply("done")])
swarm = Agent(name="writer", model="scripted:room/save", tools=[save])
"""

PRAGMAS = {
    "no room": ("max_page_count = 1", "max_page_count = 1000000"),
    "read-only": ("query_only = 1", "query_only = 0"),
}


def _ended(rule: str, said: str) -> ev.StepEnded:
    fault = Classification(
        origin=Origin.TOOL,
        cause=Cause.CANCELLED,
        persistence=Persistence.UNKNOWN,
        effect=Effect.UNKNOWN,
        user_message=said,
        rule_id=rule,
    )
    return ev.StepEnded(attempt=1, fault=fault, effect_unknown=True)


async def _until(journal: JournalCare, kind: type[ev.JournalEvent], count: int, node: str = "") -> None:
    found = 0
    async for events in journal.tail("one"):
        found += sum(isinstance(each, kind) and node in each.node_id for each in events)
        if found >= count:
            return


class Place:
    """A workspace whose host's journal can be made unwritable."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (root / "swarm.py").write_text(SWARM)
        self.root, self.state = root, root / ".orbiter"
        self._driving: list[JournalCare] = []

        async def remembered(place: Path) -> JournalCare:
            self._driving.append(await open_journal(place))
            return self._driving[-1]

        with monkeypatch.context() as patched:
            patched.setattr(driving_thread, "open_journal", remembered)
            self.host = DrivingThread(self.state, ExecutionConfig(workspace=str(root), grace_s=0.0, drain_s=0.1))
            self.host.start()

    async def pragma(self, words: str) -> None:
        """Say a PRAGMA to the connection that drives, in its loop."""
        writer = writer_of(self._driving[0])
        loop = present(self.host._loop)
        work = writer.run_exclusive(lambda connection: connection.execute(f"PRAGMA {words}").fetchall())
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    def effects(self) -> list[str]:
        return sorted((self.root / "effects").read_text().split())


@pytest.mark.parametrize("why", PRAGMAS)
async def test_results_are_held_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(tmp_path, monkeypatch)
    try:
        async with await open_journal(place.state) as journal:
            await create_run(journal, ev.RunCreated(ref="swarm.py:swarm", input="go", by=ME, run_id="one"))
            place.host.hint()
            await _until(journal, ev.StepStarted, 2, "/save~")
            await place.pragma(PRAGMAS[why][0])
            (tmp_path / "go").touch()
            while not place.host.held_back:  # noqa: ASYNC110 - read from another thread
                await asyncio.sleep(0.01)
            assert place.effects() == ["1", "2"], "nothing begins that cannot be written"
            await place.pragma(PRAGMAS[why][1])
            await _until(journal, ev.RunFinished, 1)
            events = await journal.read("one")
    finally:
        place.host.stop()
    assert place.effects() == ["1", "2", "3"]
    assert not any(isinstance(each, ev.IncidentOpened) for each in events), "nothing is in doubt"
    assert [each.epoch for each in events if isinstance(each, ev.RunStarted)] == [1], "the run stayed where it was"
    assert place.host.held_back == ""
    assert caplog.text.count("the journal cannot be written: what happens is held in memory") == 1


async def test_a_stop_does_not_wait_for_room_and_what_is_asked_then_is_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, monkeypatch)
    async with await open_journal(place.state) as journal:
        await create_run(journal, ev.RunCreated(ref="swarm.py:swarm", input="go", by=ME, run_id="one"))
        place.host.hint()
        await _until(journal, ev.StepStarted, 2, "/save~")
        await place.pragma(PRAGMAS["no room"][0])
        (tmp_path / "go").touch()
        while not place.host.held_back:  # noqa: ASYNC110 - read from another thread
            await asyncio.sleep(0.01)
        await asyncio.to_thread(place.host.stop)
        again = DrivingThread(place.state, ExecutionConfig(workspace=str(tmp_path), grace_s=0.0))
        again.start()
        try:
            await _until(journal, ev.IncidentOpened, 2)
            asked = [each.message for each in await journal.read("one") if isinstance(each, ev.IncidentOpened)]
        finally:
            again.stop()
    assert len(asked) == 2
    assert asked == ["save had begun when its runtime ended: it is not known whether it took effect"] * 2
    assert place.effects() == ["1", "2"]


async def test_without_a_host_an_append_fails_at_once(tmp_path: Path) -> None:
    async with await open_journal(tmp_path) as journal:
        await create_run(journal, ev.RunCreated(ref="x:y", input="go", by=ME, run_id="one"))
        lease = present(await journal.claim("one", "me", 10.0))
        await writer_of(journal).run_exclusive(
            lambda connection: connection.execute("PRAGMA query_only = 1").fetchall()
        )
        with pytest.raises(Unwritable, match="readonly"):
            await journal.append(lease, [ev.Warned(text="no")])
        journal.hold_back(True)
        held = asyncio.ensure_future(journal.append(lease, [ev.Warned(text="held")]))
        later = asyncio.ensure_future(journal.append(lease, [ev.Warned(text="later")]))
        with pytest.raises(Unwritable):
            await create_run(journal, ev.RunCreated(ref="x:y", input="go", by=ME, run_id="two"))
        assert "readonly" in journal.held_back
        await writer_of(journal).run_exclusive(
            lambda connection: connection.execute("PRAGMA query_only = 0").fetchall()
        )
        await held
        await later
        texts = [each.text for each in await journal.read("one") if isinstance(each, ev.Warned)]
        assert texts == ["held", "later"], "in the order in which they were given"
        await writer_of(journal).run_exclusive(
            lambda connection: connection.execute("PRAGMA query_only = 1").fetchall()
        )
        held = asyncio.ensure_future(journal.append(lease, [ev.Warned(text="given up")]))
        await asyncio.sleep(0)
        journal.hold_back(False)
        with pytest.raises(JournalError) as caught:
            await held
        assert isinstance(caught.value.__cause__, sqlite3.Error)


GONE, HERE = 4194305, os.getppid()
"""A process that cannot be, and one that lives."""
ENDS: dict[str, tuple[int, list[ev.JournalEvent], str]] = {
    "killed": (GONE, [], "had begun when its process ended"),
    "taken over": (HERE, [], "had begun in another process ({owner}), which this one took the run over from"),
    "let go of": (GONE, [ev.RunParked(reason="stop")], "had begun when the runtime let go of the run, and was cut off"),
    "cancelled": (GONE, [_ended("cancelled", "cancelled")], "was cancelled while it was under way"),
    "timed out": (
        GONE,
        [_ended("timeout", "save did not come back within 1 s")],
        "came to no clear end (save did not come back within 1 s)",
    ),
}


@pytest.mark.parametrize("how", ENDS)
async def test_what_is_asked_about_a_step_in_doubt_says_how_it_came_to_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """And equal questions stay equal, whatever they say: fingerprints are those of earlier versions."""
    place = Place(tmp_path, monkeypatch)
    async with await open_journal(place.state) as journal:
        await create_run(journal, ev.RunCreated(ref="swarm.py:swarm", input="go", by=ME, run_id="one"))
        place.host.hint()
        await _until(journal, ev.StepStarted, 2, "/save~")
        recorded = await journal.read("one")
        await place.pragma(PRAGMAS["no room"][0])
        await asyncio.to_thread(place.host.stop)
    left = tmp_path / "left"
    left.mkdir()
    (left / "swarm.py").write_text(SWARM)
    pid, last, expected = ENDS[how]
    async with await open_journal(left / ".orbiter") as journal:
        created = next(each for each in recorded if isinstance(each, ev.RunCreated))
        await journal.create(created, fold_events([created]).summary())
        lease = present(await journal.claim("one", f"{socket.gethostname()}:{pid}:gone#1", 0.001))
        node = next(each.node_id for each in recorded if isinstance(each, ev.StepStarted) and "/save~" in each.node_id)
        kept = [replace(each, epoch=1) if isinstance(each, ev.StepStarted) else each for each in recorded]
        kept = [replace(each, owner=lease.owner) if isinstance(each, ev.RunStarted) else each for each in kept]
        await journal.append(lease, [*kept[1:], *(replace(each, node_id=node) for each in last)])
        again = DrivingThread(left / ".orbiter", ExecutionConfig(workspace=str(left), grace_s=0.0))
        again.start()
        try:
            await _until(journal, ev.IncidentOpened, 2)
            asked = [each for each in await journal.read("one") if isinstance(each, ev.IncidentOpened)]
        finally:
            again.stop()
    (opened,) = [each for each in asked if each.node_id == node]
    assert opened.message == f"save {expected.format(owner=lease.owner)}: it is not known whether it took effect"
    assert opened.in_doubt
    words = "save had begun when its process ended: it is not known whether it took effect"
    assert opened.fingerprint == fingerprint(opened.fault, words, "writer/save")


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process are Linux's")
def test_a_run_that_may_not_write_more_says_what_to_do_and_goes_on_when_it_is_done(tmp_path: Path) -> None:
    (tmp_path / "swarm.py").write_text(SWARM)
    (tmp_path / "go").touch()
    command = 'ulimit -S -f 400; exec "$0" -m console run swarm.py:swarm go'
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        ["sh", "-c", command, sys.executable], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = ""
        while "prlimit" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        said += process.communicate()[1]
    assert process.returncode == 0, said
    assert "held in memory" in said
    assert (tmp_path / "effects").read_text().split() == ["1", "2", "3"]
