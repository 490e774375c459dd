"""Journals as the program at 92d48fd could leave them: runs that were parked after a rule had answered for them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

PARKED = '{"type":"run.parked","ts":"2026-11-22T12:00:00Z","reason":"waiting"}'


def lose(path: Path, runs: Sequence[str]) -> None:
    """Put each run, which a rule has answered for, back to just after the answer, and park it. It is not open then."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for run in runs:
            rid, seq = connection.execute(
                "SELECT run.rid, max(answer_seq) FROM run JOIN incident ON incident.run = run.rid WHERE run.id = ?",
                (run,),
            ).fetchone()
            connection.execute("DELETE FROM event WHERE run = ? AND seq > ?", (rid, seq))
            (pos,) = connection.execute("SELECT max(pos) + 1 FROM event").fetchone()
            connection.execute(
                "INSERT INTO event (pos, run, seq, body) VALUES (?, ?, ?, ?)", (pos, rid, seq + 1, PARKED)
            )
            connection.execute(
                "UPDATE run SET state = 'waiting', wake_at = NULL, lease_until = NULL, last_seq = ?, told_seq = ?,"
                " summary = NULL WHERE rid = ?",
                (seq + 1, seq, rid),
            )
