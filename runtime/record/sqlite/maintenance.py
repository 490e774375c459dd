"""Looking after a SQLite journal: check, back up, make summaries again, and let old runs go."""
# ruff: noqa: ASYNC240 - single looks at a local disk, in rare errands

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from runtime.record.journal import JournalError
from runtime.record.journal_care import BeforeForgetting
from runtime.record.sqlite.content_check import remove_token
from runtime.record.sqlite.reader import Reader
from runtime.record.sqlite.schema import connect, sqlite_errors
from runtime.record.sqlite.statements import POSITION
from runtime.record.sqlite.writer import Writer
from runtime.record.state.durable_run import RUN_TERMINAL

_GAPS = """
    SELECT run.id, count(event.seq), coalesce(max(event.seq), 0), run.last_seq
    FROM run LEFT JOIN event ON event.run = run.rid GROUP BY run.rid
    HAVING count(event.seq) != run.last_seq OR coalesce(max(event.seq), 0) != run.last_seq"""
_ORPHANS = "SELECT count(*) FROM event WHERE run NOT IN (SELECT rid FROM run)"
_BLOBS_IN_USE = """
    SELECT used.value FROM event, json_each(event.blobs) AS used WHERE event.blobs IS NOT NULL"""
_MISSING_BLOBS = f"SELECT count(*) FROM ({_BLOBS_IN_USE} EXCEPT SELECT digest FROM blob)"  # noqa: S608 - constants
_UNREADABLE = """
    SELECT run.id, event.seq FROM event JOIN run ON run.rid = event.run WHERE NOT json_valid(event.body) LIMIT 20"""
_UNREADABLE_BLOBS = "SELECT count(*) FROM blob WHERE NOT json_valid(value)"
_UNOPENED = """
    SELECT incident.id FROM incident LEFT JOIN event ON event.run = incident.run AND event.seq = incident.opened_seq
    WHERE event.pos IS NULL"""
_USED_BYTES = """
    SELECT ((SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count))
    * (SELECT page_size FROM pragma_page_size)"""
_KEEP_POSITION = f"UPDATE pruned SET pos = ({POSITION})"  # noqa: S608 - a constant
_FORGET = (
    "DELETE FROM event WHERE run = ?",
    "DELETE FROM incident WHERE run = ?",
    "DELETE FROM run WHERE rid = ?",
)
_FORGET_BLOBS = f"DELETE FROM blob WHERE digest NOT IN ({_BLOBS_IN_USE})"  # noqa: S608 - constants
_HAS_BLOBS = "SELECT 1 FROM event WHERE run = ? AND blobs IS NOT NULL LIMIT 1"
_FINISHED = ", ".join(f"'{state}'" for state in sorted(RUN_TERMINAL))
_OLDEST_FINISHED = f"""
    SELECT rid, id, last_seq, updated_at FROM run WHERE rid > 1 AND state IN ({_FINISHED}) ORDER BY updated_at, rid"""  # noqa: S608
_CHANGED = f"SELECT 1 FROM run WHERE rid = ? AND (state NOT IN ({_FINISHED}) OR last_seq <> ?)"  # noqa: S608
"""It was written to since it was listed: turned back, for example."""


async def check_journal(reader: Reader) -> list[str]:
    """What is wrong with the file, in sentences; empty if nothing. Reads all of it."""
    found: list[str] = []
    try:
        found += [f"SQLite: {row[0]}" for row in await reader.rows("PRAGMA integrity_check") if row[0] != "ok"]
        for run_id, count, highest, last in await reader.rows(_GAPS):
            found.append(f"run {run_id}: {count} events up to seq {highest}, where its row says {last}")
        for (count,), what in (
            ((await reader.rows(_ORPHANS))[0], "events belong to no run"),
            ((await reader.rows(_MISSING_BLOBS))[0], "values that events refer to are missing"),
            ((await reader.rows(_UNREADABLE_BLOBS))[0], "values are not JSON"),
        ):
            if count:
                found.append(f"{count} {what}")
        found += [f"event {seq} of run {run_id} is not JSON" for run_id, seq in await reader.rows(_UNREADABLE)]
        found += [f"incident {row[0]}: the event that opened it is missing" for row in await reader.rows(_UNOPENED)]
    except JournalError as exc:
        found.append(str(exc))
    return found


async def backup_journal(path: Path, target: Path) -> None:
    """Write a consistent copy to `target`, which must not exist. Others may write on in the meantime.

    The copy has its name only once it is whole and on disk.
    """
    if target.exists():
        raise JournalError(f"cannot back up to {target}: it exists")
    try:
        # A directory that only its owner may enter: SQLite makes the file itself, with the process's umask.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as directory:
            part = Path(directory) / target.name
            await _copy(path, part)
            await asyncio.to_thread(remove_token, part)
            part.chmod(0o600)
            _sync(part)
            part.rename(target)
        _sync(target.parent)
    except OSError as exc:
        raise JournalError(f"cannot back up to {target}: {exc.strerror or exc}") from exc


def rescue(connection: sqlite3.Connection, target: Path) -> None:
    """Copy what `connection` has open to `target`, page by page. In the connection's thread."""
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    copy = sqlite3.connect(target)
    try:
        connection.backup(copy)
    finally:
        copy.close()


async def _copy(path: Path, target: Path) -> None:
    with sqlite_errors(f"cannot copy to {target}", path):
        connection = await connect(path, readonly=True)
        try:
            await connection.execute_fetchall("VACUUM INTO ?", (str(target),))
        finally:
            await connection.close()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


async def prune_runs(
    writer: Writer, *, before: datetime | None, max_bytes: int | None, export: BeforeForgetting | None = None
) -> list[str]:
    """Forget finished runs last touched before `before`, then the oldest until the data fits in `max_bytes`.

    Runs that are not finished are never touched, nor is the workspace's stream. Gives the ids of the runs forgotten;
    the file shrinks by what they took. `export` is called with each run before it is forgotten.
    """
    gone: list[str] = []
    for rid, run_id, last_seq, updated_at in await writer.run_exclusive(_oldest_finished):
        if not _is_old(updated_at, before) and (max_bytes is None or await writer.run_exclusive(_used) <= max_bytes):
            break  # the rest is younger still, and there is room for it
        if export is not None:
            await export(run_id)
        if await writer.run_exclusive(partial(_forget_run, rid=rid, last_seq=last_seq)):
            gone.append(run_id)
    await writer.run_exclusive(partial(_tidy, before=before))
    return gone


async def old_runs(reader: Reader, before: datetime | None) -> list[str]:
    """The finished runs last touched before `before`, which `prune_runs` would forget."""
    return [run_id for _, run_id, _, at in await reader.rows(_OLDEST_FINISHED) if _is_old(at, before)]


async def used_bytes(reader: Reader) -> int:
    """What the data takes, as `prune_runs` counts it."""
    return int((await reader.rows(_USED_BYTES))[0][0])


def _is_old(updated_at: float, before: datetime | None) -> bool:
    return before is not None and updated_at < before.timestamp()


def _oldest_finished(connection: sqlite3.Connection) -> list[tuple[int, str, int, float]]:
    return connection.execute(_OLDEST_FINISHED).fetchall()


def _forget_run(connection: sqlite3.Connection, rid: int, last_seq: int) -> bool:
    """Forget a run, unless it has changed since it was listed; whether it was."""
    forget: list[tuple[str, Sequence[Any]]] = [(_KEEP_POSITION, ())]
    forget += [(statement, (rid,)) for statement in _FORGET]
    if list(connection.execute(_HAS_BLOBS, (rid,))):
        forget.append((_FORGET_BLOBS, ()))
    return _in_one_transaction(connection, forget, unless=(_CHANGED, (rid, last_seq)))


def _tidy(connection: sqlite3.Connection, before: datetime | None) -> None:
    if before is not None:
        _in_one_transaction(connection, [("DELETE FROM command WHERE at < ?", (before.timestamp(),))])
    # As a script, which is stepped to its end: a plain execute stops after the first page.
    connection.executescript("PRAGMA incremental_vacuum")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _used(connection: sqlite3.Connection) -> int:
    return int(connection.execute(_USED_BYTES).fetchone()[0])


def _in_one_transaction(
    connection: sqlite3.Connection,
    statements: Sequence[tuple[str, Sequence[Any]]],
    *,
    unless: tuple[str, Sequence[Any]] | None = None,
) -> bool:
    """Carry the statements out in one transaction; not if `unless` finds a row in it."""
    connection.execute("BEGIN IMMEDIATE")
    carried_out = unless is None or connection.execute(*unless).fetchone() is None
    for sql, parameters in statements if carried_out else ():
        connection.execute(sql, parameters)
    connection.execute("COMMIT")
    return carried_out
