"""What marks a file as a journal of this program, and the queries of its lists.

Apart from the schema and the reader: a verb that prints a list is a process of its own, and waits for its imports.
"""

from __future__ import annotations

import msgspec

from runtime.record.workers import ListedWorker, WorkerReport

SCHEMA_VERSION = 3
APPLICATION_ID = 0x0B17E501
"""Tells `file` and us that a database is one of ours."""

RUNS_WITH_SUMMARIES = (
    "SELECT id, state, wake_at, updated_at, summary,"
    " (SELECT count(*) FROM incident WHERE incident.run = run.rid AND incident.state = 'open') FROM run"
)
_OPEN = (
    "run.id, run.summary, event.seq, event.body, event.blobs FROM incident JOIN run ON run.rid = incident.run"
    " JOIN event ON event.run = incident.run AND event.seq = incident.opened_seq WHERE incident.state = 'open'"
)
OPEN_INCIDENTS = "SELECT " + _OPEN + " ORDER BY incident.iid"
OPEN_INCIDENTS_OF_RUN = "SELECT " + _OPEN + " AND run.id = ? ORDER BY incident.iid"
LATER_INCIDENTS = (
    f"SELECT incident.iid, {_OPEN} AND incident.iid > :after AND (:mark = '' OR NOT EXISTS (SELECT 1"  # noqa: S608 - constants
    " FROM event AS later WHERE later.run = incident.run AND later.seq > incident.opened_seq"
    " AND instr(later.body, :mark) AND instr(later.body, '\"incident_id\":\"' || incident.id || '\"')))"
    " ORDER BY incident.iid LIMIT :limit"
)
PROPOSED = """
    SELECT EXISTS (SELECT 1 FROM event WHERE run IN (SELECT run FROM incident WHERE state = 'open')
    AND instr(body, '"type":"incident.answer_proposed"'))"""
"""Whether an agent has proposed an answer in a run that has an open incident."""
# What was said in the future was said before a clock was set back; a worker that is there says so again soon. States of
# runs that are driven are named for the index: this is asked every few seconds, and nearly all runs may be parked.
WORKERS = """
    SELECT worker.report, abs(:now - worker.seen), (SELECT json_group_array(run.id) FROM run
    WHERE run.state IN ('queued', 'running', 'frozen') AND run.lease_until > :now
    AND substr(run.owner, 1, length(worker.id) + 1) = worker.id || '#') FROM worker ORDER BY worker.number"""
PLACED_RUNS = """
    SELECT id, code, queue FROM run WHERE (:everywhere OR code <> '' OR queue <> 'default')
    AND (lease_until IS NULL OR lease_until <= :now OR lease_until > :now + 2 * lease_ttl)
    AND (state IN ('queued', 'running') OR state = 'waiting' AND wake_at <= :now) ORDER BY rid LIMIT 1000"""


def listed_worker(report: str, heard_s: float, driving: str) -> ListedWorker:
    """The worker of a row of `WORKERS`."""
    return ListedWorker(
        report=msgspec.json.decode(report, type=WorkerReport),
        heard_s=heard_s,
        driving=msgspec.json.decode(driving, type=tuple[str, ...]),
    )
