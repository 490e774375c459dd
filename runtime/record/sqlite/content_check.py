"""Whether the open journal's database still has the content of this journal.

`cp backup.db journal.db` and a truncation keep device and inode of the file. SQLite does not notice: it goes on with
its cache and its write-ahead log, and the next checkpoint writes pages of one journal into another. So the process that
drives writes a token into the database when it starts, and then reads the database file by itself, without the log,
whenever size or modification time have changed, which a checkpoint does too.

The file is read through SQLite as `immutable`: no lock is taken, and closing keeps the locks of other connections (an
`open` and `close` of our own would drop them). A checkpoint may be under way, so only these facts count: the token,
which is in a page that nothing else changes; and, in a file at rest, a newest event older than the one seen before.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from runtime.record.sqlite.statements import POSITION
from runtime.record.sqlite.wal_loss import WAL_HEADER_BYTES, read_mark

_TABLE = "CREATE TABLE IF NOT EXISTS life (token TEXT NOT NULL)"
_NOT_A_DATABASE = "not a database"
_TIMESTAMP_SETTLE_S = 0.1
"""Seconds since its last change after which a file is at rest: more than the resolution of its time stamps."""


class ContentMark(Struct, frozen=True):
    """What a database file has without its write-ahead log. `token` is empty where there is no table for it."""

    token: str
    position: int


def sign_content(connection: sqlite3.Connection, path: Path) -> ContentWatch:
    """Write a new token into the journal, and into its database file if nothing holds up the checkpoint."""
    before = read_content(path)
    token = secrets.token_hex(16)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(_TABLE)
    connection.execute("DELETE FROM life")
    connection.execute("INSERT INTO life VALUES (?)", (token,))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return ContentWatch(path, token, before.token if before is not None else "")


def remove_token(path: Path) -> None:
    """A copy must not be taken for the file that it was made from. Nothing else has it open."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(_TABLE)
        connection.execute("DELETE FROM life")


def read_content(path: Path) -> ContentMark | None:
    """What the database file has by itself; None where it cannot be read: it is being written, or damaged."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            tokens = connection.execute("SELECT token FROM life").fetchall() if "life" in tables else []
            position = connection.execute(POSITION).fetchone()[0] if {"event", "pruned"} <= tables else 0
            return ContentMark("".join(str(token) for (token,) in tokens), int(position))
    except sqlite3.Error as exc:
        return ContentMark(_NOT_A_DATABASE, 0) if getattr(exc, "sqlite_errorname", "") == "SQLITE_NOTADB" else None


class ContentWatch:
    """Compares the files of a signed journal with what they had before. From any thread."""

    def __init__(self, path: Path, token: str, before: str) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._token = token
        self._tokens = {token, before}  # until a checkpoint has written the new one
        self._lock = threading.Lock()
        self._stamp: tuple[int, int] | None = None
        self._size = self._position = 0
        self._log_size, self._salts = 0, b""
        self._marked = read_mark(path)
        self.found = ""
        """What `overwritten` said last."""

    def overwritten(self) -> str:
        """What was done to the files, in words; empty if nothing. What was found once stays so."""
        with self._lock:
            if not self.found:
                self.found = self._database_changed() or self._log_cut()
            return self.found

    def _database_changed(self) -> str:
        try:
            stamp = self._stamp_now()
        except OSError:
            return ""  # the path is looked at elsewhere
        if stamp == self._stamp:
            return ""
        content, at_rest = self._read(stamp)
        if content is None:
            cut = stamp[1] < self._size
            return f"{self._path} was cut short while it was in use" if cut else ""
        if content.token not in self._tokens or (at_rest and content.position < self._position):
            return f"{self._path} was overwritten with other content while it was in use"
        if at_rest:
            self._stamp, self._size = stamp, stamp[1]
            self._position = content.position
            if content.token == self._token:
                self._tokens = {self._token}
        return ""

    def _log_cut(self) -> str:
        """A log grows until SQLite begins it again, with other salts; SQLite empties it when all is checkpointed."""
        known = read_mark(self._path)
        try:
            log = os.open(self._log, os.O_RDONLY | os.O_CLOEXEC)  # this file has no locks that closing could drop
            try:
                head, size = os.pread(log, WAL_HEADER_BYTES, 0), os.fstat(log).st_size
            finally:
                os.close(log)
        except OSError:
            return ""
        salts, before = head[16:24], self._salts
        cut = size >= WAL_HEADER_BYTES and salts == before and size < self._log_size
        if size < WAL_HEADER_BYTES and known > self._marked:
            content, at_rest = self._read(self._stamp_now())
            cut = at_rest and content is not None and content.position < known
        self._salts, self._log_size = salts, size
        return f"{self._log} was cut short while it was in use" if cut else ""

    def _read(self, stamp: tuple[int, int]) -> tuple[ContentMark | None, bool]:
        """The content, and whether the file was at rest while it was read."""
        content = read_content(self._path)
        at_rest = time.time() - stamp[0] / 1e9 > _TIMESTAMP_SETTLE_S and stamp == self._stamp_now()
        return content, at_rest

    def _stamp_now(self) -> tuple[int, int]:
        found = self._path.stat()
        return found.st_mtime_ns, found.st_size
