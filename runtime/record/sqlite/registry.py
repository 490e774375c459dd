"""Workers and claims of a journal in a file: one row each, by the journal's clock."""

from __future__ import annotations

import sqlite3

import msgspec

from runtime.record.sqlite.list_queries import PLACED_RUNS, WORKERS, listed_worker
from runtime.record.sqlite.reader import Reader
from runtime.record.workers import FORGOTTEN_AFTER_S, ListedWorker, PlacedRun, WorkerReport

_BEAT = """
    INSERT INTO worker (id, report, seen) VALUES (?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET report = excluded.report, seen = excluded.seen"""
# One that reaches further than twice its length was taken before a clock was set back (as `RunRow.leased`).
_TAKE_CLAIM = """
    INSERT INTO claim (name, owner, until) VALUES (:name, :owner, :now + :ttl)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
    WHERE claim.owner = excluded.owner OR claim.until <= :now OR claim.until > :now + 2 * :ttl RETURNING owner"""


def beat(connection: sqlite3.Connection, report: WorkerReport, now: float) -> None:
    """See `WorkerRegistry.beat`. `now`: the journal's time, in seconds."""
    connection.execute(_BEAT, (report.id, msgspec.json.encode(report).decode(), now))
    connection.execute("DELETE FROM worker WHERE abs(? - seen) > ?", (now, FORGOTTEN_AFTER_S))


def sign_off(connection: sqlite3.Connection, worker_id: str) -> None:
    """See `WorkerRegistry.sign_off`."""
    connection.execute("DELETE FROM worker WHERE id = ?", (worker_id,))


async def list_workers(reader: Reader, now: float) -> list[ListedWorker]:
    """See `WorkerRegistry.workers`."""
    return [listed_worker(*row) for row in await reader.rows(WORKERS, {"now": now})]


async def placed_runs(reader: Reader, now: float, *, everywhere: bool) -> list[PlacedRun]:
    """See `WorkerRegistry.placed_runs`."""
    rows = await reader.rows(PLACED_RUNS, {"now": now, "everywhere": everywhere})
    return [PlacedRun.of(*row) for row in rows]


def take_claim(connection: sqlite3.Connection, name: str, owner: str, ttl_s: float, now: float) -> bool:
    """See `WorkerRegistry.take_claim`."""
    given = {"name": name, "owner": owner, "ttl": ttl_s, "now": now}
    return bool(connection.execute(_TAKE_CLAIM, given).fetchall())


def drop_claim(connection: sqlite3.Connection, name: str, owner: str) -> None:
    """See `WorkerRegistry.drop_claim`."""
    connection.execute("DELETE FROM claim WHERE name = ? AND owner = ?", (name, owner))
