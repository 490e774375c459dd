"""The lists of a journal for a process that prints one and ends: no event loop, no threads, no vocabulary of events.

Only a file that is as this program writes it is read here. Of anything else there is no list, and the caller opens the
journal: that brings it up to date, or says what is wrong with it.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec

from runtime.record.listed import JournalLists, ListedIncident
from runtime.record.rules.stored_summary import StoredSummary
from runtime.record.sqlite.list_queries import (
    APPLICATION_ID,
    OPEN_INCIDENTS,
    PLACED_RUNS,
    PROPOSED,
    RUNS_WITH_SUMMARIES,
    SCHEMA_VERSION,
    WORKERS,
    listed_worker,
)
from runtime.record.state.summary import Summary
from runtime.record.workers import PlacedRun, leaves_default_queue, unserved_runs

_BUSY_S = 1.0
"""How long, in seconds, a file that is just being recovered is waited for; opening the journal waits longer."""


class _Unusual(Exception):
    """The file, or a row of it, is not as it is written today."""


def read_quick_lists(
    path: Path, *, runs: int = 0, incidents: bool = False, leave_proposals: bool = True
) -> JournalLists | None:
    """What the journal lists, as it is at one moment; None where it must be opened for that.

    Args:
        path: The journal's file; absolute.
        runs: At most so many runs, the newest.
        incidents: Whether open incidents are asked for.
        leave_proposals: Whether an answer that an agent proposed may be left out. If not, such a journal must be
            opened.
    """
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_BUSY_S)) as connection:
            connection.execute("BEGIN")
            marks = connection.execute(
                "SELECT user_version, application_id FROM pragma_user_version, pragma_application_id"
            ).fetchone()
            if marks != (SCHEMA_VERSION, APPLICATION_ID):
                return None
            if not leave_proposals and connection.execute(PROPOSED).fetchone() != (0,):
                return None
            now = {"now": time.time()}
            workers = [listed_worker(*row) for row in connection.execute(WORKERS, now)]
            given = {**now, "everywhere": leaves_default_queue(workers)}
            placed = [PlacedRun.of(*row) for row in connection.execute(PLACED_RUNS, given)]
            return JournalLists(
                runs=_summaries(connection, runs) if runs else (),
                incidents=_open_incidents(connection) if incidents else (),
                unserved=unserved_runs(placed, workers),
            )
    except (sqlite3.Error, ValueError, _Unusual):  # a faulty text or JSON is a ValueError
        return None


def _summaries(connection: sqlite3.Connection, limit: int) -> tuple[Summary, ...]:
    found = []
    for row in connection.execute(f"{RUNS_WITH_SUMMARIES} WHERE rid > 1 ORDER BY rid DESC LIMIT ?", (limit,)):
        stored = StoredSummary(*row)
        cached = stored.cached()
        if cached is None:
            raise _Unusual
        found.append(stored.current(cached))
    return tuple(found)


def _open_incidents(connection: sqlite3.Connection) -> tuple[ListedIncident, ...]:
    found = []
    for run, summary, _, body, blobs in connection.execute(OPEN_INCIDENTS):
        if blobs is not None or not body.startswith('{"type":"incident.opened",'):  # a version is written before it
            raise _Unusual
        listed = _incident.decode(body)
        found.append(msgspec.structs.replace(listed, run_id=run, body=body, run_summary=summary or ""))
    return tuple(found)


_incident = msgspec.json.Decoder(ListedIncident)
