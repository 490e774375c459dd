"""Looking after a SQLite journal: check, backup, summaries made again, retention."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from runtime.record.journal import JournalError
from runtime.record.sqlite import prune_trial
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary, fold_events
from tests.present import present
from tests.runtime.record.journal_samples import created, opened, started, summary, warned

if TYPE_CHECKING:
    from tests.runtime.record.conftest import Clock


@pytest.fixture
async def journal(tmp_path: Path, clock: Clock) -> AsyncIterator[SqliteJournal]:
    async with await SqliteJournal.open(tmp_path / "journal.db", clock=clock) as opened_journal:
        yield opened_journal


def tamper(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()


def names_in(directory: Path) -> set[str]:
    return {file.name.split("-")[0] for file in directory.iterdir()}


async def finish(journal: SqliteJournal, run_id: str, clock: Clock, kilobytes: int = 100) -> None:
    lease = await started(journal, run_id)
    big = [ev.StepEnded(attempt=1, result=f"{n}" + "x" * 1000, ts=clock.now) for n in range(kilobytes)]
    await journal.append(lease, [*big, ev.RunFinished(state="completed", ts=clock.now)])
    await journal.release(lease)


async def test_a_sound_journal_has_no_findings(journal: SqliteJournal) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened()])
    assert await journal.check() == []


@pytest.mark.parametrize(
    ("sql", "finding"),
    [
        ("DELETE FROM event WHERE seq = 2", "run r1: 2 events up to seq 3, where its row says 3"),
        ("DELETE FROM event WHERE seq = 3", "incident i1: the event that opened it is missing"),
        ("DELETE FROM run WHERE id = 'r1'", "3 events belong to no run"),
    ],
)
async def test_what_is_missing_is_found(journal: SqliteJournal, sql: str, finding: str) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened()])
    tamper(journal.path, sql)
    assert finding in await journal.check()


async def test_a_backup_is_a_journal(journal: SqliteJournal, tmp_path: Path) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened("i1"), ev.StepEnded(attempt=1, result="x" * 100_000), opened("i2")])
    target = tmp_path / "copy.db"
    await journal.backup(target)
    await journal.append(lease, [warned("later")])
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert names_in(tmp_path) == {"journal.db", "copy.db"}
    async with await SqliteJournal.open(target) as copy:
        assert await copy.check() == []
        assert await copy.read("r1") == (await journal.read("r1"))[:-1]
        assert [row.opened.incident_id for row in await copy.incidents()] == ["i1", "i2"]
        await copy.append(lease, [warned("goes on")])
    with pytest.raises(JournalError, match="it exists"):
        await journal.backup(target)
    with pytest.raises(JournalError, match="cannot"):
        await journal.backup(tmp_path / "copy.db" / "x.db")


async def test_summaries_are_made_anew(journal: SqliteJournal) -> None:
    lease = await started(journal)
    await journal.append(lease, [ev.NodeOpened(node_id="a", kind="agent", name="a"), opened("i1")])
    await journal.append(lease, [], summary=Summary(id="wrong", title="wrong", steps=99))
    await journal.create(created("r2"), Summary(id="r2"))
    assert await journal.rebuild_summaries() == 2
    found = present(await journal.summary("r1"))
    assert found == fold_events(await journal.read("r1")).summary()
    assert [run.title for run in await journal.runs()] == ["title of r2", "title of r1"]


async def test_a_summary_of_another_fold_is_not_believed(journal: SqliteJournal) -> None:
    await started(journal)
    tamper(journal.path, """UPDATE run SET summary = '{"id": "r1", "title": "old", "fold": 0}' WHERE id = 'r1'""")
    async with await SqliteJournal.open(journal.path, readonly=True) as reader:
        assert [run.title for run in await reader.runs()] == ["title of r1"]
    found = present(await journal.summary("r1"))
    assert found.title == "title of r1"
    connection = sqlite3.connect(journal.path)
    ((kept,),) = connection.execute("SELECT summary FROM run WHERE id = 'r1'")
    connection.close()
    assert Summary.from_json(kept).title == "title of r1", "it is made again once, not each time"


async def test_old_finished_runs_are_forgotten(journal: SqliteJournal, clock: Clock) -> None:
    for number in range(4):
        await finish(journal, f"done{number}", clock)
        clock.jump(86_400)
    await journal.create(created("queued"), summary("queued"))
    waiting = await started(journal, "waiting")
    await journal.append(waiting, [opened(), ev.RunParked(reason="waiting", ts=clock.now - timedelta(days=400))])
    await journal.command("old", {"n": 1})
    clock.jump(3600)
    age = timedelta(days=2, hours=12)
    async with await SqliteJournal.open(journal.path, readonly=True, clock=clock) as reader:
        assert await reader.prune(older_than=age, dry_run=True) == ["done0", "done1"]
    assert len(await journal.runs()) == 6
    assert await journal.prune(older_than=age) == ["done0", "done1"]
    assert sorted(run.id for run in await journal.runs()) == ["done2", "done3", "queued", "waiting"]
    assert await journal.read("done0") == []
    assert len(await journal.read("done2")) == 103
    assert [row.run_id for row in await journal.incidents()] == ["waiting"]
    assert await journal.command("old") == {"n": 1}
    assert await journal.check() == []
    assert await journal.prune(older_than=timedelta()) == ["done2", "done3"]
    assert await journal.command("old") is None
    assert sorted(run.id for run in await journal.runs()) == ["queued", "waiting"]


async def test_retention_by_size_takes_the_oldest_and_shrinks_the_file(journal: SqliteJournal, clock: Clock) -> None:
    def size() -> int:
        tamper(journal.path, "PRAGMA wal_checkpoint(TRUNCATE)")
        return journal.path.stat().st_size

    await started(journal, "live")
    for number in range(6):
        await finish(journal, f"done{number}", clock, kilobytes=200)
        clock.jump(60)
        if number == 2:
            limit = size() * 11 // 10
    before = size()
    files = sorted(journal.path.parent.iterdir())
    for older_than in (None, timedelta(minutes=5, seconds=30)):
        would_go = await journal.prune(older_than=older_than, max_bytes=limit, dry_run=True)
        assert would_go == ["done0", "done1", "done2"]
    assert await journal.prune(max_bytes=before, older_than=timedelta(minutes=5), dry_run=True) == ["done0"]
    assert (size(), sorted(journal.path.parent.iterdir())) == (before, files)
    assert await journal.prune(max_bytes=limit) == ["done0", "done1", "done2"]
    assert size() <= limit < before
    assert await journal.prune(max_bytes=limit) == []
    assert await journal.prune(max_bytes=0) == ["done3", "done4", "done5"]
    assert [run.id for run in await journal.runs()] == ["live"]


async def test_blobs_go_with_the_last_run_that_refers_to_them(journal: SqliteJournal, clock: Clock) -> None:
    shared, own = "s" * 100_000, "o" * 100_000
    first = await started(journal, "first")
    await journal.append(
        first,
        [
            ev.StepEnded(attempt=1, result=shared),
            ev.StepEnded(attempt=2, result=own),
            ev.RunFinished(state="failed", ts=clock.now),
        ],
    )
    second = await started(journal, "second")
    await journal.append(second, [ev.StepEnded(attempt=1, result=shared)])
    clock.jump(10)
    assert await journal.prune(older_than=timedelta()) == ["first"]
    ended = (await journal.read("second"))[-1]
    assert isinstance(ended, ev.StepEnded)
    assert ended.result == shared
    connection = sqlite3.connect(journal.path)
    assert connection.execute("SELECT count(*) FROM blob").fetchone() == (1,)
    connection.close()


async def test_a_position_is_never_given_twice(journal: SqliteJournal, clock: Clock) -> None:
    """A tail that has seen the newest run must not mistake what comes after its pruning for what it has seen."""
    await started(journal, "live")
    await finish(journal, "done", clock)
    place = await journal.position()
    clock.jump(1)
    assert await journal.prune(max_bytes=0) == ["done"]
    tail = journal.tail(after=place)
    await journal.create(created("next"), summary("next"))
    (event,) = await anext(tail)
    assert event.run_id == "next"
    assert await journal.position() == place + 1


async def test_a_trial_of_pruning_takes_no_room_that_the_runtime_needs(
    journal: SqliteJournal, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await finish(journal, "done", clock, kilobytes=200)
    files = sorted(journal.path.parent.iterdir())
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=300_000))
    with pytest.raises(JournalError, match=r"needs [1-9] MB beside it, and 0 MB are free"):
        await journal.prune(max_bytes=0, dry_run=True)
    assert sorted(journal.path.parent.iterdir()) == files
    assert await journal.prune(older_than=timedelta(days=-1), dry_run=True) == ["done"], "without a copy"
    assert await journal.prune(max_bytes=0) == ["done"]


async def test_what_a_killed_trial_of_pruning_left_is_removed_by_the_next_prune(
    journal: SqliteJournal, clock: Clock
) -> None:
    await finish(journal, "done", clock)
    async with prune_trial.page_copy(journal.path) as in_use:
        left = in_use.parent.with_name(".journal.db.dry-run.killed")
        left.mkdir()
        (left / "journal.db").write_bytes(b"all data")
        assert await journal.prune(older_than=timedelta(days=9)) == []
        assert in_use.exists()
        assert not left.exists()
