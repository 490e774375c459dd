"""The SQL statements of the writer: what a batch locks, loads and stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, NamedTuple

import msgspec

from runtime.record.rules.batch import Batch, IncidentRow

# Rows are locked in one order, always; the head comes last, with the events. So writers wait for each other, and never
# in a circle.
LOCK_RUNS: LiteralString = """
    SELECT rid, id, state, epoch, owner, lease_until, lease_ttl, wake_at, last_seq, told_seq, updated_at,
    open_incidents, code, queue FROM run WHERE rid = ANY(ARRAY(SELECT rid FROM run WHERE id = ANY(%(runs)s)
    UNION SELECT run FROM incident WHERE id = ANY(%(incidents)s))) ORDER BY rid FOR UPDATE"""
LOCK_WRITER: LiteralString = """
    SELECT extract(epoch FROM clock_timestamp())::float8, batch, set_config('synchronous_commit', 'off', true)
    FROM writer WHERE id = %s FOR UPDATE"""
"""In a statement of its own, after the runs are locked: the time is that at which this transaction has them. The commit
will not wait for the disk (`FLUSH`)."""
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
MAX_NOTIFY_BYTES = 7_900
"""Of a notice's payload: the server takes less than 8,000."""

# Rows come as a JSON text: less work than an array for each column, for both sides. `json`, since a body may hold
# `\u0000`, which `jsonb` refuses. The limit is how many there are, for the server's plan: it takes them for a hundred,
# and would read whole tables.
_GIVEN_RUNS: LiteralString = "(SELECT * FROM json_populate_recordset(NULL::run, %s::json) LIMIT %s) AS n"
_ADD_RUNS: LiteralString = f"INSERT INTO run (rid, id, state) SELECT rid, id, state FROM {_GIVEN_RUNS}"  # noqa: S608 - constants
_ADD_BLOBS: LiteralString = """
    INSERT INTO blob (digest, value) SELECT * FROM unnest(%b::text[], %b::text[]) ON CONFLICT DO NOTHING"""
_SET_RUNS: LiteralString = f"""
    UPDATE run SET state = n.state, epoch = n.epoch, owner = n.owner, lease_until = n.lease_until,
    lease_ttl = n.lease_ttl, wake_at = n.wake_at, last_seq = n.last_seq, told_seq = n.told_seq,
    updated_at = n.updated_at, open_incidents = n.open_incidents, code = n.code, queue = n.queue,
    summary = coalesce(n.summary, run.summary)
    FROM {_GIVEN_RUNS} WHERE run.rid = n.rid"""  # noqa: S608 - constants
_LENGTHEN_RUNS: LiteralString = f"""
    UPDATE run SET last_seq = n.last_seq, updated_at = n.updated_at, open_incidents = n.open_incidents,
    told_seq = n.told_seq, summary = coalesce(n.summary, run.summary)
    FROM {_GIVEN_RUNS} WHERE run.rid = n.rid"""  # noqa: S608 - constants
_CLOSE_INCIDENTS: LiteralString = """
    UPDATE incident SET state = 'closed', closed_seq = n.closed_seq
    FROM (SELECT * FROM json_populate_recordset(NULL::incident, %s::json) LIMIT %s) AS n
    WHERE incident.run = n.run AND incident.state = 'open'"""
_SET_INCIDENTS: LiteralString = """
    INSERT INTO incident (id, run, state, revision, opened_seq, answer_seq, closed_seq)
    SELECT id, run, state, revision, opened_seq, answer_seq, closed_seq
    FROM json_populate_recordset(NULL::incident, %s::json)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, revision = excluded.revision,
    answer_seq = excluded.answer_seq, closed_seq = excluded.closed_seq"""
_ADD_REPLIES: LiteralString = """
    INSERT INTO command (id, reply, at) SELECT id, reply, at FROM json_populate_recordset(NULL::command, %s::json)
    ON CONFLICT DO NOTHING"""

# The last statement before the commit: the head's lock is held for no round trip of a client. `fit` is this writer's
# row, or nothing, and then nothing is written.
_EVENTS: LiteralString = """
    moved AS (
        UPDATE head SET pos = pos + %(count)s FROM fit RETURNING pos - %(count)s AS before
    ), written AS (
        INSERT INTO event (run, seq, pos, body, blobs) SELECT run, seq, before + pos, body, blobs
        FROM json_populate_recordset(NULL::event, %(events)s::json), moved
    ), counted AS (
        UPDATE writer SET batch = %(batch)s, pos = before, seen = clock_timestamp() FROM moved WHERE id = %(writer)s
    ) SELECT before, pg_notify(%(channel)s, %(notice)s),
    set_config('synchronous_commit', 'off', true) FROM moved"""
_ADD_EVENTS: LiteralString = f"WITH fit AS (SELECT), {_EVENTS}"
_APPEND: LiteralString = f"""
    WITH known AS (
        SELECT * FROM json_to_recordset(%(runs)s::json) AS n (rid bigint, epoch bigint, owner text, before_seq bigint,
            last_seq bigint, updated_at float8, summary text) LIMIT %(expected)s
    ), unchanged AS (
        SELECT FROM run JOIN known USING (rid) WHERE run.last_seq = before_seq AND run.epoch = known.epoch
        AND run.owner = known.owner AND run.lease_until IS NOT NULL ORDER BY rid FOR UPDATE OF run
    ), fit AS (
        SELECT FROM writer WHERE id = %(writer)s AND (SELECT count(*) FROM unchanged) = %(expected)s FOR UPDATE
    ), lengthened AS (
        UPDATE run SET last_seq = n.last_seq, updated_at = n.updated_at, summary = coalesce(n.summary, run.summary)
        FROM known AS n, fit WHERE run.rid = n.rid
    ), {_EVENTS}"""  # noqa: S608 - constants
_COUNT_BATCH: LiteralString = "UPDATE writer SET batch = %s, seen = clock_timestamp() WHERE id = %s RETURNING pos"

WAKE_FUTURE_PARKS: LiteralString = """
    WITH clock AS (SELECT coalesce(%(now)s::float8, extract(epoch FROM clock_timestamp())::float8) AS now)
    UPDATE run SET wake_at = clock.now FROM clock
    WHERE state = 'waiting' AND wake_at > clock.now AND updated_at > clock.now + %(slew)s RETURNING id"""


class Statement(NamedTuple):
    """One statement of a transaction, with its parameters."""

    sql: LiteralString
    parameters: Sequence[Any] | Mapping[str, Any] = ()


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """Where a batch is written, and by whom."""

    schema: str
    writer: str
    number: int
    """Of the batch, among those of this writer."""


def batch_writes(batch: Batch, place: BatchPlace) -> Iterator[Statement]:
    """The batch's changes, in the order in which they must be made. Its runs have their `rid`. The last one gives the
    position before its events.

    Rows of one table come in one order, so that two batches that add the same wait for each other and not in a circle.
    """
    if batch.new_runs:
        new = sorted(batch.new_runs, key=lambda run: run.id)
        yield Statement(_ADD_RUNS, (_rows(new), len(new)))
    if batch.blobs:
        digests = sorted(batch.blobs)
        yield Statement(_ADD_BLOBS, (digests, [batch.blobs[digest] for digest in digests]))
    if batch.changed:
        yield Statement(_SET_RUNS, (_rows(batch.changed.values()), len(batch.changed)))
    if longer := [run for run in batch.longer.values() if run.id not in batch.changed]:
        yield Statement(_LENGTHEN_RUNS, (_rows(longer), len(longer)))
    if batch.finished:
        ended = [{"run": batch.runs[run].rid, "closed_seq": seq} for run, seq in batch.finished.items()]
        yield Statement(_CLOSE_INCIDENTS, (_rows(ended), len(ended)))
    if batch.changed_incidents:
        incidents = sorted(batch.changed_incidents.values(), key=lambda incident: incident.id)
        yield Statement(_SET_INCIDENTS, (_rows(_incident(each, batch) for each in incidents),))
    if batch.new_replies:
        replies = sorted(batch.new_replies.items())
        yield Statement(_ADD_REPLIES, (_rows({"id": name, "reply": text, "at": batch.now} for name, text in replies),))
    if batch.events:
        yield Statement(_ADD_EVENTS, _events(batch, place))
    else:
        yield Statement(_COUNT_BATCH, (place.number, place.writer))


def append(batch: Batch, before: Mapping[str, int], place: BatchPlace) -> Iterator[Statement]:
    """A whole transaction but its commit: writes a batch that does nothing but append to runs, where these are as they
    were. Gives the position before its events; nothing where a run has changed, or the writer's own row is gone.

    Args:
        batch: The events and their runs.
        before: The number of the newest event that each run had, by its id.
        place: Where it is written.
    """
    runs = [
        {
            "rid": run.rid,
            "epoch": run.epoch,
            "owner": run.owner,
            "before_seq": before[run.id],
            "last_seq": run.last_seq,
            "updated_at": run.updated_at,
            "summary": run.summary,
        }
        for run in batch.longer.values()
    ]
    yield Statement("BEGIN")
    yield Statement(_APPEND, {"runs": _rows(runs), "expected": len(runs), **_events(batch, place)})


def _events(batch: Batch, place: BatchPlace) -> dict[str, Any]:
    events = [
        {"run": new.run.rid, "seq": new.event.seq, "pos": number, "body": new.body, "blobs": new.blobs}
        for number, new in enumerate(batch.events, 1)
    ]
    return {
        "events": _rows(events),
        "count": len(events),
        "batch": place.number,
        "writer": place.writer,
        "channel": place.schema,
        "notice": _notice(batch),
    }


def _incident(incident: IncidentRow, batch: Batch) -> dict[str, Any]:
    return {
        "id": incident.id,
        "run": batch.runs[incident.run].rid,
        "state": incident.state,
        "revision": incident.revision,
        "opened_seq": incident.opened_seq,
        "answer_seq": incident.answer_seq,
        "closed_seq": incident.closed_seq,
    }


def _notice(batch: Batch) -> str:
    """The payload that names the runs which got events; ``*`` stands for any."""
    named = ",".join(batch.longer)
    return named if len(named.encode()) <= MAX_NOTIFY_BYTES and "*" not in named else "*"


def _rows(rows: Iterable[Any]) -> str:
    """Rows as a JSON list of objects, which have their columns' names."""
    return msgspec.json.encode(list(rows)).decode()
