"""A whole transaction in one hop to SQLite's thread.

aiosqlite hands each statement to the connection's thread and the answer back: four or five such hops for a transaction
cost more than the transaction. `sqlite3.connect` takes a `factory` for connections, and aiosqlite passes it on: ours
makes a connection whose ``commit`` first carries out what it was given. Both interfaces are public.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import aiosqlite

T = TypeVar("T")


class TransactionThread:
    """Carries work to the thread of one connection; used by one task at a time."""

    def __init__(self) -> None:
        self._connection: aiosqlite.Connection | None = None
        self._work: Callable[[sqlite3.Connection], None] | None = None

    def factory(self, *args: Any, **kwargs: Any) -> sqlite3.Connection:
        """What `sqlite3.connect` calls to make the connection."""
        kwargs.pop("factory", None)
        connection = _Connection(*args, **kwargs)
        connection.hop = self
        return connection

    def bind(self, connection: aiosqlite.Connection) -> None:
        """`connection` is the proxy of the connection that `factory` made."""
        self._connection = connection

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `work`, which runs in the connection's thread and ends the transactions that it begins."""
        assert self._connection is not None
        results: list[T] = []
        self._work = lambda connection: results.append(work(connection))
        await self._connection.commit()
        return results[0]

    async def leave_open(self) -> None:
        """Let the connection stay open, also when it is closed, until the process ends. One that is gone stays gone."""
        with suppress(ValueError):  # aiosqlite's word for a connection that is closed
            await self.run(lambda connection: setattr(connection, "left", True))

    def take(self) -> Callable[[sqlite3.Connection], None] | None:
        work, self._work = self._work, None
        return work


class _Connection(sqlite3.Connection):
    hop: TransactionThread | None = None
    left = False

    def close(self) -> None:
        if self.left:  # held by a thread that never ends: also at the interpreter's end nothing closes it
            threading.Thread(target=_hold, args=(self,), name="journal left open", daemon=True).start()
        else:
            super().close()

    def commit(self) -> None:
        work = self.hop.take() if self.hop is not None else None
        if work is None:
            super().commit()
            return
        try:
            work(self)
        finally:
            if self.in_transaction:  # it failed between BEGIN and COMMIT
                self.execute("ROLLBACK")


def _hold(connection: sqlite3.Connection) -> None:
    threading.Event().wait()
    connection.close()
