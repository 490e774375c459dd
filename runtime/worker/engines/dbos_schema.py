"""The queue's tables in the database of a workspace: their names, how they are made, and who may use them.

They are DBOS's own, in a schema beside the workspace's (`orbiter_news_queue`), with a trigger on the workspace's table
of runs. What is in them can be lost without any loss of a run: it is made again from the journal.
"""

from __future__ import annotations

from typing import LiteralString

import psycopg
from psycopg import sql

from runtime.record.address import PostgresAddress
from runtime.record.journal import JournalError
from runtime.record.state.operator_terms import DEFAULT_QUEUE

APPLICATION = "orbiter"
"""Under this name DBOS keeps what belongs to this program."""
WORKFLOW = "drive_run"
DISPATCH_QUEUE = "runs"
"""How DBOS calls the queue of runs of swarms without a limit of their own (`dispatch_queue`)."""

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


def first_line(exc: BaseException) -> str:
    """What an error of the database says, or of DBOS; its kind where it says nothing."""
    return (str(exc).strip().splitlines() or [type(exc).__name__])[0]


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
        raise JournalError(f"cannot make the queue in {address.url}: {first_line(exc)}") from exc
