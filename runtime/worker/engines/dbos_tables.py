"""Queries on the queue's tables in the database of a workspace (`dbos_schema`).

**A slice** is one entry of the queue: one drive of a run. Its id is ``run:epoch:code``, so a run is queued once for
each of its lives, and again for another label of code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString, NamedTuple, Self

import psycopg
from msgspec.json import decode
from psycopg import sql

from runtime.record.address import PostgresAddress
from runtime.record.workers import ListedWorker, WorkerNeed, WorkerReport, newest_label
from runtime.worker.engines.dbos_schema import APPLICATION, code_version, first_line, queue_schema
from runtime.worker.engines.port import EngineError

UNCLAIMED_S = 5.0
"""After how many seconds a slice is queued again that a worker has taken without claiming its run."""
LOST_S = 15.0
"""After how many seconds a slice is given up whose worker says nothing more."""
RETRY_S = 1.0
"""After how many seconds a run is queued again whose drive could not begin."""
KEPT_S = 3600.0
"""How long, in seconds, slices that have ended are kept, for people; longer where the period of a limit is longer."""

_CLOCK: LiteralString = """
    WITH clock AS MATERIALIZED (
        SELECT coalesce(%(now)s::float8, extract(epoch FROM clock_timestamp())::float8) AS now,
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms)"""
_HELD: LiteralString = "(run.lease_until > clock.now AND run.lease_until <= clock.now + 2 * run.lease_ttl)"
# As `RunRow.runnable` and `RunRow.leased` say.
_READY: LiteralString = f"""(NOT coalesce({_HELD}, false) AND (run.state IN ('queued', 'running')
    OR run.state = 'waiting' AND (run.wake_at <= clock.now OR run.wake_at IS NULL AND run.open_incidents = 0)
    OR run.state = 'frozen' AND run.lease_until IS NOT NULL))"""
_MISSING: LiteralString = f"""{_CLOCK}
    SELECT run.id, run.epoch, run.code, run.summary, run.queue FROM clock, {{journal}}.run
    LEFT JOIN {{queue}}.workflow_status AS slice ON slice.workflow_uuid = run.id || ':' || run.epoch || ':' || run.code
    WHERE run.state IN ('queued', 'running', 'waiting', 'frozen') AND {_READY} AND slice.workflow_uuid IS NULL
    ORDER BY run.rid LIMIT 1000"""  # noqa: S608 - constants
_SLICES: LiteralString = f"""{_CLOCK}, slice AS (
        SELECT *, split_part(workflow_uuid, ':', 1) AS id, split_part(workflow_uuid, ':', 2)::bigint AS epoch,
        regexp_replace(workflow_uuid, '^[^:]*:[^:]*:', '') AS code FROM {{queue}}.workflow_status
        WHERE application_name = {{application}})"""  # noqa: S608 - constants
# In this order: its run is pruned; its worker lost the run's lease; its run was not claimed; its worker is gone.
_OBSOLETE: LiteralString = f"""{_SLICES}
    SELECT slice.workflow_uuid FROM clock, slice LEFT JOIN {{journal}}.run ON run.id = slice.id
    WHERE slice.status = 'PENDING' AND (run.id IS NULL
        OR run.epoch > slice.epoch AND run.lease_until IS NOT NULL AND NOT {_HELD}
        OR run.epoch = slice.epoch AND NOT coalesce({_HELD}, false)
            AND slice.started_at_epoch_ms < clock.ms - %(unclaimed)s * 1000
        OR NOT coalesce({_HELD} AND run.epoch = slice.epoch + 1, false)
            AND slice.started_at_epoch_ms < clock.ms - %(lost)s * 1000 AND NOT EXISTS (SELECT 1 FROM {{journal}}.worker
                WHERE worker.id = slice.executor_id AND abs(clock.now - worker.seen) < %(lost)s))
    OR slice.status IN ('ENQUEUED', 'DELAYED')
        AND (run.id IS NULL OR run.epoch <> slice.epoch OR run.code <> slice.code)
    OR slice.status NOT IN ('PENDING', 'ENQUEUED', 'DELAYED') AND (
        run.epoch = slice.epoch AND run.code = slice.code AND {_READY}
            AND slice.completed_at < clock.ms - %(retry)s * 1000
        OR slice.completed_at < clock.ms - %(kept)s * 1000)
    LIMIT 1000"""  # noqa: S608 - constants
# A slice without a label is for the newest one among the workers that take its queue: of all (NULL), or said.
_REROUTE: LiteralString = """
    WITH wanted AS (
        SELECT slice.workflow_uuid AS id, {queue}.queue_of(run.summary, run.queue) AS queue_name,
        CASE WHEN run.code = '' THEN newest.version ELSE slice.application_version END AS version
        FROM {queue}.workflow_status AS slice JOIN {journal}.run ON run.id = split_part(workflow_uuid, ':', 1)
        LEFT JOIN unnest(%(queues)s::text[], %(versions)s::text[]) AS newest (queue, version)
            ON newest.queue = run.queue
        WHERE slice.status = 'ENQUEUED' AND slice.application_name = {application}
    )
    UPDATE {queue}.workflow_status AS slice SET queue_name = wanted.queue_name, application_version = wanted.version
    FROM wanted WHERE slice.workflow_uuid = wanted.id AND slice.status = 'ENQUEUED' AND (
        slice.queue_name <> wanted.queue_name OR slice.application_version IS DISTINCT FROM wanted.version)"""
_WORKERS: LiteralString = """
    SELECT report FROM {journal}.worker
    WHERE abs(coalesce(%(now)s::float8, extract(epoch FROM clock_timestamp())::float8) - seen) < %(lost)s
    ORDER BY number"""
_ADD: LiteralString = "SELECT {queue}.enqueue_run(%s, %s, %s, %s, %s)"
_OUTLOOK: LiteralString = f"""{_CLOCK}
    SELECT EXISTS (SELECT 1 FROM {{queue}}.workflow_status WHERE status = 'ENQUEUED'
        AND application_name = {{application}} AND queue_name = ANY(%(queues)s) AND created_at < clock.ms - 1000),
    (SELECT min(run.lease_until) - clock.now FROM {{journal}}.run
        WHERE run.state IN ('queued', 'running') AND run.lease_until > clock.now) FROM clock"""  # noqa: S608 - constants
_MINE: LiteralString = """
    SELECT EXISTS (SELECT 1 FROM {queue}.workflow_status
    WHERE workflow_uuid = %s AND status = 'PENDING' AND executor_id = %s)"""
_ADD_LIMITED: LiteralString = "INSERT INTO {queue}.limited_swarm VALUES (%s) ON CONFLICT DO NOTHING"
_COUNTS: LiteralString = """
    SELECT status, count(*) FROM {queue}.workflow_status WHERE application_name = {application}
    AND status IN ('ENQUEUED', 'PENDING') GROUP BY status"""

Connection = psycopg.AsyncConnection[tuple[Any, ...]]


_OF_ONE_RUN = (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded)
"""Failures that say something of what is written, and nothing of the queue."""


@contextmanager
def queue_errors(doing: str) -> Iterator[None]:
    """Failures of Postgres as `EngineError`, saying what was being done."""
    try:
        yield
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedFunction, psycopg.errors.InvalidSchemaName) as exc:
        raise EngineError(f"{doing}: {NO_QUEUE}") from exc
    except psycopg.Error as exc:
        raise EngineError(f"{doing}: {first_line(exc)}") from exc


NO_QUEUE = "the workspace has no queue: make it with orbiter-console database init --dbos, as the owner of the schema"


class RefusedRun(NamedTuple):
    """A run that can go on, and that the queue does not take."""

    run_id: str
    need: WorkerNeed
    error: EngineError
    """Why, in the words of the database."""


class Outlook(NamedTuple):
    """What a look at the queue says of the next one."""

    has_waiting: bool
    """Whether a run has waited for more than a second."""
    lease_ends_s: float | None
    """After how many seconds the next lease ends of a run that is driven, which its worker may have left; None: none
    is.
    """


class QueueTables:
    """Queries on the queue of one workspace, on a connection of their own."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._connection: Connection | None = None
        self._names = {
            "queue": sql.Identifier(queue_schema(address)),
            "journal": sql.Identifier(address.schema),
            "application": sql.Literal(APPLICATION),
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            await self._connection.close()

    async def limit(self, refs: Collection[str]) -> None:
        """From now on runs of these swarms, and of no others, have a queue of their own; `reroute` moves those that
        wait.
        """
        await self._rows("DELETE FROM {queue}.limited_swarm WHERE ref <> ALL(%s)", (list(refs),))
        for ref in refs:
            await self._rows(_ADD_LIMITED, (ref,))

    async def reroute(self, workers: Sequence[ListedWorker]) -> None:
        """Put what waits where it belongs: runs were moved to another queue, or workers of another label came."""
        newest = newest_label(workers)
        queues = {queue for each in workers for queue in each.report.queues}
        # DBOS itself gives slices without a label to workers of the newest one.
        versions = {queue: newest_label(workers, queue) for queue in queues}
        said = {queue: code_version(code) for queue, code in versions.items() if code is not None and code != newest}
        await self._rows(_REROUTE, {"queues": list(said), "versions": list(said.values())})

    async def obsolete(self, now: float | None, kept_s: float, unclaimed_s: float) -> list[str]:
        """Ids of slices that nothing comes of any more."""
        given = {"now": now, "unclaimed": unclaimed_s, "lost": LOST_S, "retry": RETRY_S, "kept": kept_s}
        return [row[0] for row in await self._rows(_OBSOLETE, given)]

    async def enqueue_missing(self, now: float | None) -> tuple[int, list[RefusedRun]]:
        """Queue runs that can go on and are not queued; how many there were, and those that the queue refuses. Each on
        its own: no two rows are held, and none keeps another out.
        """
        missing = await self._rows(_MISSING, {"now": now})
        refused: list[RefusedRun] = []
        for row in missing:
            run_id, _, code, _, queue = row
            try:
                await self._rows(_ADD, row, doing="the queue refuses it")
            except EngineError as exc:
                if not isinstance(exc.__cause__, _OF_ONE_RUN):
                    raise
                refused.append(RefusedRun(run_id, WorkerNeed(code, queue), exc))
        return len(missing), refused

    async def workers(self, now: float | None) -> list[ListedWorker]:
        """Workers that are there, in the order in which they came."""
        rows = await self._rows(_WORKERS, {"now": now, "lost": LOST_S})
        return [ListedWorker(report=decode(text, type=WorkerReport), heard_s=0.0, driving=()) for (text,) in rows]

    async def outlook(self, queues: Collection[str], now: float | None = None) -> Outlook:
        """What comes next, as seen from workers of these queues of DBOS."""
        ((has_waiting, lease_ends_s),) = await self._rows(_OUTLOOK, {"queues": list(queues), "now": now})
        return Outlook(has_waiting, lease_ends_s)

    async def is_mine(self, slice_id: str, worker_id: str) -> bool:
        """Whether a slice is still this worker's."""
        return bool((await self._rows(_MINE, (slice_id, worker_id)))[0][0])

    async def counts(self) -> dict[str, int]:
        """How many slices wait (`ENQUEUED`), and are driven (`PENDING`)."""
        return dict(await self._rows(_COUNTS))

    async def _rows(
        self, text: LiteralString, parameters: Any = None, *, doing: str = "the queue cannot be used"
    ) -> list[Any]:
        with queue_errors(doing):
            if self._connection is None or self._connection.closed:
                self._connection = await psycopg.AsyncConnection.connect(
                    self._address.conninfo, autocommit=True, connect_timeout=10, application_name="orbiter queue"
                )
                await self._connection.execute("SET statement_timeout = 30000")
                await self._connection.execute("SET lock_timeout = 5000")
            cursor = await self._connection.execute(sql.SQL(text).format(**self._names), parameters)
            return await cursor.fetchall() if cursor.description is not None else []
