"""The queries of the SQLite journal.

On a connection of its own, so that nothing is read that is not committed and no list waits for a write.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from traceback import clear_frames
from typing import Any

import aiosqlite

from runtime.record.journal import JournalError, Lease
from runtime.record.rules.search_texts import SEARCHED_TYPES, json_like_pattern
from runtime.record.rules.stored_reader import StoredEvent, StoredIncident, StoredReader
from runtime.record.rules.stored_summary import StoredSummary, to_instant
from runtime.record.sqlite.list_queries import (
    LATER_INCIDENTS,
    OPEN_INCIDENTS,
    OPEN_INCIDENTS_OF_RUN,
    RUNS_WITH_SUMMARIES,
)
from runtime.record.sqlite.schema import sqlite_errors
from runtime.record.sqlite.statements import POSITION

# As `RunRow.leased` and `RunRow.runnable` say.
_FREE = "(lease_until IS NULL OR lease_until <= :now OR lease_until > :now + 2 * lease_ttl)"
# As `RunRow.allows` says.
_MINE = (
    _FREE + " AND (:code IS NULL OR code IN ('', :code))"  # noqa: S608 - no input in it
    " AND (:queues IS NULL OR queue IN (SELECT value FROM json_each(:queues)))"
)
_RUNNABLE = (
    "SELECT id FROM run WHERE state IN ('queued', 'running') AND " + _MINE + " UNION ALL"  # noqa: S608 - no input in it
    " SELECT id FROM run WHERE state = 'waiting' AND wake_at <= :now AND " + _MINE + " UNION ALL"
    " SELECT id FROM run WHERE state = 'frozen' AND lease_until IS NOT NULL AND " + _MINE + " LIMIT :limit"
)
# A lease that ended a moment ago counts too: the last look may have been too early for it.
_NEXT_WAKE = (
    "SELECT min(instant) FROM (SELECT min(wake_at) AS instant FROM run WHERE state = 'waiting' UNION ALL"
    " SELECT min(lease_until) FROM run WHERE state IN ('queued', 'running') AND lease_until > :now - 1)"
)
# As `runtime.record.rules.parking.waits_for_nothing` says.
_STRANDED = (
    "SELECT id FROM run WHERE state = 'waiting' AND wake_at IS NULL AND " + _MINE + " AND rid NOT IN"  # noqa: S608 - no input in it
    " (SELECT run FROM incident WHERE state = 'open') ORDER BY rid"
)


_SEARCHED_TYPE = " OR ".join('instr(substr(body, 1, 60), \'"type":"' + name + "\"')" for name in SEARCHED_TYPES)
_SEARCHED = (
    "SELECT pos, run.id, seq, body, blobs FROM event JOIN run ON run.rid = event.run"  # noqa: S608 - constants
    f" WHERE pos > :after AND rid > 1 AND ({_SEARCHED_TYPE})"
    " AND (:word IS NULL OR blobs IS NOT NULL OR body LIKE :word ESCAPE '\\') ORDER BY pos LIMIT :limit"
)


class Reader(StoredReader):
    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        super().__init__()
        self.connection = connection
        self._path = path

    async def rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        if self.closed:
            raise JournalError(f"the journal {self._path} is closed")
        with sqlite_errors("cannot read", self._path):
            try:
                return list(await self.connection.execute_fetchall(sql, parameters))
            except sqlite3.Error as exc:
                # A cursor in its frames would hold this connection at what it reads now, as long as the error lives.
                clear_frames(exc.__traceback__)
                raise
            except UnicodeEncodeError as exc:
                raise JournalError(
                    f"cannot read in {self._path}: the text that is looked for is not valid Unicode"
                ) from exc
            except ValueError as exc:  # aiosqlite's word for a connection closed in the meantime
                raise JournalError(f"the journal {self._path} is closed") from exc

    async def event_rows(self, run_id: str | None, after: int, limit: int) -> list[StoredEvent]:
        if run_id is None:
            rows = await self.rows(
                "SELECT pos, run.id, seq, body, blobs FROM event JOIN run ON run.rid = event.run"
                " WHERE pos > ? ORDER BY pos LIMIT ?",
                (after, limit),
            )
        else:
            rows = await self.rows(
                "SELECT seq, :run, seq, body, blobs FROM event"
                " WHERE run = (SELECT rid FROM run WHERE id = :run) AND seq > :after ORDER BY seq LIMIT :limit",
                {"run": run_id, "after": after, "limit": limit},
            )
        return [StoredEvent(*row) for row in rows]

    async def latest_rows(
        self, run_id: str | None, after: int, before: int | None, limit: int, marks: Sequence[str]
    ) -> list[StoredEvent]:
        place = "pos" if run_id is None else "seq"
        of_run = "" if run_id is None else " AND event.run = (SELECT rid FROM run WHERE id = :run)"
        sieve = " AND EXISTS (SELECT 1 FROM json_each(:marks) WHERE instr(body, value))" if marks else ""
        rows = await self.rows(
            f"SELECT {place}, run.id, seq, body, blobs FROM event JOIN run ON run.rid = event.run"  # noqa: S608 - no input in it
            f" WHERE {place} > :after AND (:before IS NULL OR {place} < :before){of_run}{sieve}"
            f" ORDER BY {place} DESC LIMIT :limit",
            {"after": after, "before": before, "limit": limit, "marks": json.dumps(list(marks)), "run": run_id},
        )
        return [StoredEvent(*row) for row in rows]

    async def searched_rows(self, after: int, limit: int, word: str) -> list[StoredEvent]:
        # LIKE takes small letters for capitals in ASCII only.
        wanted = json_like_pattern(word) if word and word.isascii() else None
        rows = await self.rows(_SEARCHED, {"after": after, "word": wanted, "limit": limit})
        return [StoredEvent(*row) for row in rows]

    async def blob_rows(self, digests: Sequence[str]) -> dict[str, str]:
        sql = "SELECT digest, value FROM blob WHERE digest IN (SELECT value FROM json_each(?))"
        return dict(await self.rows(sql, (json.dumps(list(digests)),)))

    async def summary_rows(self, limit: int, states: Sequence[str]) -> list[StoredSummary]:
        wanted = " AND state IN (SELECT value FROM json_each(?))" if states else ""
        parameters = (json.dumps(list(states)), limit) if states else (limit,)
        rows = await self.rows(f"{RUNS_WITH_SUMMARIES} WHERE rid > 1{wanted} ORDER BY rid DESC LIMIT ?", parameters)
        return [StoredSummary(*row) for row in rows]

    async def summary_row(self, run_id: str) -> StoredSummary | None:
        rows = await self.rows(f"{RUNS_WITH_SUMMARIES} WHERE id = ? AND rid > 1", (run_id,))
        return StoredSummary(*rows[0]) if rows else None

    async def open_incident_rows(self, run_id: str | None) -> list[tuple[str | None, StoredEvent]]:
        sql = OPEN_INCIDENTS_OF_RUN if run_id is not None else OPEN_INCIDENTS
        rows = await self.rows(sql, (run_id,) if run_id is not None else ())
        return [(summary, StoredEvent(seq, run, seq, body, blobs)) for run, summary, seq, body, blobs in rows]

    async def later_incident_rows(
        self, after: int, limit: int, unmarked: str
    ) -> list[tuple[int, str | None, StoredEvent]]:
        rows = await self.rows(LATER_INCIDENTS, {"after": after, "limit": limit, "mark": unmarked})
        return [(iid, summary, StoredEvent(seq, run, seq, body, blobs)) for iid, run, summary, seq, body, blobs in rows]

    async def incident_rows(self, prefix: str) -> list[StoredIncident]:
        rows = await self.rows(
            "SELECT incident.id, run.id, opened_seq, answer_seq FROM incident JOIN run ON run.rid = incident.run"
            " WHERE incident.id >= :id AND substr(incident.id, 1, length(:id)) = :id ORDER BY incident.id LIMIT 6",
            {"id": prefix},
        )
        return [StoredIncident(*row) for row in rows]

    async def run_ids(self) -> list[str]:
        return [row[0] for row in await self.rows("SELECT id FROM run WHERE rid > 1 ORDER BY rid")]

    async def position(self) -> int:
        ((position,),) = await self.rows(POSITION)
        return int(position)

    async def leases(self) -> list[Lease]:
        rows = await self.rows("SELECT id, owner, epoch, lease_ttl FROM run WHERE lease_until IS NOT NULL")
        return [Lease(*row) for row in rows]

    async def runnable(self, now: float, limit: int, code: str | None, queues: Collection[str] | None) -> list[str]:
        given = {"now": now, "limit": limit, "code": code, "queues": _json(queues)}
        return [row[0] for row in await self.rows(_RUNNABLE, given)]

    async def next_wake(self, now: float) -> datetime | None:
        rows = await self.rows(_NEXT_WAKE, {"now": now})
        return to_instant(rows[0][0])

    async def stranded(self, now: float, code: str | None, queues: Collection[str] | None) -> list[str]:
        given = {"now": now, "code": code, "queues": _json(queues)}
        return [row[0] for row in await self.rows(_STRANDED, given)]

    async def reply(self, command_id: str) -> str | None:
        rows = await self.rows("SELECT reply FROM command WHERE id = ?", (command_id,))
        return rows[0][0] if rows else None


def _json(names: Collection[str] | None) -> str | None:
    return json.dumps(list(names)) if names is not None else None
