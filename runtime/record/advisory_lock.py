"""A lock of a Postgres database, under which its tables are made: those of the journal, and those of a queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, LiteralString, Protocol

_RETRY_S = 0.1


class _Rows(Protocol):
    async def fetchone(self) -> tuple[Any, ...] | None: ...


class _Session(Protocol):
    """A connection of psycopg, which this package does without."""

    async def execute(self, query: LiteralString, params: tuple[int], /) -> _Rows: ...


async def hold_advisory_lock(session: _Session, key: int, waiting: Callable[[], object] | None = None) -> None:
    """Have the lock for as long as the session is open.

    Args:
        session: It is in no transaction: what waits asks again and again.
        key: Names the lock within the database.
        waiting: Called once if another session has it.
    """
    # Not waited for in a statement: an index that is made concurrently waits for every statement to end.
    while True:
        row = await (await session.execute("SELECT pg_try_advisory_lock(%s)", (key,))).fetchone()
        if row is not None and row[0]:
            return
        if waiting is not None:
            waiting()
            waiting = None
        await asyncio.sleep(_RETRY_S)
