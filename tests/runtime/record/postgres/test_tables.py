"""The rows of a workspace, carried into another one of the same database."""

from __future__ import annotations

from contextlib import closing

import psycopg
from psycopg import sql

from runtime.record.address import parse_address
from runtime.record.places import init_database, open_journal
from runtime.record.postgres.tables import read_tables, write_tables
from tests.runtime.record.journal_samples import started


async def test_an_import_needs_no_table_of_another_workspace(postgres_url: str) -> None:
    """Held is what `CREATE INDEX CONCURRENTLY` holds, by which DBOS makes the tables of its queues: it waits for the
    transactions under way, so one of these must not wait for it.
    """
    source, target, other = (parse_address(f"{postgres_url}-{name}") for name in ("source", "target", "other"))
    for each in (source, target, other):
        await init_database(each.url)
    async with await open_journal(source.url) as journal:
        await journal.release(await started(journal))
    with closing(psycopg.connect(other.conninfo)) as held:
        lock = sql.SQL("LOCK TABLE {} IN SHARE UPDATE EXCLUSIVE MODE")
        held.execute(lock.format(sql.Identifier(other.schema, "run")))
        assert await write_tables(target, read_tables(source))
    async with await open_journal(target.url) as journal:
        assert await journal.check() == []
