"""Looking after a journal on Postgres: what it is, and what is wrong with it."""

from __future__ import annotations

from typing import LiteralString

from runtime.record.address import PostgresAddress
from runtime.record.journal import JournalError
from runtime.record.postgres.connection import connect
from runtime.record.postgres.reader import Reader

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
BLOBS_IN_USE: LiteralString = """
    SELECT used.value FROM event, json_each_text(event.blobs::json) AS used WHERE event.blobs IS NOT NULL"""
_MISSING_BLOBS: LiteralString = f"SELECT count(*) FROM ({BLOBS_IN_USE} EXCEPT SELECT digest FROM blob) AS missing"  # noqa: S608 - constants
_UNOPENED: LiteralString = """
    SELECT incident.id FROM incident LEFT JOIN event ON event.run = incident.run AND event.seq = incident.opened_seq
    WHERE event.pos IS NULL"""
_AHEAD: LiteralString = "SELECT count(*) FROM event WHERE pos > (SELECT pos FROM head)"
# Each partition has its own index of positions.
_TWICE: LiteralString = "SELECT count(*) FROM (SELECT FROM event GROUP BY pos HAVING count(*) > 1) AS twice"
_SETTINGS: LiteralString = """
    SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting <> 'on'"""


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
            ((await reader.rows(_TWICE))[0], "positions were given to several events"),
        ):
            if count:
                found.append(f"{count} {what}")
        found += [f"incident {row[0]}: the event that opened it is missing" for row in await reader.rows(_UNOPENED)]
    except JournalError as exc:
        found.append(str(exc))
    finally:
        await reader.close()
    return found
