"""Workers and claims of a workspace on Postgres: one row each, by the server's clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

import msgspec

from runtime.record.postgres.connection import Connection
from runtime.record.postgres.reader import Reader
from runtime.record.workers import FORGOTTEN_AFTER_S, ListedWorker, PlacedRun, WorkerReport

_NOW: LiteralString = "coalesce(%(now)s::float8, extract(epoch FROM clock_timestamp())::float8)"
_BEAT: LiteralString = f"""
    INSERT INTO worker (id, report, seen) VALUES (%(id)s, %(report)s, {_NOW})
    ON CONFLICT (id) DO UPDATE SET report = excluded.report, seen = excluded.seen"""  # noqa: S608 - constants
_FORGET: LiteralString = f"DELETE FROM worker WHERE abs({_NOW} - seen) > %(silent)s"  # noqa: S608 - constants
# What was said in the future was said before a clock was set back; a worker that is there says so again soon.
_WORKERS: LiteralString = f"""
    SELECT worker.report, abs({_NOW} - worker.seen), coalesce(array_agg(run.id ORDER BY run.rid)
    FILTER (WHERE run.id IS NOT NULL), '{{}}') FROM worker
    LEFT JOIN run ON run.state IN ('queued', 'running', 'frozen') AND run.lease_until > {_NOW}
    AND starts_with(run.owner, worker.id || '#')
    GROUP BY worker.number ORDER BY worker.number"""  # noqa: S608 - constants
_PLACED: LiteralString = f"""
    SELECT id, code, queue FROM run WHERE (%(everywhere)s OR code <> '' OR queue <> 'default')
    AND (lease_until IS NULL OR lease_until <= {_NOW} OR lease_until > {_NOW} + 2 * lease_ttl)
    AND (state IN ('queued', 'running') OR state = 'waiting' AND wake_at <= {_NOW}) ORDER BY rid LIMIT 1000"""  # noqa: S608 - constants
# One that reaches further than twice its length was taken before a clock was set back (as `RunRow.leased`).
_TAKE_CLAIM: LiteralString = f"""
    INSERT INTO claim (name, owner, until) VALUES (%(name)s, %(owner)s, {_NOW} + %(ttl)s)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
    WHERE claim.owner = excluded.owner OR claim.until <= {_NOW} OR claim.until > {_NOW} + 2 * %(ttl)s
    RETURNING owner"""  # noqa: S608 - constants
_DROP_CLAIM: LiteralString = "DELETE FROM claim WHERE name = %(name)s AND owner = %(owner)s"


async def beat(connection: Connection, report: WorkerReport, now: float | None) -> None:
    """See `WorkerRegistry.beat`. `now`: a test's time, in seconds; None for the server's."""
    text = msgspec.json.encode(report).decode()
    await connection.execute(_BEAT, {"id": report.id, "report": text, "now": now})
    await connection.execute(_FORGET, {"now": now, "silent": FORGOTTEN_AFTER_S})


async def sign_off(connection: Connection, worker_id: str) -> None:
    """See `WorkerRegistry.sign_off`."""
    await connection.execute("DELETE FROM worker WHERE id = %s", (worker_id,))


async def list_workers(reader: Reader, now: float | None) -> list[ListedWorker]:
    """See `WorkerRegistry.workers`."""
    rows: Sequence[Any] = await reader.rows(_WORKERS, {"now": now})
    return [
        ListedWorker(report=msgspec.json.decode(text, type=WorkerReport), heard_s=heard_s, driving=tuple(driving))
        for text, heard_s, driving in rows
    ]


async def placed_runs(reader: Reader, now: float | None, *, everywhere: bool) -> list[PlacedRun]:
    """See `WorkerRegistry.placed_runs`."""
    rows = await reader.rows(_PLACED, {"now": now, "everywhere": everywhere})
    return [PlacedRun.of(*row) for row in rows]


async def take_claim(connection: Connection, name: str, owner: str, ttl_s: float, now: float | None) -> bool:
    """See `WorkerRegistry.take_claim`."""
    given = {"name": name, "owner": owner, "ttl": ttl_s, "now": now}
    return await (await connection.execute(_TAKE_CLAIM, given)).fetchone() is not None


async def drop_claim(connection: Connection, name: str, owner: str) -> None:
    """See `WorkerRegistry.drop_claim`."""
    await connection.execute(_DROP_CLAIM, {"name": name, "owner": owner})
