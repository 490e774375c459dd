"""Many runs: what is parked costs nothing, and what is idle makes room for what waits."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from runtime.execution.event_writer import WRITE_DELAY_S
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.run_session import RunSession
from runtime.operations import run_creation
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.worker.engines.local import LocalEngine
from runtime.worker.supervisor import Supervisor
from tests.runtime.bench import Bench
from tests.runtime.record.sqlite_parts import reader_of

PARKED = 10_000


async def _parked(bench: Bench, deadline_s: float) -> str:
    async with bench.driving(grace_s=0.0, deadline_s=deadline_s):
        run = await bench.start("asker")
        await bench.until(run, lambda s: s.phase == "waiting")
    return run


def _multiply(path: Path, run_id: str, copies: int) -> None:
    """Copy a run with its events and its incident, as often as that."""
    with closing(sqlite3.connect(path)) as connection, connection:
        (rid,) = connection.execute("SELECT rid FROM run WHERE id = ?", (run_id,)).fetchone()
        pos, last = connection.execute("SELECT max(pos), count(*) FROM event").fetchone()
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :copies) "
        columns = [row[1] for row in connection.execute("PRAGMA table_info(run)") if row[1] not in ("rid", "id")]
        listed = ", ".join(columns)
        connection.execute(
            f"{numbers} INSERT INTO run (rid, id, {listed}) SELECT rid + i, id || '-' || i, {listed} FROM run, n"
            " WHERE rid = :rid", {"rid": rid, "copies": copies},
        )  # fmt: skip
        renamed = "replace(body, '\"incident_id\":\"', '\"incident_id\":\"' || i || '-')"
        connection.execute(
            f"{numbers} INSERT INTO event (pos, run, seq, body, blobs)"
            f" SELECT {pos} + i * {last} + seq, run + i, seq, {renamed}, blobs FROM event, n WHERE run = :rid",
            {"rid": rid, "copies": copies},
        )
        connection.execute(
            f"{numbers} INSERT INTO incident (id, run, state, revision, opened_seq) SELECT i || '-' || id, run + i,"
            " state, revision, opened_seq FROM incident, n WHERE run = :rid", {"rid": rid, "copies": copies},
        )  # fmt: skip
    connection.close()


async def test_runs_of_one_second_that_draw_the_same_id_are_all_begun(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(["same", "same", "same", "else"])
    monkeypatch.setattr(run_creation, "new_id", lambda _length: next(drawn))
    monkeypatch.setattr(ev, "utc_now", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    runs = [await bench.start("echo", text) for text in ("one", "two")]
    assert runs == ["260101-000000-same", "260101-000000-else"]
    assert [(await bench.state(run)).input for run in runs] == ["one", "two"]


async def test_ten_thousand_parked_runs_are_rows_and_nothing_else(bench: Bench) -> None:
    run = await _parked(bench, 3_600.0)
    await bench.journal.close()
    _multiply(bench.root / "journal.db", run, PARKED)
    async with await open_journal(bench.root) as journal:
        assert len(await journal.incidents()) == PARKED + 1
        instructions = 0

        def count() -> None:
            nonlocal instructions
            instructions += 1

        await reader_of(journal).connection.set_progress_handler(count, 1)  # at each instruction of SQLite's machine
        assert await journal.runnable() == []
        await reader_of(journal).connection.set_progress_handler(lambda: 0, 0)
        assert 0 < instructions < 500, "an index says that nothing can go on, however many are parked"

        supervisor = Supervisor(journal, ExecutionConfig(workspace=str(bench.root)), period_s=0.01)
        serving = asyncio.create_task(supervisor.serve())
        assert (await bench_run(bench, journal)).phase == "completed", "it has looked, and drives what can go on"
        while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
        await asyncio.sleep(WRITE_DELAY_S)  # a timer of the loop knows the run that has just ended for so long
        gc.collect()
        held = [found for found in gc.get_objects() if type(found) is RunSession and found.journal is journal]
        assert held == [], "nothing of a parked run is in memory"
        assert len(asyncio.all_tasks()) < 10
        supervisor.stop()
        await serving


async def bench_run(bench: Bench, journal: JournalCare) -> DurableRun:
    other = Bench(bench.root, journal)
    run = await other.start("plain")
    return await other.ended(run)


async def test_idle_runs_leave_before_their_grace_where_others_wait_for_room(bench: Bench) -> None:
    config = ExecutionConfig(workspace=str(bench.root), grace_s=3_600.0)
    supervisor = Supervisor(bench.journal, config, period_s=0.02, engine=partial(LocalEngine, slots=3))
    serving = asyncio.create_task(supervisor.serve())
    try:
        idle = [await bench.start("asker") for _ in range(3)]
        for run in idle:
            await bench.incidents(run)
        await asyncio.sleep(0.2)
        assert sorted(supervisor.driving) == sorted(idle), "within their grace, and no run needs the room"
        late = [await bench.start("plain") for _ in range(4)]
        for run in late:
            assert (await bench.ended(run)).phase == "completed"
        for run in idle:
            state = await bench.until(run, lambda s: s.phase == "waiting")
            assert len(state.open_incidents) == 1
            (incident,) = await bench.journal.incidents(run)
            assert (await bench.ended_by(incident, "input", value="you")).phase == "completed"
    finally:
        supervisor.stop()
        await serving


async def test_a_place_that_becomes_free_is_taken_though_no_look_is_due(bench: Bench) -> None:
    config = ExecutionConfig(workspace=str(bench.root))
    supervisor = Supervisor(bench.journal, config, period_s=3_600.0, engine=partial(LocalEngine, slots=1))
    runs = [await bench.start("plain") for _ in range(5)]
    serving = asyncio.create_task(supervisor.serve())
    for run in runs:
        await bench.ended(run)
    supervisor.stop()
    await serving


@pytest.mark.parametrize("room", [1, 2])
async def test_more_runs_than_room_all_come_to_their_end(bench: Bench, room: int) -> None:
    config = ExecutionConfig(workspace=str(bench.root), grace_s=3_600.0)
    supervisor = Supervisor(bench.journal, config, period_s=0.02, engine=partial(LocalEngine, slots=room))
    serving = asyncio.create_task(supervisor.serve())
    runs = [await bench.start("plain") for _ in range(5)]
    for run in runs:
        await bench.ended(run)
    supervisor.stop()
    await serving
