"""The file of the SQLite journal: whose it is, which version, what happens when it is damaged or not to be written."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from orbiter.text_encoding import drop_surrogates
from runtime.operations.queries import digest_for
from runtime.record.journal import JournalError, Unrecordable
from runtime.record.rules.stored_reader import StoredEvent
from runtime.record.sqlite import schema
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.sqlite.list_queries import SCHEMA_VERSION
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from tests.runtime.record.journal_samples import created, opened, started, summary, texts, warned


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[SqliteJournal]:
    async with await SqliteJournal.open(tmp_path / "state" / "journal.db") as opened:
        yield opened


def ask(path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        found = connection.execute(sql).fetchall()
        connection.commit()
        return found
    finally:
        connection.close()


async def test_the_file_is_its_owners_alone(journal: SqliteJournal) -> None:
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700
    await journal.create(created(), summary())
    for name in ("journal.db-wal", "journal.db-shm"):
        assert stat.S_IMODE((journal.path.parent / name).stat().st_mode) == 0o600


async def test_several_open_a_new_file_at_once(tmp_path: Path) -> None:
    journals = await asyncio.gather(*(SqliteJournal.open(tmp_path / "journal.db") for _ in range(4)))
    made = await asyncio.gather(*(journal.create(created(), summary()) for journal in journals))
    assert sorted(made) == [False, False, False, True]
    for journal in journals:
        await journal.close()


async def test_a_new_file_waits_for_another_that_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    schema.create_file(path)
    executed: list[str] = []
    connection = await schema.connect(path, readonly=False)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
            await connection.set_trace_callback(executed.append)
            switching = asyncio.create_task(schema._use_wal(connection))
            while not switching.done() and len(executed) < 3:  # noqa: ASYNC110 - until SQLite has refused it twice; its trace sets no event
                await asyncio.sleep(0)
            other.execute("COMMIT")
            await switching
            assert [tuple(row) for row in await connection.execute_fetchall("PRAGMA journal_mode")] == [("wal",)]
        finally:
            await connection.close()


async def test_producers_share_commits(journal: SqliteJournal) -> None:
    lease = await started(journal)
    before = journal.commits
    await asyncio.gather(*(journal.append(lease, [warned()]) for _ in range(64)))
    assert journal.commits - before <= 3
    assert journal.operations == 2 + 64


async def test_producers_that_are_out_of_step_come_to_share_commits(journal: SqliteJournal) -> None:
    lease = await started(journal)
    assert journal._writer is not None
    before = journal.commits

    async def produce() -> None:
        for _ in range(5):
            await journal.append(lease, [warned()])

    first = [asyncio.create_task(produce()) for _ in range(4)]
    while not journal._writer.writing:  # noqa: ASYNC110 - until their transaction is under way
        await asyncio.sleep(0)
    await asyncio.gather(*first, *(produce() for _ in range(4)))
    assert journal.commits - before == 6  # and not five for each half


async def test_what_must_last_is_synced_and_the_rest_is_not(journal: SqliteJournal) -> None:
    async def level() -> int:
        assert journal._writer is not None
        rows = await journal._writer.connection.execute_fetchall("PRAGMA synchronous")
        return int(next(iter(rows))[0])

    full, normal = 2, 1
    lease = await started(journal)
    await journal.append(lease, [warned()])
    assert await level() == normal
    await journal.append(lease, [warned(), ev.StepEnded(attempt=1)])
    assert await level() == full
    await journal.renew(lease)
    assert await level() == normal
    tool = ev.StepStarted(kind="tool", name="send", agent="a", attempt=1, epoch=1)
    await journal.append(lease, [tool])
    assert await level() == full
    await journal.append(lease, [replace(tool, idempotent=True)])
    assert await level() == normal
    await asyncio.gather(journal.append(lease, [warned()]), journal.post("r1", ev.AbortRequested()))
    assert await level() == full


async def test_a_reader_brings_a_file_of_an_earlier_program_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    schema.create_file(path)
    connection = await schema.connect(path, readonly=False)
    try:
        await schema.migrate(connection, path, readonly=False, version=1)
    finally:
        await connection.close()
    async with await SqliteJournal.open(path, readonly=True) as journal:
        assert await journal.runs() == []
    assert ask(path, "SELECT user_version FROM pragma_user_version") == [(SCHEMA_VERSION,)]


async def test_a_file_of_an_earlier_program_that_cannot_be_written_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    schema.create_file(path)
    connection = await schema.connect(path, readonly=False)
    try:
        await schema.migrate(connection, path, readonly=False, version=1)
    finally:
        await connection.close()
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(JournalError, match="opening the console brings it up to date"):
        await SqliteJournal.open(path, readonly=True)
    assert ask(path, "SELECT user_version FROM pragma_user_version") == [(1,)]


async def test_large_values_are_kept_once(journal: SqliteJournal) -> None:
    lease = await started(journal)
    large, larger = "ä" * (ev.BLOB_BYTES // 2 + 1), {"list": ["x" * 1000] * 100}
    ended = [ev.StepEnded(attempt=1, result=value) for value in (large, larger, large, "x" * (ev.BLOB_BYTES - 2))]
    written = await journal.append(lease, ended)
    assert (await journal.read("r1"))[2:] == list(written)
    assert ask(journal.path, "SELECT count(*) FROM blob") == [(2,)]
    ((longest,),) = ask(journal.path, "SELECT max(length(body)) FROM event WHERE blobs IS NOT NULL")
    assert isinstance(longest, int)
    assert longest < 200
    tail = journal.tail("r1", 2)
    assert await anext(tail) == list(written)
    ask(journal.path, "DELETE FROM blob")
    with pytest.raises(JournalError, match=r"'result'.*missing"):
        await journal.read("r1")
    assert await journal.check() == ["2 values that events refer to are missing"]


async def test_an_events_version_outlives_ours(journal: SqliteJournal) -> None:
    lease = await started(journal)
    newer = ev.Warned(node_id="a", text="hi", v=7)
    (written,) = await journal.append(lease, [newer])
    assert (await journal.read("r1"))[-1] == written
    assert written.v == 7
    ((body,),) = ask(journal.path, "SELECT body FROM event WHERE seq = 1")
    assert '"v"' not in str(body), "version 1 is what no version means, for ever"


async def test_an_event_of_an_unknown_kind_is_kept(journal: SqliteJournal) -> None:
    await started(journal)
    ask(
        journal.path,
        'INSERT INTO event (run, seq, body) SELECT rid, 3, \'{"v":9,"type":"run.teleported","where":"home"}\''
        " FROM run WHERE id = 'r1'",
    )
    found = (await journal.read("r1"))[-1]
    assert isinstance(found, ev.UnknownEvent)
    assert (found.type, found.v, found.seq, found.run_id) == ("run.teleported", 9, 3, "r1")


async def test_a_line_that_is_no_event_is_named(journal: SqliteJournal) -> None:
    await started(journal)
    ask(journal.path, 'UPDATE event SET body = \'{"type":"run.started","epoch":"x"}\' WHERE seq = 2')
    with pytest.raises(JournalError, match="event 2 of run r1"):
        await journal.read("r1")


async def test_one_row_that_cannot_be_read_hides_no_other(journal: SqliteJournal) -> None:
    """It is one run that cannot be read; lists, tails and searches of all runs go on."""
    for run_id, incident_id in (("r1", "i1"), ("r2", "i2")):
        await journal.append(await started(journal, run_id), [opened(incident_id)])
    ask(
        journal.path,
        """UPDATE event SET body = replace(body, '"incident_id"', '"message":3,"incident_id"')
                         WHERE body LIKE '%"i1"%'""",
    )
    with pytest.raises(Unrecordable, match="event 3 of run r1 cannot be read"):
        await journal.read("r1")
    with pytest.raises(Unrecordable, match="event 3 of run r1 cannot be read"):
        await journal.latest("r1")
    broken, whole = await journal.incidents()
    assert broken.opened.ts <= whole.opened.ts, "its time is the one that it says"
    assert (broken.run_id, broken.opened.incident_id, broken.opened.options) == ("r1", "i1", ())
    assert broken.opened.what.startswith("event 3 of run r1 cannot be read: ")
    assert whole.opened.options == opened("i2").options
    assert [type(placed.event) for placed in await journal.latest()][-4:] == [
        ev.UnknownEvent,
        ev.RunCreated,
        ev.RunStarted,
        ev.IncidentOpened,
    ]
    async for batch in journal.tail():
        assert [event.run_id for event in batch if isinstance(event, ev.UnknownEvent)] == ["r1"]
        break
    assert (await digest_for(journal, "ann")).open_now == 2
    ask(journal.path, "UPDATE run SET summary = CASE id WHEN 'r1' THEN '[]' ELSE '{\"id\":\"r2\",\"fold\":1}' END")
    other, first = await journal.runs()
    assert (first.id, first.open_incidents) == ("r1", 1)
    assert first.error.startswith("event 3 of run r1 cannot be read: ")
    assert (other.id, other.ref) == ("r2", created("r2").ref)
    assert [row.title for row in await journal.incidents()] == ["", other.shown_title]


@pytest.mark.parametrize(("text", "kept"), [("\ud800", "\ufffd"), ("ok\udfff", "ok\ufffd")])
async def test_text_that_is_no_text_is_replaced_and_breaks_no_run(journal: SqliteJournal, text: str, kept: str) -> None:
    lease = await started(journal)
    await journal.append(lease, [ev.StepEnded(attempt=1, result=text)], summary=Summary(id="r1", title=text))
    written = (await journal.read("r1"))[-1]
    assert isinstance(written, ev.StepEnded)
    assert written.result == kept
    found = await journal.summary("r1")
    assert found is not None
    assert found.title == kept


async def test_a_newer_file_is_refused(journal: SqliteJournal) -> None:
    ask(journal.path, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    for readonly in (False, True):
        with pytest.raises(JournalError, match="newer program"):
            await SqliteJournal.open(journal.path, readonly=readonly)


async def test_an_older_file_is_brought_up_to_date_or_left_as_it_was(journal: SqliteJournal) -> None:
    await started(journal)
    here, second, newest = SCHEMA_VERSION, SCHEMA_VERSION + 1, SCHEMA_VERSION + 2
    steps = {
        here: ["ALTER TABLE run ADD COLUMN colour TEXT"],
        second: ["UPDATE run SET colour = 'red'", "SELECT nonsense"],
    }
    connection = await schema.connect(journal.path, readonly=False)
    try:
        with pytest.raises(sqlite3.OperationalError):
            await schema.migrate(connection, journal.path, readonly=False, version=newest, migrations=steps)
        assert ask(journal.path, "SELECT user_version FROM pragma_user_version") == [(here,)]
        assert ask(journal.path, "SELECT count(*) FROM pragma_table_info('run') WHERE name = 'colour'") == [(0,)]
        with pytest.raises(JournalError, match="opening the console brings it up to date"):
            await schema.migrate(connection, journal.path, readonly=True, version=newest, migrations=steps)
        steps[second].pop()
        await schema.migrate(connection, journal.path, readonly=False, version=newest, migrations=steps)
    finally:
        await connection.close()
    assert ask(journal.path, "SELECT user_version FROM pragma_user_version") == [(newest,)]
    assert ask(journal.path, "SELECT colour, count(*) FROM run") == [("red", 2)]


async def test_every_schema_has_a_way_forward() -> None:
    assert sorted(schema.MIGRATIONS) == list(range(1, SCHEMA_VERSION))


async def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    ask(path, "CREATE TABLE recipe (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(JournalError, match="not a journal of orbiter-console"):
        await SqliteJournal.open(path)
    assert path.read_bytes() == before


async def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("buy milk\n" * 500)
    for readonly in (False, True):
        with pytest.raises(JournalError, match="not a SQLite database") as caught:
            await SqliteJournal.open(path, readonly=readonly)
        assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)
    assert path.read_text().startswith("buy milk")


async def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="--state") as caught:
        await SqliteJournal.open(tmp_path / "file" / "journal.db")
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(JournalError, match="no journal was found at"):
        await SqliteJournal.open(tmp_path / "nowhere.db", readonly=True)


async def test_a_damaged_file_is_reported_and_its_cause_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with await SqliteJournal.open(path) as journal:
        lease = await started(journal)
        for _ in range(20):
            await journal.append(lease, [ev.StepEnded(attempt=1, result="x" * 3000) for _ in range(20)])
    with path.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        for page in range(8, size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 100)
    async with await SqliteJournal.open(path) as journal:
        found = await journal.check()
        assert found
        assert any("SQLite" in line or "malformed" in line for line in found)
        with pytest.raises(JournalError, match="doctor") as caught:
            await journal.read("r1")
        assert isinstance(caught.value.__cause__, sqlite3.DatabaseError)


@pytest.mark.parametrize("task", ["go", "gr\u00fc\u00df \U0001f600", "half \ud83d", 'quo"ted\n'])
def test_a_summary_is_written_as_it_says_itself(task: str) -> None:
    """The journal writes it in another way than the link, and either reads what the other wrote."""
    for at in (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=UTC)):
        found = Summary(id="r1", input=task, state="frozen", nodes={"running": 2}, cost_usd=0.1, updated_at=at)
        assert Summary.from_json(found.to_json()) == replace(found, input=drop_surrogates(task))


async def test_what_others_say_to_the_workspace_holds_at_once(journal: SqliteJournal) -> None:
    """That nothing is new there is told without the reader's thread, and never of something that is."""
    seq = 0
    async with await SqliteJournal.open(journal.path) as other:
        for number in range(5):
            assert await journal.read(ev.WORKSPACE_RUN_ID, seq) == []
            await (other if number % 2 else journal).post(ev.WORKSPACE_RUN_ID, ev.FreezeSet(ref=str(number)))
            (said,) = await journal.read(ev.WORKSPACE_RUN_ID, seq)
            seq = said.seq
            assert str(number) in await journal.freezes()
    assert len(await journal.read(ev.WORKSPACE_RUN_ID)) == 5
    await journal.close()
    with pytest.raises(JournalError, match="closed"):
        await journal.read(ev.WORKSPACE_RUN_ID, seq)


async def test_a_reader_reads_and_nothing_else(journal: SqliteJournal) -> None:
    lease = await started(journal)
    async with await SqliteJournal.open(journal.path, readonly=True) as reader:
        assert len(await reader.read("r1")) == 2
        tail = reader.tail("r1", 2)
        await journal.append(lease, [warned("live")])
        assert texts(await anext(tail)) == ["live"]
        with pytest.raises(JournalError, match="reading only"):
            await reader.append(lease, [warned()])
        with pytest.raises(JournalError, match="reading only"):
            await reader.command("c", {})
        assert await reader.command("c") is None


async def test_a_file_that_turns_read_only_refuses_and_recovers(journal: SqliteJournal) -> None:
    lease = await started(journal)
    assert journal._writer is not None
    await journal._writer.connection.execute_fetchall("PRAGMA query_only = 1")
    with pytest.raises(JournalError, match="readonly") as caught:
        await asyncio.gather(journal.append(lease, [warned("no")]))
    assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
    await journal._writer.connection.execute_fetchall("PRAGMA query_only = 0")
    await journal.append(lease, [warned("yes")])
    assert texts(await journal.read("r1")) == ["yes"]


async def test_a_full_database_fails_each_waiter_and_keeps_nothing(journal: SqliteJournal) -> None:
    lease = await started(journal)
    assert journal._writer is not None
    connection = journal._writer.connection
    ((pages,),) = await connection.execute_fetchall("PRAGMA page_count")
    await connection.execute_fetchall(f"PRAGMA max_page_count = {pages}")
    large = ev.StepEnded(attempt=1, result="x" * 50_000)
    results = await asyncio.gather(
        *(journal.append(lease, [warned(str(n)), large]) for n in range(4)), return_exceptions=True
    )
    assert all(isinstance(result, JournalError) and "full" in str(result) for result in results)
    assert all(
        isinstance(result.__cause__, sqlite3.OperationalError) for result in results if isinstance(result, JournalError)
    )
    assert len({id(result) for result in results}) == 4
    assert len(await journal.read("r1")) == 2
    assert await journal.check() == []
    await connection.execute_fetchall("PRAGMA max_page_count = 1000000")
    await journal.append(lease, [warned("room"), large])
    assert [event.seq for event in await journal.read("r1")] == [1, 2, 3, 4]


async def test_what_became_of_the_files_since_does_not_hinder_a_second_closing(journal: SqliteJournal) -> None:
    """A log of another process is there by then: its inode is that of the old log, or, rarely, another."""
    assert journal.displaced() == ""
    await journal.close()
    log = journal.path.with_name(f"{journal.path.name}-wal")
    log.with_suffix(".other").write_bytes(b"")  # takes the inode that the old log had, where it is given out again
    log.write_bytes(b"")
    journal.path.rename(journal.path.with_suffix(".moved"))
    await journal.close()
    assert log.exists()


async def test_a_file_system_that_is_read_only_is_told_from_a_missing_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    schema.create_file(path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(JournalError, match="for writing: Permission denied; choose another"):
        schema.create_file(path)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    with pytest.raises(JournalError, match="for writing: Read-only file system; choose another"):
        schema.create_file(path)


async def test_a_connection_that_is_gone_does_not_hinder_closing(journal: SqliteJournal, tmp_path: Path) -> None:
    assert journal._writer is not None
    await journal._writer.connection.close()
    journal.path.rename(tmp_path / "moved.db")
    await journal.close()


async def test_what_a_run_has_more_is_fetched_only_where_there_is_more(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, rows = await started(journal), journal._reader.event_rows
    fetched: list[int] = []

    async def counted(run_id: str | None, after: int, limit: int) -> list[StoredEvent]:
        fetched.append(after)
        return await rows(run_id, after, limit)

    monkeypatch.setattr(journal._reader, "event_rows", counted)
    assert await journal._events_after("r1", 2, 10) == []
    assert fetched == []
    async with await SqliteJournal.open(journal.path) as other:
        await other.append(lease, [warned("from elsewhere")])
    assert [found.pos for found in await journal._events_after("r1", 2, 10)] == [3]
    assert await journal._events_after("unknown", 0, 10) == []
    assert fetched == [2, 0]
