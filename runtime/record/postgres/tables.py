"""A journal on Postgres as rows of its tables, to be carried into another store and back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import LiteralString

from psycopg import sql

from runtime.record.address import PostgresAddress
from runtime.record.journal import JournalError
from runtime.record.postgres.connection import Connection, connect, postgres_errors
from runtime.record.postgres.partitions import MAKE_PARTITIONS
from runtime.record.postgres.schema import check_version
from runtime.record.rules.tables import COLUMNS, TableRows

_CHUNK_ROWS = 2_000
_DRIVEN: LiteralString = """
    SELECT id FROM run WHERE lease_until > extract(epoch FROM clock_timestamp()) ORDER BY rid LIMIT 5"""
_EMPTY: LiteralString = "SELECT pos = 0 AND (SELECT count(*) FROM run) = 1 FROM head FOR UPDATE"
_AFTER_IMPORT: tuple[LiteralString, ...] = (
    """UPDATE run SET open_incidents = (
        SELECT count(*) FROM incident WHERE incident.run = run.rid AND incident.state = 'open')
        WHERE rid IN (SELECT run FROM incident)""",
    "SELECT setval(pg_get_serial_sequence('run', 'rid'), (SELECT max(rid) FROM run))",
    "SELECT setval(pg_get_serial_sequence('incident', 'iid'), (SELECT max(iid) FROM incident))",
    # Named: without a name it locks the tables of every workspace of the database until the commit.
    "ANALYZE run, event, blob, incident, command",
)


async def read_tables(address: PostgresAddress) -> AsyncIterator[TableRows]:
    """All rows of a workspace, as they stand at one moment, table by table.

    Raises:
        JournalError: a run is driven now, so that what it does next would be missing.
    """
    connection = await connect(address, readonly=True, patient=True)
    try:
        await check_version(connection, address)
        with postgres_errors("cannot read", address):
            await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            # Before the moment is fixed: partitions that `prune` takes away afterwards would be empty to it.
            await connection.execute("LOCK TABLE event IN ACCESS SHARE MODE")
            if driven := await (await connection.execute(_DRIVEN)).fetchall():
                raise JournalError(
                    f"runs are driven now ({', '.join(row[0] for row in driven)}): stop the runtimes of this workspace"
                    " first (orbiter-console stop, on each machine)"
                )
            yield TableRows("head", await (await connection.execute("SELECT pos FROM head")).fetchall())
            for table in COLUMNS:
                async with connection.cursor(name=f"all_{table}") as cursor:
                    await cursor.execute(_table_query("SELECT {columns} FROM {table} ORDER BY {first}", table))
                    while rows := await cursor.fetchmany(_CHUNK_ROWS):
                        yield TableRows(table, rows)
    finally:
        await connection.close()


async def write_tables(address: PostgresAddress, tables: AsyncIterator[TableRows]) -> int:
    """Put rows into a workspace in which nothing is yet, in one transaction. Gives how many events there were.

    Raises:
        JournalError: something is in it.
    """
    connection = await connect(address, patient=True)
    try:
        await check_version(connection, address)
        with postgres_errors("cannot write", address):
            await connection.execute("SET idle_in_transaction_session_timeout = 0")
            async with connection.transaction():
                events = await _write(connection, address, tables)
    finally:
        await connection.close()
    return events


async def _write(connection: Connection, address: PostgresAddress, tables: AsyncIterator[TableRows]) -> int:
    empty = await (await connection.execute(_EMPTY)).fetchone()
    if empty is None or not empty[0]:
        raise JournalError(f"workspace {address.workspace} is not empty: import into one that was just created")
    await connection.execute("DELETE FROM run")
    events = 0
    async for table, rows in tables:
        if table == "head":
            await connection.execute("UPDATE head SET pos = %s", rows[0])
            continue
        if table == "event" and not events:
            await connection.execute(MAKE_PARTITIONS)  # the runs are there
        async with (
            connection.cursor() as cursor,
            cursor.copy(_table_query("COPY {table} ({columns}) FROM STDIN", table)) as copy,
        ):
            for row in rows:
                await copy.write_row(row)
        events += len(rows) * (table == "event")
    for statement in _AFTER_IMPORT:
        await connection.execute(statement)
    return events


def _table_query(text: LiteralString, table: str) -> sql.Composed:
    columns = [sql.Identifier(name) for name in COLUMNS[table]]
    return sql.SQL(text).format(table=sql.Identifier(table), columns=sql.SQL(", ").join(columns), first=columns[0])
