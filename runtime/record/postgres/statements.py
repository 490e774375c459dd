"""The SQL statements of the writer: what a batch locks, loads and stores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, LiteralString, NamedTuple

from runtime.record.rules.batch import Batch, IncidentRow, RunRow

# Rows are locked in one order, always; the head comes last, with the events. So writers wait for each other, and never
# in a circle.
LOCK_RUNS: LiteralString = """
    SELECT rid, id, state, epoch, owner, lease_until, lease_ttl, wake_at, last_seq, told_seq, updated_at,
    open_incidents, code, queue FROM run WHERE rid = ANY(ARRAY(SELECT rid FROM run WHERE id = ANY(%(runs)s)
    UNION SELECT run FROM incident WHERE id = ANY(%(incidents)s))) ORDER BY rid FOR UPDATE"""
LOCK_WRITER: LiteralString = """
    SELECT extract(epoch FROM clock_timestamp())::float8, batch FROM writer WHERE id = %s FOR UPDATE"""
"""In a statement of its own, after the runs are locked: the time is that at which this transaction has them."""
# After the lock as well: a joined read could see an incident as it was before.
INCIDENTS: LiteralString = """
    SELECT incident.id, run.id, incident.state, revision, opened_seq, answer_seq, closed_seq
    FROM incident JOIN run ON run.rid = incident.run WHERE incident.id = ANY(%s)"""
COMMANDS: LiteralString = "SELECT id, reply FROM command WHERE id = ANY(%s)"
NEW_RIDS: LiteralString = "SELECT nextval(pg_get_serial_sequence('run', 'rid')) FROM generate_series(1, %s)"

NOW: LiteralString = "SELECT extract(epoch FROM clock_timestamp())::float8"
ADD_WRITER: LiteralString = "INSERT INTO writer (id, batch) VALUES (%s, %s)"
DROP_WRITER: LiteralString = "DELETE FROM writer WHERE id = %s OR seen < clock_timestamp() - interval '30 days'"
LAST_BATCH: LiteralString = "SELECT batch, pos FROM writer WHERE id = %s FOR UPDATE"
"""What this writer committed last. Waits for the transaction that was cut off, if the server still has it."""
SEEN: LiteralString = "UPDATE writer SET seen = clock_timestamp() WHERE id = %s"
END_SESSIONS: LiteralString = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = %s AND pid <> pg_backend_pid() AND usename = current_user"""
END_STANDING_SESSIONS: LiteralString = """
    SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE application_name LIKE 'orbiter-console %%' AND pid <> pg_backend_pid() AND usename = current_user
    AND datname = current_database() AND xact_start IS NOT NULL AND wait_event = 'ClientRead'
    AND state_change < clock_timestamp() - %s * interval '1 ms'"""
"""Ends the sessions of writers that stopped in mid-transaction: the server waits for their next statement, in vain. A
writer whose session ends asks what became of its batch; it loses nothing."""
FLUSH: LiteralString = "SELECT pg_logical_emit_message(true, 'orbiter', '')"
"""A small transaction of its own, which waits until all of the log before it is on disk."""
NOTIFY: LiteralString = "SELECT pg_notify(%s, %s)"
MAX_NOTIFY_BYTES = 7_900
"""Of a notice's payload: the server takes less than 8,000."""

_ADD_RUNS: LiteralString = """
    INSERT INTO run (rid, id, state) SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[])"""
_ADD_BLOBS: LiteralString = """
    INSERT INTO blob (digest, value) SELECT * FROM unnest(%s::text[], %s::text[]) ON CONFLICT DO NOTHING"""
_SET_RUNS: LiteralString = """
    UPDATE run SET state = n.state, epoch = n.epoch, owner = n.owner, lease_until = n.lease_until,
    lease_ttl = n.lease_ttl, wake_at = n.wake_at, last_seq = n.last_seq, told_seq = n.told_seq,
    updated_at = n.updated_at, open_incidents = n.open_incidents, code = n.code, queue = n.queue,
    summary = coalesce(n.summary, run.summary)
    FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::text[], %s::float8[], %s::float8[], %s::float8[],
    %s::bigint[], %s::bigint[], %s::float8[], %s::bigint[], %s::text[], %s::text[], %s::text[])
    AS n(rid, state, epoch, owner, lease_until, lease_ttl, wake_at, last_seq, told_seq, updated_at, open_incidents,
    code, queue, summary) WHERE run.rid = n.rid"""
_LENGTHEN_RUNS: LiteralString = """
    UPDATE run SET last_seq = n.last_seq, updated_at = n.updated_at, open_incidents = n.open_incidents,
    told_seq = n.told_seq, summary = coalesce(n.summary, run.summary)
    FROM unnest(%s::bigint[], %s::bigint[], %s::float8[], %s::bigint[], %s::bigint[], %s::text[])
    AS n(rid, last_seq, updated_at, open_incidents, told_seq, summary) WHERE run.rid = n.rid"""
_CLOSE_INCIDENTS: LiteralString = """
    UPDATE incident SET state = 'closed', closed_seq = n.seq FROM unnest(%s::bigint[], %s::bigint[]) AS n(run, seq)
    WHERE incident.run = n.run AND incident.state = 'open'"""
_SET_INCIDENTS: LiteralString = """
    INSERT INTO incident (id, run, state, revision, opened_seq, answer_seq, closed_seq)
    SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, revision = excluded.revision,
    answer_seq = excluded.answer_seq, closed_seq = excluded.closed_seq"""
_ADD_REPLIES: LiteralString = """
    INSERT INTO command (id, reply, at) SELECT * FROM unnest(%s::text[], %s::text[], %s::float8[])
    ON CONFLICT DO NOTHING"""

ADD_EVENTS: LiteralString = """
    WITH added AS (
        SELECT * FROM unnest(%(runs)s::bigint[], %(seqs)s::bigint[], %(bodies)s::text[], %(blobs)s::text[])
        WITH ORDINALITY AS n(run, seq, body, blobs, number)
    ), moved AS (
        UPDATE head SET pos = pos + %(count)s RETURNING pos - %(count)s AS before
    ), written AS (
        INSERT INTO event (run, seq, pos, body, blobs)
        SELECT run, seq, before + number, body, blobs FROM added, moved
    ), counted AS (
        UPDATE writer SET batch = %(batch)s, pos = before, seen = clock_timestamp() FROM moved WHERE id = %(writer)s
    ) SELECT before FROM moved"""
"""The last statement before the commit: the head's lock is held for no round trip of a client."""
COUNT_BATCH: LiteralString = "UPDATE writer SET batch = %s, seen = clock_timestamp() WHERE id = %s"
"""The last statement of a batch without events."""

WAKE_FUTURE_PARKS: LiteralString = """
    WITH clock AS (SELECT coalesce(%(now)s::float8, extract(epoch FROM clock_timestamp())::float8) AS now)
    UPDATE run SET wake_at = clock.now FROM clock
    WHERE state = 'waiting' AND wake_at > clock.now AND updated_at > clock.now + %(slew)s RETURNING id"""


class Statement(NamedTuple):
    """One statement of a batch, with its parameters."""

    sql: LiteralString
    parameters: Sequence[Any]


def batch_writes(batch: Batch) -> Iterable[Statement]:
    """The batch's changes but its events, in the order in which they must be made. Its runs have their `rid`.

    Rows of one table come in one order, so that two batches that add the same wait for each other and not in a circle.
    """
    if batch.new_runs:
        new = sorted(batch.new_runs, key=lambda run: run.id)
        yield Statement(_ADD_RUNS, ([run.rid for run in new], [run.id for run in new], [run.state for run in new]))
    if batch.blobs:
        yield Statement(_ADD_BLOBS, _columns(sorted(batch.blobs.items())))
    if batch.changed:
        yield Statement(_SET_RUNS, _columns(map(_changed, batch.changed.values())))
    if longer := [run for run in batch.longer.values() if run.id not in batch.changed]:
        yield Statement(_LENGTHEN_RUNS, _columns(map(_longer, longer)))
    if batch.finished:
        yield Statement(_CLOSE_INCIDENTS, _columns((batch.runs[run].rid, seq) for run, seq in batch.finished.items()))
    if batch.changed_incidents:
        incidents = sorted(batch.changed_incidents.values(), key=lambda incident: incident.id)
        yield Statement(_SET_INCIDENTS, _columns(_incident(each, batch) for each in incidents))
    if batch.new_replies:
        replies = sorted(batch.new_replies.items())
        yield Statement(_ADD_REPLIES, _columns((command, reply, batch.now) for command, reply in replies))


def notice(batch: Batch) -> str:
    """The payload that names the runs which got events; ``*`` stands for any."""
    named = ",".join(batch.longer)
    return named if len(named.encode()) <= MAX_NOTIFY_BYTES and "*" not in named else "*"


def _columns(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _changed(run: RunRow) -> Sequence[Any]:
    return (
        run.rid, run.state, run.epoch, run.owner, run.lease_until, run.lease_ttl, run.wake_at, run.last_seq,
        run.told_seq, run.updated_at, run.open_incidents, run.code, run.queue,
        run.summary,
    )  # fmt: skip


def _longer(run: RunRow) -> Sequence[Any]:
    return (run.rid, run.last_seq, run.updated_at, run.open_incidents, run.told_seq, run.summary)


def _incident(incident: IncidentRow, batch: Batch) -> Sequence[Any]:
    return (
        incident.id, batch.runs[incident.run].rid, incident.state, incident.revision,
        incident.opened_seq, incident.answer_seq, incident.closed_seq,
    )  # fmt: skip
