"""The queries of the SQLite journal: events, lists, the inbox.

On a connection of its own, so that nobody reads what is not committed and no list waits for a write.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from traceback import clear_frames
from typing import Any

import aiosqlite

from runtime.record.journal import AmbiguousId, JournalError, Lease, OpenIncident, PlacedEvent
from runtime.record.rules.batch import WrittenEvent
from runtime.record.rules.rows import decode_event
from runtime.record.rules.writes import RebuildSummary
from runtime.record.sqlite.schema import sqlite_errors
from runtime.record.sqlite.statements import POSITION
from runtime.record.state import events as ev
from runtime.record.state.durable_run import FOLD_VERSION, DurableRun, Summary

CHUNK_ROWS = 1000
_SUMMARY = (
    "SELECT id, state, wake_at, updated_at, summary,"
    " (SELECT count(*) FROM incident WHERE incident.run = run.rid AND incident.state = 'open') FROM run"
)
_OPEN = (
    "SELECT run.id, run.summary, event.seq, event.body, event.blobs FROM incident JOIN run ON run.rid = incident.run"
    " JOIN event ON event.run = incident.run AND event.seq = incident.opened_seq WHERE incident.state = 'open'"
)
_OPEN_OF_RUN = _OPEN + " AND run.id = ? ORDER BY incident.iid"
_OPEN += " ORDER BY incident.iid"
# As `RunRow.leased` and `RunRow.runnable` say.
_FREE = "(lease_until IS NULL OR lease_until <= :now OR lease_until > :now + 2 * lease_ttl)"
_RUNNABLE = (
    "SELECT id FROM run WHERE state IN ('queued', 'running') AND " + _FREE + " UNION ALL"  # noqa: S608 - no input in it
    " SELECT id FROM run WHERE state = 'waiting' AND wake_at <= :now AND " + _FREE + " UNION ALL"
    " SELECT id FROM run WHERE state = 'frozen' AND lease_until IS NOT NULL AND " + _FREE + " LIMIT :limit"
)
# As `runtime.record.rules.parking.waits_for_nothing` says.
_STRANDED = (
    "SELECT id FROM run WHERE state = 'waiting' AND wake_at IS NULL AND " + _FREE + " AND NOT EXISTS"  # noqa: S608 - no input in it
    " (SELECT 1 FROM incident WHERE incident.run = run.rid AND incident.state = 'open') ORDER BY rid"
)


class Reader:
    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        self.connection = connection
        self._path = path
        self.closed = False
        self.renewed: list[RebuildSummary] = []
        """Summaries that had to be made anew, for whoever may write them down."""

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

    async def events(self, run_id: str, after: int = 0, limit: int | None = None) -> list[ev.JournalEvent]:
        found: list[ev.JournalEvent] = []
        while limit is None or len(found) < limit:
            size = CHUNK_ROWS if limit is None else min(CHUNK_ROWS, limit - len(found))
            part = await self.events_after(run_id, after, size)
            found.extend(written.event for written in part)
            if len(part) < size:
                break
            after = part[-1].pos
        return found

    async def events_after(self, run_id: str | None, cursor: int, limit: int) -> list[WrittenEvent]:
        """Events after a run's `seq`, or without a run after a position. A run's `pos` is the event's `seq`."""
        if run_id is None:
            rows = await self.rows(
                "SELECT pos, run.id, seq, body, blobs FROM event JOIN run ON run.rid = event.run"
                " WHERE pos > ? ORDER BY pos LIMIT ?",
                (cursor, limit),
            )
        else:
            rows = await self.rows(
                "SELECT seq, :run, seq, body, blobs FROM event"
                " WHERE run = (SELECT rid FROM run WHERE id = :run) AND seq > :after ORDER BY seq LIMIT :limit",
                {"run": run_id, "after": cursor, "limit": limit},
            )
        values = await self._values(row[4] for row in rows if row[4] is not None)
        return [WrittenEvent(pos, decode_event(run, seq, body, blobs, values)) for pos, run, seq, body, blobs in rows]

    async def latest(
        self, run_id: str | None, after: int, before: int | None, limit: int, marks: Sequence[str]
    ) -> list[PlacedEvent]:
        place = "pos" if run_id is None else "seq"
        of_run = "" if run_id is None else " AND event.run = (SELECT rid FROM run WHERE id = :run)"
        sieve = " AND EXISTS (SELECT 1 FROM json_each(:marks) WHERE instr(body, value))" if marks else ""
        rows = await self.rows(
            f"SELECT {place}, run.id, seq, body, blobs FROM event JOIN run ON run.rid = event.run"  # noqa: S608 - no input in it
            f" WHERE {place} > :after AND (:before IS NULL OR {place} < :before){of_run}{sieve}"
            f" ORDER BY {place} DESC LIMIT :limit",
            {"after": after, "before": before, "limit": limit, "marks": json.dumps(list(marks)), "run": run_id},
        )
        values = await self._values(row[4] for row in rows if row[4] is not None)
        return [
            PlacedEvent(pos, decode_event(run, seq, body, blobs, values))
            for pos, run, seq, body, blobs in reversed(rows)
        ]

    async def _values(self, blobs: Iterable[str]) -> dict[str, str]:
        digests = sorted({digest for names in blobs for digest in json.loads(names).values()})
        if not digests:
            return {}
        found = await self.rows(
            "SELECT digest, value FROM blob WHERE digest IN (SELECT value FROM json_each(?))", (json.dumps(digests),)
        )
        return dict(found)

    async def event(self, run_id: str, seq: int) -> ev.JournalEvent | None:
        found = await self.events_after(run_id, seq - 1, 1)
        return found[0].event if found and found[0].pos == seq else None

    async def position(self) -> int:
        ((position,),) = await self.rows(POSITION)
        return int(position)

    async def leases(self) -> list[Lease]:
        """Leases that nobody gave back, run out or not."""
        rows = await self.rows("SELECT id, owner, epoch, lease_ttl FROM run WHERE lease_until IS NOT NULL")
        return [Lease(*row) for row in rows]

    async def fold(self, run_id: str) -> DurableRun:
        """A run's state from all its events, read in pieces so that a long run does not hold up the loop."""
        state = DurableRun(id="")
        async for event in self.iterate_events(run_id):
            state.apply(event)
        return state

    async def iterate_events(self, run_id: str) -> AsyncIterator[ev.JournalEvent]:
        after = 0
        while part := await self.events_after(run_id, after, CHUNK_ROWS):
            for written in part:
                yield written.event
            after = part[-1].pos

    async def summaries(self, limit: int, states: Sequence[str]) -> list[Summary]:
        wanted = " AND state IN (SELECT value FROM json_each(?))" if states else ""
        parameters = (json.dumps(list(states)), limit) if states else (limit,)
        rows = await self.rows(f"{_SUMMARY} WHERE rid > 1{wanted} ORDER BY rid DESC LIMIT ?", parameters)
        return [await self._summary(row) for row in rows]

    async def summary(self, run_id: str) -> Summary | None:
        rows = await self.rows(f"{_SUMMARY} WHERE id = ? AND rid > 1", (run_id,))
        return await self._summary(rows[0]) if rows else None

    async def _summary(self, row: Sequence[Any]) -> Summary:
        run_id, state, wake_at, updated_at, text, open_incidents = row
        cached = Summary.from_dict(json.loads(text)) if text else None
        if cached is None or cached.fold != FOLD_VERSION:
            state = await self.fold(run_id)
            cached = state.summary()
            self.renewed.append(RebuildSummary(run_id, state.last_seq, cached.to_json()))
        # These the journal itself keeps true: operators change them without a drive that would write a summary.
        return replace(
            cached,
            id=run_id,
            state=state,
            open_incidents=open_incidents,
            wake_at=_instant(wake_at),
            updated_at=_instant(updated_at),
        )

    async def incidents(self, run_id: str | None) -> list[OpenIncident]:
        rows = await self.rows(_OPEN_OF_RUN if run_id is not None else _OPEN, (run_id,) if run_id is not None else ())
        values = await self._values(row[4] for row in rows if row[4] is not None)
        found: list[OpenIncident] = []
        for run, summary, seq, body, blobs in rows:
            opened = decode_event(run, seq, body, blobs, values)
            assert isinstance(opened, ev.IncidentOpened)
            found.append(OpenIncident(run, json.loads(summary).get("title", "") if summary else "", opened))
        return found

    async def incident(self, incident_id: str) -> tuple[str, ev.IncidentOpened, ev.IncidentAnswered | None] | None:
        rows = await self.rows(
            "SELECT incident.id, run.id, opened_seq, answer_seq FROM incident JOIN run ON run.rid = incident.run"
            " WHERE incident.id >= :id AND substr(incident.id, 1, length(:id)) = :id ORDER BY incident.id LIMIT 6",
            {"id": incident_id},
        )
        if not rows or not incident_id:
            return None
        if len(rows) > 1 and rows[0][0] != incident_id:
            names = ", ".join(row[0] for row in rows)
            raise AmbiguousId(f"{incident_id!r} begins more than one incident ({names}): give more of the id")
        _, run_id, opened_seq, answer_seq = rows[0]
        opened = await self.event(run_id, opened_seq)
        answer = await self.event(run_id, answer_seq) if answer_seq is not None else None
        assert isinstance(opened, ev.IncidentOpened)
        assert answer is None or isinstance(answer, ev.IncidentAnswered)
        return run_id, opened, answer

    async def runnable(self, now: float, limit: int) -> list[str]:
        return [row[0] for row in await self.rows(_RUNNABLE, {"now": now, "limit": limit})]

    async def next_wake(self) -> datetime | None:
        rows = await self.rows("SELECT min(wake_at) FROM run WHERE state = 'waiting'")
        return _instant(rows[0][0])

    async def stranded(self, now: float) -> list[str]:
        return [row[0] for row in await self.rows(_STRANDED, {"now": now})]

    async def reply(self, command_id: str) -> str | None:
        rows = await self.rows("SELECT reply FROM command WHERE id = ?", (command_id,))
        return rows[0][0] if rows else None


def _instant(seconds: float | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
