"""A transaction in one hop: its result, its failure, and that nothing of a failed one stays."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import aiosqlite
import pytest

from runtime.record.journal import JournalError
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.sqlite.transaction_thread import TransactionThread
from tests.runtime.record.journal_samples import started, texts, warned


@pytest.fixture
async def hop(tmp_path: Path) -> AsyncIterator[TransactionThread]:
    found = TransactionThread()
    async with aiosqlite.connect(tmp_path / "x.db", isolation_level=None, factory=found.factory) as connection:
        found.bind(connection)
        await connection.execute_fetchall("CREATE TABLE t (n INTEGER)")
        yield found


def count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM t").fetchone()[0])


async def test_work_is_done_in_the_connections_thread(hop: TransactionThread) -> None:
    def work(connection: sqlite3.Connection) -> int:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (1), (2)")
        connection.execute("COMMIT")
        return threading.get_ident()

    assert await hop.run(work) != threading.get_ident()
    assert await hop.run(count) == 2


@pytest.mark.parametrize("failure", [ValueError("mine"), sqlite3.OperationalError("its own")])
async def test_what_fails_is_rolled_back_and_raised(hop: TransactionThread, failure: Exception) -> None:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN")
        connection.execute("INSERT INTO t VALUES (1)")
        raise failure

    with pytest.raises(type(failure), match=str(failure)):
        await hop.run(work)
    assert await hop.run(count) == 0


async def test_a_commit_without_work_is_a_commit(tmp_path: Path) -> None:
    hop = TransactionThread()
    async with aiosqlite.connect(tmp_path / "y.db", factory=hop.factory) as connection:
        await connection.execute("CREATE TABLE t (n INTEGER)")
        await connection.execute("INSERT INTO t VALUES (1)")
        await connection.commit()
        await connection.rollback()
        assert list(await connection.execute_fetchall("SELECT n FROM t")) == [(1,)]


async def test_an_errand_that_fails_leaves_the_writer_at_work(tmp_path: Path) -> None:
    async with await SqliteJournal.open(tmp_path / "journal.db") as journal:
        lease = await started(journal)
        assert journal._writer is not None

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("DELETE FROM event")
            connection.execute("SELECT nonsense")

        with pytest.raises(JournalError, match=r"cannot write.*nonsense") as caught:
            await journal._writer.run_exclusive(work)
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        await journal.append(lease, [warned("goes on")])
        assert texts(await journal.read("r1")) == ["goes on"]
        assert await journal.check() == []
