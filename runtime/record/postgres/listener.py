"""Notices what other processes, or other journal objects of this one, write: by LISTEN, with a poll behind it.

A notice is a hint that may get lost. So the position is asked every second as well, and every tail looks once after
each connect.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import psycopg
from psycopg import sql

from runtime.record.address import PostgresAddress
from runtime.record.journal import JournalError
from runtime.record.postgres.connection import Connection, connect
from runtime.record.rules.batch import WrittenEvent
from runtime.record.rules.tails import Wake

log = logging.getLogger(__name__)

POLL_S = 1.0
_RECONNECT_S = 0.5


class ChangeListener:
    """The tails' `Waker`. It has a connection of its own while there is a tail.

    Args:
        address: Where the journal is.
        own_pid: The server's process that writes for this journal object.
    """

    def __init__(self, address: PostgresAddress, own_pid: Callable[[], int]) -> None:
        self.eager = False
        self._address = address
        self._own_pid = own_pid
        self._known: int | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopped: set[asyncio.Task[None]] = set()

    def start(self, changed: Wake) -> None:
        """Begin to listen, and call `changed` on this loop's thread. Does nothing if it has begun."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen(changed), name=f"journal listener {self._address.url}")

    def stop(self) -> None:
        """Listen no more, until `start`."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            self._stopped.add(task)
            task.add_done_callback(self._stopped.discard)

    async def join(self) -> None:
        """Wait until what was stopped has let go of its connection."""
        await asyncio.gather(*self._stopped, return_exceptions=True)

    def notify_written(self, written: Sequence[WrittenEvent]) -> None:
        """This object has committed these events."""
        self._known = written[-1].pos

    async def _listen(self, changed: Wake) -> None:
        while True:
            try:
                connection = await connect(self._address, readonly=True)
                try:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._address.schema)))
                    changed()
                    while True:
                        await self._hear(connection, changed)
                finally:
                    await connection.close()
            except (JournalError, psycopg.Error) as exc:
                log.debug("nothing is heard from Postgres, for now: %s", exc)
                changed()  # what is wrong shows where the tails read
                await asyncio.sleep(_RECONNECT_S)

    async def _hear(self, connection: Connection, changed: Wake) -> None:
        """Pass on the notices of a second, then ask for the position."""
        async for note in connection.notifies(timeout=POLL_S):
            if note.pid != self._own_pid():
                changed(None if note.payload == "*" else note.payload.split(","))
        row = await (await connection.execute("SELECT pos FROM head")).fetchone()
        if row is not None and row[0] != self._known:
            self._known = row[0]
            changed()
