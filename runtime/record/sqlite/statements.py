"""The SQL statements of the writer: what a batch loads and stores."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from runtime.record.journal import CLOCK_CORRECTION_S
from runtime.record.rules.batch import Batch, IncidentRow, RunRow

POSITION = "SELECT max((SELECT pos FROM pruned), coalesce((SELECT max(pos) FROM event), 0))"
HEADS = POSITION + ", (SELECT max(rid) FROM run)"  # noqa: S608 - constants
RUNS = """
    SELECT rid, id, state, epoch, owner, lease_until, lease_ttl, wake_at, last_seq, told_seq, updated_at,
    (SELECT count(*) FROM incident WHERE incident.run = run.rid AND incident.state = 'open'), code, queue FROM run
    WHERE id IN (SELECT value FROM json_each(?))"""
RUNS_OF_INCIDENTS = """
    OR rid IN (SELECT run FROM incident WHERE id IN (SELECT value FROM json_each(?)))"""
INCIDENTS = """
    SELECT incident.id, run.id, incident.state, revision, opened_seq, answer_seq, closed_seq
    FROM incident JOIN run ON run.rid = incident.run WHERE incident.id IN (SELECT value FROM json_each(?))"""
COMMANDS = "SELECT id, reply FROM command WHERE id IN (SELECT value FROM json_each(?))"

_ADD_RUN = "INSERT INTO run (rid, id, state) VALUES (?, ?, ?)"
_ADD_BLOB = "INSERT OR IGNORE INTO blob (digest, value) VALUES (?, ?)"
_ADD_EVENT = "INSERT INTO event (pos, run, seq, body, blobs) VALUES (?, ?, ?, ?, ?)"
_SET_RUN = """
    UPDATE run SET state = ?, epoch = ?, owner = ?, lease_until = ?, lease_ttl = ?, wake_at = ?, last_seq = ?,
    told_seq = ?, updated_at = ?, code = ?, queue = ?, summary = coalesce(?, summary) WHERE rid = ?"""
_LENGTHEN_RUN = "UPDATE run SET last_seq = ?, updated_at = ?, summary = coalesce(?, summary) WHERE rid = ?"
_CLOSE_INCIDENTS = "UPDATE incident SET state = 'closed', closed_seq = ? WHERE run = ? AND state = 'open'"
_SET_INCIDENT = """
    INSERT INTO incident (id, run, state, revision, opened_seq, answer_seq, closed_seq) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, revision = excluded.revision,
    answer_seq = excluded.answer_seq, closed_seq = excluded.closed_seq"""
_ADD_REPLY = "INSERT OR IGNORE INTO command (id, reply, at) VALUES (?, ?, ?)"


_WAKE_FUTURE_PARKS = """
    UPDATE run SET wake_at = :now
    WHERE state = 'waiting' AND wake_at > :now AND updated_at > :now + :slew RETURNING id"""


def wake_parked_runs(connection: sqlite3.Connection, now: float) -> list[str]:
    """See `runtime.record.journal.Journal.wake_future_parks`. A run's last event is when it began to wait, or later."""
    return [
        row[0] for row in connection.execute(_WAKE_FUTURE_PARKS, {"now": now, "slew": CLOCK_CORRECTION_S}).fetchall()
    ]


def sql_writes(batch: Batch, pos: int) -> Iterable[tuple[str, Sequence[Sequence[Any]]]]:
    """The batch's changes as statements with their rows, in the order in which they must be made. Its runs have their
    `rid`; its events come after position `pos`.
    """
    if batch.new_runs:
        yield _ADD_RUN, [(run.rid, run.id, run.state) for run in batch.new_runs]
    if batch.blobs:
        yield _ADD_BLOB, list(batch.blobs.items())
    if batch.events:
        yield (
            _ADD_EVENT,
            [(at, new.run.rid, new.event.seq, new.body, new.blobs) for at, new in enumerate(batch.events, pos + 1)],
        )
    if batch.changed:
        yield _SET_RUN, [_run(run) for run in batch.changed.values()]
    if longer := [run for run in batch.longer.values() if run.id not in batch.changed]:
        yield _LENGTHEN_RUN, [(run.last_seq, run.updated_at, run.summary, run.rid) for run in longer]
    if batch.finished:
        yield _CLOSE_INCIDENTS, [(seq, batch.runs[run_id].rid) for run_id, seq in batch.finished.items()]
    if batch.changed_incidents:
        yield _SET_INCIDENT, [_incident(incident, batch) for incident in batch.changed_incidents.values()]
    if batch.new_replies:
        yield _ADD_REPLY, [(command_id, reply, batch.now) for command_id, reply in batch.new_replies.items()]


def _run(run: RunRow) -> tuple[Any, ...]:
    return (
        run.state, run.epoch, run.owner, run.lease_until, run.lease_ttl, run.wake_at, run.last_seq, run.told_seq,
        run.updated_at, run.code, run.queue, run.summary, run.rid,
    )  # fmt: skip


def _incident(incident: IncidentRow, batch: Batch) -> tuple[Any, ...]:
    return (
        incident.id, batch.runs[incident.run].rid, incident.state, incident.revision,
        incident.opened_seq, incident.answer_seq, incident.closed_seq,
    )  # fmt: skip
