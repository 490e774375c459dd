"""A SQLite journal as rows of its tables, to be carried into another store and back."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

from runtime.record.rules.tables import COLUMNS, TableRows
from runtime.record.sqlite.schema import sqlite_errors
from runtime.record.sqlite.statements import POSITION

_CHUNK_ROWS = 2_000


async def read_tables(path: Path) -> AsyncIterator[TableRows]:
    """All rows of a journal's file, as they stand at one moment, table by table."""
    with (
        sqlite_errors("cannot read", path),
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)) as connection,
    ):
        connection.execute("BEGIN")
        yield TableRows("head", connection.execute(POSITION).fetchall())
        for table, columns in COLUMNS.items():
            found = connection.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {columns[0]}")  # noqa: S608 - constants
            while rows := await asyncio.to_thread(found.fetchmany, _CHUNK_ROWS):
                yield TableRows(table, rows)


async def write_tables(path: Path, tables: AsyncIterator[TableRows]) -> int:
    """Put rows into a journal's file in which nothing is yet, in one transaction. Gives how many events there were."""
    events = 0
    with (
        sqlite_errors("cannot write", path),
        closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as connection,
    ):
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM run")
        async for table, rows in tables:
            if table == "head":
                connection.execute("UPDATE pruned SET pos = ?", rows[0])
                continue
            columns = COLUMNS[table]
            places = ", ".join("?" * len(columns))
            sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"  # noqa: S608 - constants
            await asyncio.to_thread(_insert, connection, sql, rows)
            events += len(rows) * (table == "event")
        connection.execute("COMMIT")
    return events


def _insert(connection: sqlite3.Connection, sql: str, rows: list[tuple[Any, ...]]) -> None:
    connection.executemany(sql, rows)
