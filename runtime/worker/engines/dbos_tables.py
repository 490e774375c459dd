"""The queue's tables in the database of a workspace: how they are made, and the queries on them.

They are DBOS's own, in a schema beside the workspace's (`orbiter_news_queue`), with a trigger on the workspace's table
of runs. What is in them can be lost without any loss of a run: it is made again from the journal. **A slice** is one
entry of the queue: one drive of a run. Its id is ``run:epoch:code``, so a run is queued once for each of its lives, and
again for another label of code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString, NamedTuple, Self

import psycopg
from msgspec.json import decode
from psycopg import sql

from runtime.record.address import PostgresAddress
from runtime.record.journal import JournalError
from runtime.record.state.operator_terms import DEFAULT_QUEUE
from runtime.record.workers import ListedWorker, WorkerNeed, WorkerReport, newest_label
from runtime.worker.engines.port import EngineError

APPLICATION = "orbiter"
"""Under this name DBOS keeps what belongs to this program."""
WORKFLOW = "drive_run"
DISPATCH_QUEUE = "runs"
"""How DBOS calls the queue of runs of swarms without a limit of their own (`dispatch_queue`)."""
UNCLAIMED_S = 5.0
"""After how many seconds a slice is queued again that a worker has taken without claiming its run."""
LOST_S = 15.0
"""After how many seconds a slice is given up whose worker says nothing more."""
RETRY_S = 1.0
"""After how many seconds a run is queued again whose drive could not begin."""
KEPT_S = 3600.0
"""How long, in seconds, slices that have ended are kept, for people; longer where the period of a limit is longer."""

_ROUTES: LiteralString = """
    CREATE TABLE IF NOT EXISTS {queue}.limited_swarm (ref text PRIMARY KEY)"""
# A reference is a file's whole path; a limit names its end. A summary holds text of others: without NUL, which a text
# here cannot hold.
_ROUTE: LiteralString = r"""
    CREATE OR REPLACE FUNCTION {queue}.queue_of(summary text, taken text) RETURNS text LANGUAGE sql STABLE AS $body$
        SELECT {dispatch} || CASE taken WHEN {default} THEN '' ELSE '@' || taken END || coalesce(
            (SELECT ': ' || ref FROM {queue}.limited_swarm, (SELECT (
                CASE WHEN strpos(summary, '\u0000') = 0 THEN summary
                ELSE regexp_replace(summary, '(?<!\\)((?:\\\\)*)\\u0000', '\1', 'g') END)::json ->> 'ref'
            ) AS run (name)
            WHERE name = ref OR right(name, length(ref) + 1) = '/' || ref ORDER BY length(ref) DESC LIMIT 1), '')
    $body$"""
# Runs under way go before those that have not begun.
_ENQUEUE: LiteralString = """
    CREATE OR REPLACE FUNCTION {queue}.enqueue_run(id text, epoch bigint, code text, summary text, taken text)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
    BEGIN
        PERFORM {queue}.enqueue_workflow(workflow_name => {workflow}, queue_name => {queue}.queue_of(summary, taken),
            positional_args => ARRAY[to_json(id)], workflow_id => id || ':' || epoch || ':' || code,
            app_version => CASE code WHEN '' THEN NULL ELSE {version} || code END,
            priority => CASE epoch WHEN 0 THEN 2 ELSE 1 END, application_name => {application});
    END $body$"""
# A run is queued in the transaction that makes it one that can go on. That this fails must not stop the journal: a
# worker finds the run later.
_ON_QUEUED: LiteralString = """
    CREATE OR REPLACE FUNCTION {queue}.enqueue_queued() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
    BEGIN
        PERFORM {queue}.enqueue_run(NEW.id, NEW.epoch, NEW.code, NEW.summary, NEW.queue);
        RETURN NULL;
    EXCEPTION WHEN OTHERS THEN
        RAISE WARNING 'run % is not queued now: %', NEW.id, SQLERRM;
        RETURN NULL;
    END $body$"""
_TRIGGER: LiteralString = """
    CREATE OR REPLACE TRIGGER enqueue_queued AFTER UPDATE OF state ON {journal}.run FOR EACH ROW
    WHEN (NEW.state = 'queued' AND NEW.lease_until IS NULL AND NEW.rid > 1)
    EXECUTE FUNCTION {queue}.enqueue_queued()"""
# DBOS reads back what a row calls a pickle by unpickling it: with that, a role that may write to the queue could run
# code in the processes of every other role.
_NO_PICKLES: LiteralString = """
    DO $body$ DECLARE named text; BEGIN
        FOR named IN SELECT table_name FROM information_schema.columns
            WHERE table_schema = {queue_name} AND column_name = 'serialization'
        LOOP
            EXECUTE format('ALTER TABLE %I.%I DROP CONSTRAINT IF EXISTS plain_json, ADD CONSTRAINT plain_json
                CHECK (serialization = ''portable_json'') NOT VALID', {queue_name}, named);
        END LOOP;
    END $body$"""
_ONLY_GRANTED: LiteralString = "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA {queue} FROM PUBLIC"
_MAKE = (_ROUTES, _ROUTE, _ENQUEUE, _ON_QUEUED, _TRIGGER, _NO_PICKLES, _ONLY_GRANTED)
_WORKER: tuple[LiteralString, ...] = (
    "GRANT USAGE ON SCHEMA {queue} TO {role}",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {queue} TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {queue} TO {role}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {queue} TO {role}",
)
_VIEWER: tuple[LiteralString, ...] = (
    "GRANT USAGE ON SCHEMA {queue} TO {role}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA {queue} TO {role}",
)

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


def queue_schema(address: PostgresAddress) -> str:
    """The schema of the queue's tables."""
    return f"{address.schema}_queue"


def dispatch_queue(queue: str = DEFAULT_QUEUE, ref: str = "") -> str:
    """How DBOS calls the queue of runs that workers of `queue` drive; with `ref`: those of this limited swarm. As
    `queue_of` in the database says.
    """
    return DISPATCH_QUEUE + ("" if queue == DEFAULT_QUEUE else f"@{queue}") + (f": {ref}" if ref else "")


def code_version(code: str) -> str:
    """How DBOS knows the code of a label: it gives a slice only to workers of its version."""
    return f"orbiter {code}"


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
        raise EngineError(f"{doing}: {(str(exc).strip().splitlines() or [type(exc).__name__])[0]}") from exc


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


async def init_queue(address: PostgresAddress, *, worker: str = "", operator: str = "", viewer: str = "") -> None:
    """Make what the queue needs beside DBOS's own tables, which stand already, and grant rights to existing roles.

    Raises:
        JournalError: this role may not, or a role does not exist.
    """
    names = {
        "queue": sql.Identifier(queue_schema(address)),
        "queue_name": sql.Literal(queue_schema(address)),
        "journal": sql.Identifier(address.schema),
        "dispatch": sql.Literal(DISPATCH_QUEUE),
        "default": sql.Literal(DEFAULT_QUEUE),
        "workflow": sql.Literal(WORKFLOW),
        "version": sql.Literal(code_version("")),
        "application": sql.Literal(APPLICATION),
    }
    try:
        async with await psycopg.AsyncConnection.connect(address.conninfo, connect_timeout=10) as connection:
            for statement in _MAKE:
                await connection.execute(sql.SQL(statement).format(**names))
            for role, grants in ((worker, _WORKER), (operator, _WORKER), (viewer, _VIEWER)):
                for grant in grants if role else ():
                    await connection.execute(sql.SQL(grant).format(**names, role=sql.Identifier(role)))
    except psycopg.Error as exc:
        raise JournalError(f"cannot make the queue in {address.url}: {str(exc).strip().splitlines()[0]}") from exc
