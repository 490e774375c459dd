"""The queries of the Postgres journal, on a connection of their own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

import psycopg

from runtime.record.address import PostgresAddress
from runtime.record.journal import JournalError, Lease
from runtime.record.postgres.connection import Connection, connect, postgres_errors
from runtime.record.rules.search_texts import SEARCHED_TYPES, json_like_pattern
from runtime.record.rules.stored_reader import StoredEvent, StoredIncident, StoredReader
from runtime.record.rules.stored_summary import StoredSummary, to_instant

_EVENTS: LiteralString = """
    SELECT pos, run.id, seq, body, blobs FROM event JOIN run ON run.rid = event.run
    WHERE pos > %s ORDER BY pos LIMIT %s"""
_EVENTS_OF_RUN: LiteralString = """
    SELECT seq, %(run)s::text, seq, body, blobs FROM event
    WHERE run = (SELECT rid FROM run WHERE id = %(run)s) AND seq > %(after)s ORDER BY seq LIMIT %(limit)s"""
_SIEVE: LiteralString = """(%(marks)s::text[] = '{}' OR EXISTS
    (SELECT 1 FROM unnest(%(marks)s::text[]) AS mark WHERE strpos(body, mark) > 0))"""
_LATEST: LiteralString = f"""
    SELECT pos, run.id, seq, body, blobs FROM event JOIN run ON run.rid = event.run
    WHERE pos > %(after)s AND pos < coalesce(%(before)s::bigint, 9223372036854775807) AND {_SIEVE}
    ORDER BY pos DESC LIMIT %(limit)s"""  # noqa: S608 - constants
_LATEST_OF_RUN: LiteralString = f"""
    SELECT seq, %(run)s::text, seq, body, blobs FROM event WHERE run = (SELECT rid FROM run WHERE id = %(run)s)
    AND seq > %(after)s AND seq < coalesce(%(before)s::bigint, 9223372036854775807) AND {_SIEVE}
    ORDER BY seq DESC LIMIT %(limit)s"""  # noqa: S608 - constants
_SEARCHED: LiteralString = """
    SELECT pos, run.id, seq, body, blobs FROM event JOIN run ON run.rid = event.run
    WHERE pos > %(after)s AND rid > 1 AND left(body, 60) ~ %(types)s
    AND (%(word)s::text IS NULL OR blobs IS NOT NULL OR body ILIKE %(word)s) ORDER BY pos LIMIT %(limit)s"""
_TYPES = f'"type":"({"|".join(map(re.escape, SEARCHED_TYPES))})"'
_BLOBS: LiteralString = "SELECT digest, value FROM blob WHERE digest = ANY(%s)"
_LISTED: LiteralString = "SELECT id, state, wake_at, updated_at, summary, open_incidents FROM run WHERE rid > 1"
# Two statements: with a condition that may be none at all the server reads every run for the newest few.
_SUMMARIES: LiteralString = f"{_LISTED} ORDER BY rid DESC LIMIT %(limit)s"
_SUMMARIES_IN: LiteralString = f"{_LISTED} AND state = ANY(%(states)s) ORDER BY rid DESC LIMIT %(limit)s"
_SUMMARY: LiteralString = f"{_LISTED} AND id = %s"
_OPEN_INCIDENTS: LiteralString = """
    SELECT run.summary, event.seq, run.id, event.seq, event.body, event.blobs
    FROM incident JOIN run ON run.rid = incident.run
    JOIN event ON event.run = incident.run AND event.seq = incident.opened_seq
    WHERE incident.state = 'open' AND (%(run)s::text IS NULL OR run.id = %(run)s) ORDER BY incident.iid"""
_LATER_INCIDENTS: LiteralString = """
    SELECT incident.iid, run.summary, event.seq, run.id, event.seq, event.body, event.blobs
    FROM incident JOIN run ON run.rid = incident.run
    JOIN event ON event.run = incident.run AND event.seq = incident.opened_seq
    WHERE incident.state = 'open' AND incident.iid > %(after)s
    AND (%(mark)s::text = '' OR NOT EXISTS (SELECT 1 FROM event AS later WHERE later.run = incident.run
        AND later.seq > incident.opened_seq AND strpos(later.body, %(mark)s) > 0
        AND strpos(later.body, '"incident_id":"' || incident.id || '"') > 0)) ORDER BY incident.iid LIMIT %(limit)s"""
_INCIDENTS: LiteralString = """
    SELECT incident.id, run.id, opened_seq, answer_seq FROM incident JOIN run ON run.rid = incident.run
    WHERE starts_with(incident.id, %s) ORDER BY incident.id LIMIT 6"""
# As `RunRow.leased` and `RunRow.runnable` say, at the time of the server, or of a test. The time is a subquery:
# so it is worked out once, and an index finds the few among many that wait.
_CLOCK: LiteralString = """
    WITH clock AS MATERIALIZED (
        SELECT coalesce(%(now)s::float8, extract(epoch FROM clock_timestamp())::float8) AS now)"""
_NOW: LiteralString = "(SELECT now FROM clock)"
_FREE: LiteralString = f"(lease_until IS NULL OR lease_until <= {_NOW} OR lease_until > {_NOW} + 2 * lease_ttl)"
# As `RunRow.allows` says.
_MINE: LiteralString = f"""{_FREE} AND (%(code)s::text IS NULL OR code IN ('', %(code)s::text))
    AND (%(queues)s::text[] IS NULL OR queue = ANY(%(queues)s::text[]))"""
_RUNNABLE: LiteralString = f"""{_CLOCK}
    SELECT id FROM run WHERE state IN ('queued', 'running') AND {_MINE}
    UNION ALL SELECT id FROM run WHERE state = 'waiting' AND wake_at <= {_NOW} AND {_MINE}
    UNION ALL SELECT id FROM run WHERE state = 'frozen' AND lease_until IS NOT NULL AND {_MINE}
    LIMIT %(limit)s"""  # noqa: S608 - constants
# As `runtime.record.rules.parking.waits_for_nothing` says.
_STRANDED: LiteralString = f"""{_CLOCK}
    SELECT id FROM run WHERE state = 'waiting' AND wake_at IS NULL AND open_incidents = 0 AND {_MINE}
    ORDER BY rid"""  # noqa: S608 - constants
# A lease that ended a moment ago counts too: the last look may have been too early for it.
_NEXT_WAKE: LiteralString = f"""{_CLOCK}
    SELECT least((SELECT min(wake_at) FROM run WHERE state = 'waiting'),
        (SELECT min(lease_until) FROM run WHERE state IN ('queued', 'running') AND lease_until > {_NOW} - 1))"""  # noqa: S608 - constants
_LEASES: LiteralString = "SELECT id, owner, epoch, lease_ttl FROM run WHERE lease_until IS NOT NULL"


class Reader(StoredReader):
    def __init__(self, connection: Connection, address: PostgresAddress) -> None:
        super().__init__()
        self._connection = connection
        self._address = address
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        self.closed = True
        await self._connection.close()

    async def rows(self, sql: LiteralString, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """What a query gives. A connection that broke is opened again, once."""
        connection = await self._open_connection()
        with postgres_errors("cannot read", self._address):
            try:
                return await (await connection.execute(sql, parameters)).fetchall()
            except psycopg.OperationalError:
                if not connection.closed:
                    raise
        connection = await self._open_connection()
        with postgres_errors("cannot read", self._address):
            return await (await connection.execute(sql, parameters)).fetchall()

    async def _open_connection(self) -> Connection:
        async with self._opening:
            if self.closed:
                raise JournalError(f"the journal {self._address.url} is closed")
            if self._connection.closed:
                self._connection = await connect(self._address, readonly=True)
            return self._connection

    async def event_rows(self, run_id: str | None, after: int, limit: int) -> list[StoredEvent]:
        if run_id is None:
            found = await self.rows(_EVENTS, (after, limit))
        else:
            found = await self.rows(_EVENTS_OF_RUN, {"run": run_id, "after": after, "limit": limit})
        return [StoredEvent(*row) for row in found]

    async def latest_rows(
        self, run_id: str | None, after: int, before: int | None, limit: int, marks: Sequence[str]
    ) -> list[StoredEvent]:
        found = await self.rows(
            _LATEST if run_id is None else _LATEST_OF_RUN,
            {"run": run_id, "after": after, "before": before, "limit": limit, "marks": list(marks)},
        )
        return [StoredEvent(*row) for row in found]

    async def searched_rows(self, after: int, limit: int, word: str) -> list[StoredEvent]:
        wanted = json_like_pattern(word) if word else None
        rows = await self.rows(_SEARCHED, {"after": after, "types": _TYPES, "word": wanted, "limit": limit})
        return [StoredEvent(*row) for row in rows]

    async def blob_rows(self, digests: Sequence[str]) -> dict[str, str]:
        return dict(await self.rows(_BLOBS, (list(digests),)))

    async def summary_rows(self, limit: int, states: Sequence[str]) -> list[StoredSummary]:
        statement = _SUMMARIES_IN if states else _SUMMARIES
        return [StoredSummary(*row) for row in await self.rows(statement, {"states": list(states), "limit": limit})]

    async def summary_row(self, run_id: str) -> StoredSummary | None:
        found = await self.rows(_SUMMARY, (run_id,))
        return StoredSummary(*found[0]) if found else None

    async def open_incident_rows(self, run_id: str | None) -> list[tuple[str | None, StoredEvent]]:
        return [(row[0], StoredEvent(*row[1:])) for row in await self.rows(_OPEN_INCIDENTS, {"run": run_id})]

    async def later_incident_rows(
        self, after: int, limit: int, unmarked: str
    ) -> list[tuple[int, str | None, StoredEvent]]:
        rows = await self.rows(_LATER_INCIDENTS, {"after": after, "limit": limit, "mark": unmarked})
        return [(row[0], row[1], StoredEvent(*row[2:])) for row in rows]

    async def incident_rows(self, prefix: str) -> list[StoredIncident]:
        return [StoredIncident(*row) for row in await self.rows(_INCIDENTS, (prefix,))]

    async def run_ids(self) -> list[str]:
        return [row[0] for row in await self.rows("SELECT id FROM run WHERE rid > 1 ORDER BY rid")]

    async def position(self) -> int:
        ((position,),) = await self.rows("SELECT pos FROM head")
        return int(position)

    async def leases(self) -> list[Lease]:
        return [Lease(*row) for row in await self.rows(_LEASES)]

    async def runnable(
        self, now: float | None, limit: int, code: str | None, queues: Collection[str] | None
    ) -> list[str]:
        given = {"now": now, "limit": limit, "code": code, "queues": _listed(queues)}
        return [row[0] for row in await self.rows(_RUNNABLE, given)]

    async def stranded(self, now: float | None, code: str | None, queues: Collection[str] | None) -> list[str]:
        given = {"now": now, "code": code, "queues": _listed(queues)}
        return [row[0] for row in await self.rows(_STRANDED, given)]

    async def next_wake(self, now: float | None) -> datetime | None:
        ((wake_at,),) = await self.rows(_NEXT_WAKE, {"now": now})
        return to_instant(wake_at)

    async def reply(self, command_id: str) -> str | None:
        found = await self.rows("SELECT reply FROM command WHERE id = %s", (command_id,))
        return found[0][0] if found else None


def _listed(names: Collection[str] | None) -> list[str] | None:
    return list(names) if names is not None else None
