"""How a transaction of the writer begins: the rows that its operations may touch are locked and read."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime

import psycopg

from runtime.record.address import IDLE_TRANSACTION_MS
from runtime.record.postgres import statements as sql
from runtime.record.postgres.connection import Connection
from runtime.record.rules.batch import Batch, IncidentRow, RunRow, Write
from runtime.record.rules.writes import CreateRun
from runtime.record.state.clock import SERVER_CLOCK

Clock = Callable[[], datetime]

log = logging.getLogger(__name__)


async def load_batch(
    connection: Connection, ops: Sequence[Write], writer_id: str, clock: Clock | None
) -> tuple[Batch, list[int]] | None:
    """Begin a transaction, and lock and read the rows. With them come the keys for the runs that are created; None
    where the writer's own row is missing.

    Args:
        connection: The writer's.
        ops: What will be done in the transaction.
        writer_id: Names the writer's row.
        clock: The time (UTC) against which leases are held; None for the server's.
    """
    runs = sorted({run_id for op in ops for run_id in op.run_ids()})
    incidents = sorted({incident_id for op in ops for incident_id in op.incident_ids()})
    commands = sorted({command_id for op in ops for command_id in op.command_ids()})
    creates = sum(isinstance(op, CreateRun) for op in ops)
    asked = time.monotonic()
    async with connection.pipeline():
        await connection.execute("BEGIN")
        found = await connection.execute(sql.LOCK_RUNS, {"runs": runs, "incidents": incidents})
        writer = await connection.execute(sql.LOCK_WRITER, (writer_id,))
        named = await connection.execute(sql.INCIDENTS, (incidents,)) if incidents else None
        replied = await connection.execute(sql.COMMANDS, (commands,)) if commands else None
        rids = await connection.execute(sql.NEW_RIDS, (creates,)) if creates else None
    now = await writer.fetchone()
    if now is None:
        return None
    SERVER_CLOCK.hear(now[0], asked, time.monotonic())
    batch = Batch(clock().timestamp() if clock is not None else now[0], {})
    batch.runs.update({row[1]: RunRow(*row) for row in await found.fetchall()})
    if named is not None:
        batch.incidents.update({row[0]: IncidentRow(*row) for row in await named.fetchall()})
    if replied is not None:
        batch.replies.update(dict(await replied.fetchall()))
    return batch, [row[0] for row in await rids.fetchall()] if rids is not None else []


async def end_standing_sessions(connection: Connection) -> int:
    """End the sessions of writers that hold rows and say nothing more (a paused machine); how many there were."""
    try:
        ended = await connection.execute(sql.END_STANDING_SESSIONS, (IDLE_TRANSACTION_MS,))
        row = await ended.fetchone()
    except psycopg.Error as exc:
        log.debug("whether a session stands still cannot be told: %s", exc)
        return 0
    if row is not None and row[0]:
        log.warning("%d sessions stood still in mid-transaction; they were ended", row[0])
    return int(row[0]) if row is not None else 0
