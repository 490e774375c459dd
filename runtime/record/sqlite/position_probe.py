"""How far the workspace's stream, a run and the whole journal have come, told at once.

Every attempt of a step asks whether a breaker or a freeze is new there, and hardly ever is anything. To ask the
reader's thread costs a hop there and back; to look at one row here costs a few microseconds, and readers wait for
no process in WAL mode. So the question "is there anything new?" is answered in the loop's own thread, once for all who
ask within one turn of the loop, and only what there is gets fetched by the reader.
"""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from runtime.record.sqlite.statements import POSITION

_LAST = "SELECT last_seq FROM run WHERE rid = 1"
_LAST_OF_RUN = "SELECT last_seq FROM run WHERE id = ?"


class PositionProbe:
    """Of one journal object; for its loop's thread alone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._seen: int | None = None

    def seq(self) -> int | None:
        """The `seq` of the workspace's last event; None where that cannot be told now: the reader says why."""
        if self._seen is None:
            self._seen = self._number(_LAST)
            if self._seen is not None:
                asyncio.get_running_loop().call_soon(self._forget)
        return self._seen

    def seq_of(self, run_id: str) -> int | None:
        """The `seq` of a run's last event; None where that cannot be told now."""
        return self._number(_LAST_OF_RUN, run_id)

    def position(self) -> int | None:
        """The position of the journal's last event; None where that cannot be told now."""
        return self._number(POSITION)

    def _number(self, sql: str, *values: str) -> int | None:
        try:
            if self._connection is None:
                uri = f"{self._path.as_uri()}?mode=ro"
                self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0)
            ((found,),) = self._connection.execute(sql, values).fetchall()
        except (sqlite3.Error, ValueError):
            return None
        return int(found)

    def _forget(self) -> None:
        self._seen = None

    def close(self) -> None:
        """Let go of the file. The next look opens it again."""
        self._seen = None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
