"""Lists that are read without opening the journal: the same as the journal's own, or none at all."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.record.places import open_journal, read_lists
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.sqlite.list_queries import SCHEMA_VERSION
from runtime.record.state import events as ev
from runtime.record.workers import WorkerNeed, WorkerReport, placed_runs, unserved_runs
from tests.present import present
from tests.runtime.record.journal_samples import answer, created, opened, started, summary

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[SqliteJournal]:
    """Three runs: one waits for a person in three ways, one is queued, one is for code that has no worker."""
    async with await SqliteJournal.open(tmp_path / "journal.db") as found:
        lease = await started(found)
        said = replace(opened().fault, user_message="The author's.", rule_message="The rule's.")
        plain = replace(said, rule_message="")
        option = ev.Option(id="retry", label="Retry operation")
        asked = replace(opened("i1"), question="Which?", message="It failed.", options=(option,))
        told = replace(opened("i2"), fault=said, message="It failed.", fingerprint="same")
        faulty = replace(opened("i3"), fault=plain, action={"permission": {"verb": "shell"}})
        await found.append(lease, [asked, told, faulty, opened("i4")], summary=summary())
        await found.answer(answer("i4"))
        await found.create(created("r2"), summary("r2"))
        await found.create(replace(created("r3"), code="blue"), summary("r3"))
        await found.beat(WorkerReport(id="w", place="here", slots=1, code="green", alive_since=NOW))
        yield found


async def test_lists_are_those_of_the_journal(journal: SqliteJournal) -> None:
    listed = present(read_lists(journal.path.parent, runs=10, incidents=True))
    assert list(listed.runs) == await journal.runs(10)
    open_now = await journal.incidents()
    assert [each.opened.incident_id for each in open_now] == ["i1", "i2", "i3"]
    for quick, whole in zip(listed.incidents, open_now, strict=True):
        assert (quick.run_id, quick.incident_id, quick.ts) == (whole.run_id, whole.opened.incident_id, whole.opened.ts)
        assert (quick.what, quick.fingerprint) == (whole.opened.what, whole.opened.fingerprint)
        assert [option.id for option in quick.options] == [option.id for option in whole.opened.options]
        assert quick.action == whole.opened.action
    unserved = unserved_runs(await journal.placed_runs(), await journal.workers())
    assert listed.unserved == unserved == {WorkerNeed("blue"): ["r3"]}


async def test_a_run_of_the_default_queue_that_every_worker_leaves_is_told_of(journal: SqliteJournal) -> None:
    await journal.beat(WorkerReport(id="w", place="here", slots=1, code="green", queues=("gpu",), alive_since=NOW))
    listed, workers = read_lists(journal.path.parent), await journal.workers()
    assert listed is not None
    assert listed.unserved == unserved_runs(await placed_runs(journal, workers), workers)
    assert "r2" in listed.unserved[WorkerNeed()]


async def test_only_so_many_runs_the_newest(journal: SqliteJournal) -> None:
    listed = present(read_lists(journal.path.parent, runs=2))
    assert [each.id for each in listed.runs] == ["r3", "r2"]
    assert listed.incidents == ()


@pytest.mark.parametrize(
    "sql",
    [
        "PRAGMA user_version = 1",
        f"PRAGMA user_version = {SCHEMA_VERSION + 1}",
        "PRAGMA application_id = 7",
        """UPDATE run SET summary = '{"id":"r1","fold":2}' WHERE id = 'r1'""",
        "UPDATE run SET summary = NULL WHERE id = 'r1'",
        "UPDATE run SET summary = '[]' WHERE id = 'r1'",
        "UPDATE run SET summary = CAST(x'ff' AS TEXT) WHERE id = 'r1'",
        """UPDATE event SET body = '{"v":2,' || substr(body, 2) WHERE body LIKE '%"i2"%'""",
        """UPDATE event SET blobs = '{"traceback":"ab"}' WHERE body LIKE '%"i2"%'""",
        """UPDATE event SET body = '{"type":"incident.opened"}' WHERE body LIKE '%"i2"%'""",
        "UPDATE worker SET report = '{}'",
        "DROP TABLE incident",
    ],
)
async def test_what_is_not_as_it_is_written_today_gives_no_list(journal: SqliteJournal, sql: str) -> None:
    await journal.close()
    connection = sqlite3.connect(journal.path)
    connection.execute(sql)
    connection.commit()
    connection.close()
    assert read_lists(journal.path.parent, runs=10, incidents=True) is None


async def test_a_file_that_is_no_database_gives_no_list(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_text("not a database, but long enough to be taken for one " * 20)
    assert read_lists(tmp_path, runs=10) is None


async def test_a_place_without_a_journal_has_empty_lists_and_stays_as_it_is(tmp_path: Path) -> None:
    listed = present(read_lists(tmp_path / "new", runs=10, incidents=True))
    assert (listed.runs, listed.incidents, listed.unserved) == ((), (), {})
    assert not (tmp_path / "new").exists()


async def test_a_journal_on_postgres_is_opened(tmp_path: Path) -> None:
    (tmp_path / "journal.url").write_text("postgres://localhost/db?workspace=w")
    assert read_lists(tmp_path, runs=10) is None


async def test_reading_lists_leaves_the_file_to_those_who_write_it(journal: SqliteJournal) -> None:
    before = {each.name for each in journal.path.parent.iterdir()}
    assert read_lists(journal.path.parent, runs=10) is not None
    assert {each.name for each in journal.path.parent.iterdir()} == before
    await journal.create(created("r4"), summary("r4"))
    async with await open_journal(journal.path.parent, readonly=True) as other:
        assert [each.id for each in await other.runs(1)] == ["r4"]
