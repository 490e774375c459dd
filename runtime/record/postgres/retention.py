"""Lets finished runs of a journal on Postgres go: with a whole partition of their events where few of its runs stay,
else row by row.

A partition that is full and of which nothing stays is dropped. Of another one the events that stay are put aside, and
back into the emptied partition. Each step is a transaction of its own: a process that dies in between has let go of
some runs wholly and of the others not at all, and the next call goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any, LiteralString, NamedTuple

from psycopg import errors, sql

from runtime.record.address import PostgresAddress
from runtime.record.journal import JournalError
from runtime.record.journal_care import BeforeForgetting
from runtime.record.postgres.connection import Connection, connect, postgres_errors
from runtime.record.postgres.maintenance import BLOBS_IN_USE
from runtime.record.state.durable_run import RUN_TERMINAL

log = logging.getLogger(__name__)

WORTHWHILE_EVENTS = 20_000
"""From how many events on a partition that still gets runs is emptied: fewer rows are deleted, which locks nothing."""
MAX_KEPT_EVENTS = 100_000
"""How many events may stay in a partition that is emptied: it is locked for as long as they are put back."""
KEPT_SHARE = 0.25
"""How many events may stay at most for each that goes: else deleting rows takes less time."""
LOCK_WAIT_MS = 500
"""How long a lock on a partition is asked for at a time: readers and writers wait behind the one who asks."""
LOCK_TRIES = 40
_LOCK_PAUSE_S = 0.5

_FINISHED = sorted(RUN_TERMINAL)
_MAX_RID = (1 << 63) - 1
_OLD: LiteralString = "state = ANY(%(finished)s) AND updated_at < %(before)s"
_PARTITIONS: LiteralString = "SELECT name, low, high, filled FROM event_partition ORDER BY low"
_IN_PARTITION: LiteralString = "rid >= %(low)s AND rid < %(high)s"
_OLD_RUNS: LiteralString = f"""
    SELECT rid, id, last_seq FROM run WHERE {_IN_PARTITION} AND {_OLD} ORDER BY updated_at, rid"""  # noqa: S608 - constants
_STAYING: LiteralString = f"""
    SELECT count(*), coalesce(sum(last_seq), 0)::bigint FROM run WHERE {_IN_PARTITION} AND NOT ({_OLD})"""  # noqa: S608 - constants
_STAYING_RUNS: LiteralString = f"SELECT array_agg(rid) FROM run WHERE {_IN_PARTITION}"  # noqa: S608 - constants
_FORGET_RUNS: LiteralString = f"""
    DELETE FROM run USING unnest(%(rids)s::bigint[], %(seqs)s::bigint[]) AS n(rid, last_seq)
    WHERE run.rid = n.rid AND run.last_seq = n.last_seq AND {_OLD} RETURNING run.rid"""  # noqa: S608 - constants
_FORGET_INCIDENTS: LiteralString = "DELETE FROM incident WHERE run = ANY(%s)"

# With each run the bytes that go with it, after all that are older: a value goes with the last run that names it.
_OLDEST_FINISHED: LiteralString = f"""
    WITH finished AS (
        SELECT rid, id, last_seq, row_number() OVER (ORDER BY updated_at, rid) AS place
        FROM run WHERE rid > 1 AND state = ANY(%(finished)s)
    ), body AS (
        SELECT run AS rid, sum(octet_length(body)) AS bytes FROM event GROUP BY run
    ), named AS (
        SELECT used.value AS digest, max(coalesce(place, {_MAX_RID})) AS place
        FROM event LEFT JOIN finished ON rid = run, json_each_text(blobs::json) AS used
        WHERE blobs IS NOT NULL GROUP BY used.value
    ), long AS (
        SELECT place, sum(octet_length(value)) AS bytes FROM named JOIN blob USING (digest) GROUP BY place
    ) SELECT rid, id, last_seq, (coalesce(body.bytes, 0) + coalesce(long.bytes, 0))::bigint
    FROM finished LEFT JOIN body USING (rid) LEFT JOIN long USING (place) ORDER BY place"""  # noqa: S608 - constants
_LOCK_FINISHED: LiteralString = """
    SELECT 1 FROM run WHERE rid = %s AND state = ANY(%s) AND last_seq = %s FOR UPDATE"""
_FORGET: tuple[LiteralString, ...] = (
    "DELETE FROM event WHERE run = %s",
    "DELETE FROM incident WHERE run = %s",
    "DELETE FROM run WHERE rid = %s",
)
_USED_BYTES: LiteralString = """
    SELECT (SELECT coalesce(sum(octet_length(body)), 0) FROM event)
    + (SELECT coalesce(sum(octet_length(value)), 0) FROM blob)"""

_POSITION: LiteralString = "SELECT pos FROM head"
_UNUSED_BLOBS: LiteralString = f"""
    SELECT array_agg(digest) FROM (SELECT digest FROM blob EXCEPT {BLOBS_IN_USE}) AS unused"""  # noqa: S608 - constants
_FORGET_BLOBS: LiteralString = f"""
    DELETE FROM blob WHERE digest = ANY(%(unused)s)
    AND digest <> ALL(ARRAY({BLOBS_IN_USE} AND event.pos > %(since)s))"""  # noqa: S608 - constants


class _Run(NamedTuple):
    """A finished run as it was found. One with more events when it is to go has changed, and stays."""

    rid: int
    id: str
    last_seq: int


class _Partition(NamedTuple):
    """A partition of the table `event`, for the runs from `low` to before `high`."""

    name: str
    low: int
    high: int
    filled: bool
    """Whether it gets no more runs."""


async def prune_runs(
    address: PostgresAddress,
    *,
    before: datetime | None,
    max_bytes: int | None,
    export: BeforeForgetting | None = None,
    whole_partitions: bool = False,
    dry_run: bool = False,
) -> list[str]:
    """Forget finished runs last touched before `before`, then the oldest until the data fits in `max_bytes`.

    Runs that are not finished are never touched, nor is the workspace's stream. Gives the ids of the runs forgotten.
    `runtime.record.journal_care.JournalCare.prune` says what the last three are.
    """
    connection = await connect(address, patient=True)
    try:
        with postgres_errors("cannot prune", address):
            if dry_run:
                return await _would_go(connection, before, max_bytes, whole_partitions=whole_partitions)
            gone: list[str] = []
            if before is not None:
                limit = before.timestamp()
                gone += [run_id async for run_id in _forget_partitions(connection, limit, export)]
                for row in () if whole_partitions else await _rows(connection, _OLD_RUNS, _old(0, _MAX_RID, limit)):
                    run = _Run(*row)
                    gone += [run.id] if await _forget_run(connection, run, export) else []
                await connection.execute("DELETE FROM command WHERE at < %s", (limit,))
            await _forget_blobs(connection)
            if max_bytes is not None:
                gone += [run_id async for run_id in _forget_oldest(connection, max_bytes, export)]
    finally:
        await connection.close()
    return gone


async def _would_go(
    connection: Connection, before: datetime | None, max_bytes: int | None, *, whole_partitions: bool
) -> list[str]:
    """The runs that `prune_runs` would forget now."""
    gone: dict[str, None] = {}
    if before is not None:
        limit = before.timestamp()
        async for _, old in _partitions_to_empty(connection, limit):
            gone |= dict.fromkeys(run.id for run in old)
        for _, run_id, _ in () if whole_partitions else await _rows(connection, _OLD_RUNS, _old(0, _MAX_RID, limit)):
            gone[run_id] = None
    if max_bytes is not None:
        sizes = {row[1]: row[3] for row in await _rows(connection, _OLDEST_FINISHED, {"finished": _FINISHED})}
        used = await _used(connection) - sum(sizes.get(run_id, 0) for run_id in gone)
        for run_id, size in sizes.items():
            if used > max_bytes and run_id not in gone:
                gone[run_id], used = None, used - size
    return list(gone)


async def _partitions_to_empty(connection: Connection, before: float) -> AsyncIterator[tuple[_Partition, list[_Run]]]:
    """Partitions that can go as a whole, or nearly, each with its old runs."""
    for row in await _rows(connection, _PARTITIONS):
        part = _Partition(*row)
        given = _old(part.low, part.high, before)
        old = [_Run(*each) for each in await _rows(connection, _OLD_RUNS, given)]
        ((runs, staying),) = await _rows(connection, _STAYING, given)
        if (part.filled and not runs) or _is_worthwhile(sum(run.last_seq for run in old), staying):
            yield part, old


async def _forget_partitions(
    connection: Connection, before: float, export: BeforeForgetting | None
) -> AsyncIterator[str]:
    """The runs of partitions that can go as a whole, or nearly."""
    async for part, old in _partitions_to_empty(connection, before):
        given = _old(part.low, part.high, before)
        if export is not None:
            for run in old:
                await export(run.id)
        given |= {"rids": [run.rid for run in old], "seqs": [run.last_seq for run in old]}
        async with connection.transaction():
            gone = {rid for (rid,) in await _rows(connection, _FORGET_RUNS, given)}
            await connection.execute(_FORGET_INCIDENTS, (list(gone),))
            await _empty(connection, part, given)
        for run in old:
            if run.rid in gone:
                yield run.id


def _old(low: int, high: int, before: float) -> dict[str, Any]:
    """What the statements about old runs are given."""
    return {"low": low, "high": high, "finished": _FINISHED, "before": before}


def _is_worthwhile(going: int, staying: int) -> bool:
    """Whether a partition is emptied, of which so many events go and stay."""
    return going >= WORTHWHILE_EVENTS and staying <= min(MAX_KEPT_EVENTS, going * KEPT_SHARE)


async def _empty(connection: Connection, part: _Partition, given: dict[str, Any]) -> None:
    """Take all events out of a partition but those of runs that are there still. In a transaction."""
    name = sql.Identifier(part.name)
    if part.filled and not (await _rows(connection, _STAYING_RUNS, given))[0][0]:
        # What is written of such a run from now on, in a transaction that began before, is put into the default one.
        await _lock(connection, sql.SQL("ONLY event, ONLY {}, ONLY event_default").format(name))
        ((stays,),) = await _rows(connection, _STAYING_RUNS, given)  # one that was being created may be there now
        if not stays:
            await connection.execute(sql.SQL("DROP TABLE {}").format(name))
            return
    else:
        await _lock(connection, sql.SQL("ONLY {}").format(name))
        ((stays,),) = await _rows(connection, _STAYING_RUNS, given)
    kept = sql.SQL("CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM {} WHERE run = ANY({})")
    await connection.execute(kept.format(name, sql.Literal(stays or [])))
    await connection.execute(sql.SQL("TRUNCATE {}").format(name))
    await connection.execute(sql.SQL("INSERT INTO {} SELECT * FROM kept ORDER BY run, seq").format(name))


async def _lock(connection: Connection, tables: sql.Composed) -> None:
    """Have tables for this transaction alone.

    Raises:
        JournalError: another session reads them for long.
    """
    for _ in range(LOCK_TRIES):
        try:
            async with connection.transaction():
                await connection.execute("SELECT set_config('lock_timeout', %s, true)", (str(LOCK_WAIT_MS),))
                await connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(tables))
        except errors.LockNotAvailable:
            log.debug("events are read, their partition cannot be emptied now")
            await asyncio.sleep(_LOCK_PAUSE_S)
        else:
            return
    raise JournalError(
        "cannot prune: another session reads all events, as database export, doctor and pg_dump do; call prune again"
        " when it has ended"
    )


async def _forget_oldest(connection: Connection, max_bytes: int, export: BeforeForgetting | None) -> AsyncIterator[str]:
    """The oldest runs, until the data fits."""
    # More than once only where others wrote meanwhile, or a run stayed.
    while (used := await _used(connection)) > max_bytes:
        gone = 0
        for *row, size in await _rows(connection, _OLDEST_FINISHED, {"finished": _FINISHED}):
            if used <= max_bytes:
                break
            run = _Run(*row)
            if await _forget_run(connection, run, export):
                used -= size
                gone += 1
                yield run.id
        await _forget_blobs(connection)
        if not gone:
            return


async def _forget_run(connection: Connection, run: _Run, export: BeforeForgetting | None) -> bool:
    """A single run, unless it has changed since it was listed; whether it is forgotten."""
    if export is not None:
        await export(run.id)
    async with connection.transaction():
        if not await _rows(connection, _LOCK_FINISHED, (run.rid, _FINISHED, run.last_seq)):
            return False
        for statement in _FORGET:
            await connection.execute(statement, (run.rid,))
    return True


async def _forget_blobs(connection: Connection) -> None:
    """Take away values that no event names any more. Batches that add values, and may name old ones, end before or
    begin after: else one could name a value at the moment in which it goes. All events but the newest are looked
    through before that.
    """
    ((since,),) = await _rows(connection, _POSITION)
    ((unused,),) = await _rows(connection, _UNUSED_BLOBS)
    if not unused:
        return
    async with connection.transaction():
        await connection.execute("LOCK TABLE blob IN SHARE ROW EXCLUSIVE MODE")
        await connection.execute(_FORGET_BLOBS, {"unused": unused, "since": since})


async def _used(connection: Connection) -> int:
    ((used,),) = await _rows(connection, _USED_BYTES)
    return int(used)


async def _rows(
    connection: Connection, statement: LiteralString, parameters: Sequence[Any] | dict[str, Any] = ()
) -> list[tuple[Any, ...]]:
    return await (await connection.execute(statement, parameters)).fetchall()
