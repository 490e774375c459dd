"""Looking after a journal on Postgres: check it, and let old runs go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import LiteralString

from runtime.record.address import PostgresAddress
from runtime.record.journal import JournalError
from runtime.record.postgres.connection import Connection, connect, postgres_errors
from runtime.record.postgres.reader import Reader
from runtime.record.state.durable_run import RUN_TERMINAL

_FACTS: LiteralString = """
    SELECT current_setting('server_version'), (SELECT version FROM schema_version),
    (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
    AND c.relkind IN ('r', 'p'))::bigint"""
_GAPS: LiteralString = """
    SELECT run.id, count(event.seq), coalesce(max(event.seq), 0), run.last_seq
    FROM run LEFT JOIN event ON event.run = run.rid GROUP BY run.rid
    HAVING count(event.seq) <> run.last_seq OR coalesce(max(event.seq), 0) <> run.last_seq"""
_MISCOUNTED: LiteralString = """
    SELECT run.id FROM run LEFT JOIN incident ON incident.run = run.rid AND incident.state = 'open'
    GROUP BY run.rid HAVING count(incident.iid) <> run.open_incidents"""
_BLOBS_IN_USE: LiteralString = """
    SELECT used.value FROM event, json_each_text(event.blobs::json) AS used WHERE event.blobs IS NOT NULL"""
_MISSING_BLOBS: LiteralString = f"SELECT count(*) FROM ({_BLOBS_IN_USE} EXCEPT SELECT digest FROM blob) AS missing"  # noqa: S608 - constants
_UNOPENED: LiteralString = """
    SELECT incident.id FROM incident LEFT JOIN event ON event.run = incident.run AND event.seq = incident.opened_seq
    WHERE event.pos IS NULL"""
_AHEAD: LiteralString = "SELECT count(*) FROM event WHERE pos > (SELECT pos FROM head)"
_SETTINGS: LiteralString = """
    SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting <> 'on'"""
_FINISHED = sorted(RUN_TERMINAL)
_OLDEST_FINISHED: LiteralString = """
    SELECT rid, id, updated_at FROM run WHERE rid > 1 AND state = ANY(%s) ORDER BY updated_at, rid"""
_LOCK_FINISHED: LiteralString = "SELECT 1 FROM run WHERE rid = %s AND state = ANY(%s) FOR UPDATE"
_USED_BYTES: LiteralString = """
    SELECT (SELECT coalesce(sum(octet_length(body)), 0) FROM event)
    + (SELECT coalesce(sum(octet_length(value)), 0) FROM blob)"""
_FORGET: tuple[LiteralString, ...] = (
    "DELETE FROM event WHERE run = %s",
    "DELETE FROM incident WHERE run = %s",
    "DELETE FROM run WHERE rid = %s",
)
_HAS_BLOBS: LiteralString = "SELECT 1 FROM event WHERE run = %s AND blobs IS NOT NULL LIMIT 1"
_FORGET_BLOBS: LiteralString = f"DELETE FROM blob WHERE digest NOT IN ({_BLOBS_IN_USE})"  # noqa: S608 - constants


async def describe_database(reader: Reader) -> tuple[str, int, int]:
    """The server's version, the schema's, and the size of the workspace's tables in bytes."""
    ((server, schema, size),) = await reader.rows(_FACTS)
    return server, schema, size


async def check_journal(address: PostgresAddress) -> list[str]:
    """What is wrong with the workspace's tables, in sentences; empty if nothing. Reads all of them."""
    found: list[str] = []
    reader = Reader(await connect(address, readonly=True, patient=True), address)
    try:
        found += [f"the server runs with {name} = {value}" for name, value in await reader.rows(_SETTINGS)]
        for run_id, count, highest, last in await reader.rows(_GAPS):
            found.append(f"run {run_id}: {count} events up to seq {highest}, where its row says {last}")
        found += [f"run {row[0]}: its open incidents are miscounted" for row in await reader.rows(_MISCOUNTED)]
        for (count,), what in (
            ((await reader.rows(_MISSING_BLOBS))[0], "values that events refer to are missing"),
            ((await reader.rows(_AHEAD))[0], "events have a position beyond the newest"),
        ):
            if count:
                found.append(f"{count} {what}")
        found += [f"incident {row[0]}: the event that opened it is missing" for row in await reader.rows(_UNOPENED)]
    except JournalError as exc:
        found.append(str(exc))
    finally:
        await reader.close()
    return found


async def prune_runs(address: PostgresAddress, *, before: datetime | None, max_bytes: int | None) -> list[str]:
    """Forget finished runs last touched before `before`, then the oldest until the data fits in `max_bytes`.

    Runs that are not finished are never touched, nor is the workspace's stream. Gives the ids of the runs forgotten.
    """
    connection = await connect(address, patient=True)
    try:
        with postgres_errors("cannot prune", address):
            gone = [run_id async for run_id in _forget_runs(connection, before, max_bytes)]
            if before is not None:
                await connection.execute("DELETE FROM command WHERE at < %s", (before.timestamp(),))
    finally:
        await connection.close()
    return gone


async def _forget_runs(connection: Connection, before: datetime | None, max_bytes: int | None) -> AsyncIterator[str]:
    listed = await (await connection.execute(_OLDEST_FINISHED, (_FINISHED,))).fetchall()
    for rid, run_id, updated_at in listed:
        old = before is not None and updated_at < before.timestamp()
        if not old and (max_bytes is None or await _used(connection) <= max_bytes):
            return  # the rest is younger still, and there is room for it
        has_blobs = await (await connection.execute(_HAS_BLOBS, (rid,))).fetchone() is not None
        async with connection.transaction():
            if await (await connection.execute(_LOCK_FINISHED, (rid, _FINISHED))).fetchone() is None:
                continue  # it was turned back since it was listed
            for statement in _FORGET:
                await connection.execute(statement, (rid,))
        if has_blobs:
            await _forget_blobs(connection)
        yield run_id


async def _forget_blobs(connection: Connection) -> None:
    """Take away values that no event names any more. Batches that add values, and may name old ones, end before or
    begin after: else one could name a value at the moment in which it goes.
    """
    async with connection.transaction():
        await connection.execute("LOCK TABLE blob IN SHARE ROW EXCLUSIVE MODE")
        await connection.execute(_FORGET_BLOBS)


async def _used(connection: Connection) -> int:
    row = await (await connection.execute(_USED_BYTES)).fetchone()
    return int(row[0]) if row is not None else 0
