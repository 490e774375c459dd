"""The tables of the SQLite journal, how an older file comes up to date, and what its failures mean in words.

`run` holds what changes (lease, state, summary), `event` what happened, `incident` what compare-and-set needs.
State, `wake_at` and incidents are derived from events in the transaction that writes those events.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import resource
import shlex
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import aiosqlite

from runtime.record.journal import JournalError, NewerJournal, Unrecordable, Unwritable
from runtime.record.sqlite.list_queries import APPLICATION_ID, SCHEMA_VERSION
from runtime.record.sqlite.transaction_thread import TransactionThread
from runtime.record.state.events import WORKSPACE_RUN_ID

BUSY_TIMEOUT_MS = 10_000
WAL_RETRY_S = 0.01
"""The pause before the switch to the write-ahead log is tried again."""
WAL_BYTES = 64 * 1024 * 1024
"""To what the write-ahead log is cut back after a transaction that made it longer."""
CACHE_KIB = 1024
"""Pages that a connection keeps in memory, half of SQLite's default: no measured operation takes longer with it."""

_TABLES = (
    # `told_seq`: the last event of an operator that wants the run driven (an answer, an abort request).
    # `lease_until` in UTC seconds; NULL: no process holds the run. `lease_ttl` unmasks leases older than a clock set
    # back.
    """CREATE TABLE run (
        rid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
        epoch INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL DEFAULT '',
        lease_until REAL, lease_ttl REAL NOT NULL DEFAULT 0, wake_at REAL,
        last_seq INTEGER NOT NULL DEFAULT 0, told_seq INTEGER NOT NULL DEFAULT 0,
        summary TEXT, updated_at REAL NOT NULL DEFAULT 0)""",
    "CREATE INDEX run_by_state ON run (state, wake_at)",
    # A position is never given twice, even after the newest run was pruned: tails rely on it. AUTOINCREMENT would write
    # one more page with every transaction; `pruned` is written only when events go.
    "CREATE TABLE pruned (pos INTEGER NOT NULL)",
    "INSERT INTO pruned VALUES (0)",
    """CREATE TABLE event (
        pos INTEGER PRIMARY KEY, run INTEGER NOT NULL, seq INTEGER NOT NULL,
        body TEXT NOT NULL, blobs TEXT, UNIQUE (run, seq))""",
    "CREATE INDEX event_with_blobs ON event (run) WHERE blobs IS NOT NULL",
    "CREATE TABLE blob (digest TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE incident (
        iid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run INTEGER NOT NULL, state TEXT NOT NULL,
        revision INTEGER NOT NULL, opened_seq INTEGER NOT NULL, answer_seq INTEGER, closed_seq INTEGER)""",
    "CREATE INDEX incident_open ON incident (run) WHERE state = 'open'",
    "CREATE INDEX incident_by_run ON incident (run)",
    "CREATE TABLE command (id TEXT PRIMARY KEY, reply TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID",
    "INSERT INTO run (rid, id, state) VALUES (1, '" + WORKSPACE_RUN_ID + "', 'workspace')",  # noqa: S608 - a constant
)


class OlderJournal(JournalError):
    """An earlier program wrote it, and it was opened to be read."""


MIGRATIONS: Mapping[int, Sequence[str]] = {
    1: (
        "ALTER TABLE run ADD COLUMN code TEXT NOT NULL DEFAULT ''",
        """CREATE TABLE worker (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, report TEXT NOT NULL, seen REAL NOT NULL)""",
        "CREATE TABLE claim (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID",
    ),
    2: ("ALTER TABLE run ADD COLUMN queue TEXT NOT NULL DEFAULT 'default'",),
}
"""Statements that lead from version n to n + 1. Forward only: an older program refuses a newer file."""
_CREATES_TABLE = re.compile(r"CREATE TABLE (\w+)")


@contextmanager
def sqlite_errors(doing: str, path: Path) -> Iterator[None]:
    """Failures of SQLite as `JournalError`, saying what was being done, where, and what to do about it. Those that are
    a row's own (too big, or in the place of another) are `Unrecordable`.
    """
    try:
        yield
    except (sqlite3.DataError, sqlite3.IntegrityError) as exc:
        raise Unrecordable(f"{doing} in {path}: {exc}") from exc
    except sqlite3.Error as exc:
        if str(exc).startswith("Could not decode to UTF-8"):  # what Python's module says of a row; the file is sound
            raise Unrecordable(f"{doing} in {path}: {exc}"[:400]) from exc
        name = getattr(exc, "sqlite_errorname", "") or ""
        advice = next((text for start, text in _ADVICE if name.startswith(start)), "")
        kind = Unwritable if name.startswith(_PASSING) else JournalError
        raise kind(f"{doing} in {path}: {exc}{advice}{_file_limit(name)}") from exc


def _file_limit(name: str) -> str:
    """What to do where a file of this process would grow beyond what it may (setrlimit(2))."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if not name.startswith("SQLITE_IOERR_WRITE") or limit == resource.RLIM_INFINITY:
        return ""
    return (
        f"; this process may write files of {limit} bytes at most (ulimit -f): raise that with"
        f" prlimit --pid {os.getpid()} --fsize=unlimited, or end it and start it again without a limit"
    )


_PASSING = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_BUSY", "SQLITE_READONLY", "SQLITE_CANTOPEN")
"""What keeps the file from being written now, and does no harm to it."""


_ADVICE = (
    ("SQLITE_FULL", "; the disk (or a quota) is full: free space, then retry; nothing was half written"),
    ("SQLITE_READONLY", "; make the file and its directory writable, or choose another with --state"),
    ("SQLITE_CORRUPT", "; keep a copy of it, run `orbiter-console doctor`, and restore a backup"),
    ("SQLITE_NOTADB", "; this is not a SQLite database: move it away, or restore a backup"),
    (
        "SQLITE_BUSY",
        f"; another process has held the write lock for {BUSY_TIMEOUT_MS // 1000} s (is one stopped with Ctrl-Z?)",
    ),
    ("SQLITE_CANTOPEN", "; check that its directory can be written (even to read it), or copy it and use --state"),
    ("SQLITE_IOERR", "; the disk or the file system reports an error, or no space is left"),
)


async def connect(path: Path, *, readonly: bool, hop: TransactionThread | None = None) -> aiosqlite.Connection:
    """A connection in autocommit mode: the journal says itself where a transaction begins. `path` is absolute."""
    uri = f"{path.as_uri()}?mode={'ro' if readonly else 'rw'}"
    made: dict[str, Any] = {"factory": hop.factory} if hop is not None else {}
    _refuse_directory(path)
    opening = aiosqlite.connect(uri, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000, **made)
    try:
        connection = await opening
    except BaseException:
        # Its thread still reports to this loop, which may be closed next: aiosqlite does not wait for it.
        await asyncio.shield(asyncio.to_thread(opening._thread.join))
        raise
    if hop is not None:
        hop.bind(connection)
    try:
        # Where syncing means little more than handing over to the drive (macOS), ask for the real thing.
        await connection.execute_fetchall("PRAGMA fullfsync = 1")
        await connection.execute_fetchall(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        await connection.execute_fetchall(f"PRAGMA cache_size = -{CACHE_KIB}")
    except BaseException:
        await connection.close()
        raise
    return connection


def _refuse_directory(path: Path) -> None:
    if path.is_dir():
        raise JournalError(f"{path} is a directory, not a journal: move it away, or choose another with --state")


def create_file(path: Path) -> None:
    """Make the file, for its owner's eyes only, before SQLite would make it with the process's umask.

    A file that is there is never opened here: closing it would drop the POSIX locks of every connection that this
    process has to it, and the next process to leave would take away the write-ahead log under our feet.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not path.exists():
            with suppress(FileExistsError):  # another process was quicker
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        elif path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        elif not os.access(path, os.R_OK | os.W_OK):
            number = errno.EROFS if os.statvfs(path).f_flag & os.ST_RDONLY else errno.EACCES
            raise OSError(number, os.strerror(number))
    except OSError as exc:
        raise JournalError(
            f"cannot open the journal {path} for writing: {exc.strerror or exc}; choose another with --state"
        ) from exc


async def migrate(
    connection: aiosqlite.Connection,
    path: Path,
    *,
    readonly: bool,
    version: int = SCHEMA_VERSION,
    migrations: Mapping[int, Sequence[str]] = MIGRATIONS,
) -> None:
    """Bring the file to `version` in one transaction, or raise `JournalError` if that cannot be."""
    found, tables = await _version(connection, path)
    _refuse_version(found, tables, version, path)
    if readonly:
        if not found:
            raise JournalError(
                f"{path} is empty: opening the console makes a new one; if something was in it, restore a backup first"
            )
        if found < version:
            raise OlderJournal(f"{path} has schema {found}, not {version}: opening the console brings it up to date")
        return
    if found == 0:
        await connection.execute_fetchall("PRAGMA auto_vacuum = INCREMENTAL")
    await _use_wal(connection)
    if found == version:
        return
    await connection.execute_fetchall("BEGIN IMMEDIATE")
    try:
        found, _ = await _version(connection, path)  # another process may have been faster
        if found == 0:
            for statement in _TABLES:
                await connection.execute_fetchall(statement)
            found = 1
        for step in range(found, version):
            for statement in migrations[step]:
                await connection.execute_fetchall(statement)
        await connection.execute_fetchall(f"PRAGMA application_id = {APPLICATION_ID}")
        await connection.execute_fetchall(f"PRAGMA user_version = {version}")
        await connection.execute_fetchall("COMMIT")
    except BaseException:
        if connection.in_transaction:
            await connection.execute_fetchall("ROLLBACK")
        raise


async def _use_wal(connection: aiosqlite.Connection) -> None:
    """Switch the file to the write-ahead log, which it keeps for good.

    SQLite asks for the write lock here while it holds a read lock. It refuses that at once where another connection
    holds the write lock, without the wait of the busy time-out (sqlite.org/c3ref/busy_handler.html: a wait could be a
    deadlock). So several that open a new file at once meet here, and the wait is ours.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            await connection.execute_fetchall("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        await asyncio.sleep(WAL_RETRY_S)


def _refuse_version(found: int, tables: frozenset[str], version: int, path: Path) -> None:
    if tables and found < 1:
        likely = _version_of(tables)
        raise JournalError(
            f"{path} has tables, but its schema version is {found}: its header is damaged, or another program wrote it."
            f" Nothing was changed. Restore a backup; or, if you know that schema {likely} wrote it, as its tables say:"
            f" sqlite3 {shlex.quote(str(path))} 'PRAGMA user_version = {likely}'"
        )
    if found > version:
        raise NewerJournal(
            f"{path} was written by a newer program (schema {found}, this one knows {version}): update orbiter-console"
        )


def _version_of(tables: frozenset[str]) -> int:
    """The version whose tables these are."""
    version = 1
    while version in MIGRATIONS and set(_CREATES_TABLE.findall(" ".join(MIGRATIONS[version]))) <= tables:
        version += 1
    return version


async def _version(connection: aiosqlite.Connection, path: Path) -> tuple[int, frozenset[str]]:
    """The file's schema version, and the names of its tables and indexes; 0 and none for an empty file."""
    rows = await connection.execute_fetchall(
        "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),"
        " (SELECT group_concat(name, ' ') FROM sqlite_master)"
    )
    version, application, names = next(iter(rows))
    tables = frozenset((names or "").split())
    if tables and application != APPLICATION_ID:
        raise JournalError(f"{path} is a database, but not a journal of orbiter-console: choose another with --state")
    return int(version), tables
