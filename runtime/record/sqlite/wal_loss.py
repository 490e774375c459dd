"""Detects a journal file that has lost its newest events, which SQLite does not report.

After a crash SQLite reads the write-ahead log as far as its frames are whole, and takes the first that is not for its
end (https://www.sqlite.org/walformat.html, section 4.2). That is right where a transaction was cut off; where the file
was damaged, or taken away, everything behind is gone without a word. Two things tell: transactions in the file behind
the place where SQLite stopped, and a mark of how far the journal had come, which is kept beside it.

The log's index is never opened here: closing it would drop the locks that this process has on it.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from runtime.record.sqlite.statements import POSITION

WAL_HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24
_MAGIC: Final = (0x377F0682, 0x377F0683)
_SLOTS: Final = 64
_SLOT: Final = b"%020d\n"
_BUSY_S: Final = 10.0
_RECHECK_S: Final = 0.01


def find_loss(connection: sqlite3.Connection, path: Path) -> str:
    """What is missing at the end, in words; empty if nothing is. `path` is the journal's.

    For the process that opens it first after the last one died, before it writes anything.
    """
    known = read_mark(path)  # before the position: another process may be writing, and both only rise
    (position,) = connection.execute(POSITION).fetchone()
    found = [behind] if (behind := behind_mark(known, position)) else []
    try:
        unreadable = _unreadable(connection, path)
    except sqlite3.Error:  # the disk is full, or the file damaged elsewhere
        if not found:
            raise
    else:
        if unreadable:
            found.insert(0, f"{unreadable} transactions at the end of its write-ahead log cannot be read")
    return "; ".join(found)


def behind_mark(known: int, position: int) -> str:
    """What the mark tells of a journal that ends at `position`, in words; empty if it has not come further before."""
    return f"it ends at event {position}, and had reached {known} before" if known > position else ""


def _unreadable(connection: sqlite3.Connection, path: Path) -> int:
    """Transactions in the log behind the last that SQLite reads.

    The write lock is held: while another process commits, its frames are in the file before they can be read.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        return _transactions_behind(Path(f"{path}-wal"), _count_frames(path))
    finally:
        connection.execute("ROLLBACK")


def _count_frames(path: Path) -> int:
    """Frames of the log that SQLite reads. A connection of its own asks: one in a transaction is refused.

    Raises:
        sqlite3.OperationalError: another process has been moving the log into the database for `_BUSY_S` seconds.
    """
    until = time.monotonic() + _BUSY_S
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(POSITION).fetchone()
        while True:
            busy, frames, _ = other.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if not busy:
                return max(0, int(frames))
            if time.monotonic() > until:
                raise sqlite3.OperationalError("another process is moving the write-ahead log into the database")
            time.sleep(_RECHECK_S)


def unfrozen_runs(connection: sqlite3.Connection) -> list[str]:
    """Ids of the runs that would go on by themselves."""
    rows = connection.execute("SELECT id FROM run WHERE state IN ('queued', 'running', 'waiting')").fetchall()
    return [run_id for (run_id,) in rows]


def _transactions_behind(log: Path, read: int) -> int:
    """Transactions in the file behind its first `read` frames that belong to what stands before them."""
    try:
        with log.open("rb") as file:
            head = file.read(WAL_HEADER_BYTES)
            if len(head) < WAL_HEADER_BYTES:
                return 0
            page = int.from_bytes(head[8:12], "big")
            if int.from_bytes(head[:4], "big") not in _MAGIC or not 512 <= page <= 65_536:
                # The head itself: nothing of what follows could be read, whatever it was.
                return 1 if any(file.read(page or 1)) else 0
            order = ">" if head[3] & 1 else "<"
            count, before = 0, b""
            file.seek(WAL_HEADER_BYTES + read * (_FRAME_HEADER_BYTES + page))
            while (
                len(frame := file.read(_FRAME_HEADER_BYTES)) == _FRAME_HEADER_BYTES
                and len(content := file.read(page)) == page
            ):
                # The last frame of a transaction says how long the database is after it. Frames of an older round of
                # the log have other salts; one that a process died over does not follow from the one before it.
                ends = frame[8:16] == head[16:24] and any(frame[4:8])
                count += ends and _checksum_follows(order, before, frame, content)
                before = frame
            return count
    except FileNotFoundError:
        return 0


def _checksum_follows(order: str, before: bytes, frame: bytes, content: bytes) -> bool:
    """Whether a frame's checksum goes on from that of the frame before it, as that one says it."""
    if not before:
        return False
    one, two = struct.unpack(">II", before[16:24])
    for first, second in struct.iter_unpack(f"{order}II", frame[:8] + content):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return struct.pack(">II", one, two) == frame[16:24]


def _mark_path(path: Path) -> str:
    """As a text: a `Path` takes longer to make than the mark to write, and each synced commit writes it."""
    return f"{path}-mark"


def read_mark(path: Path) -> int:
    """How far the journal is known to have come. What is not a number (cut short, damaged) does not count."""
    try:
        slots = Path(_mark_path(path)).read_bytes().split(b"\n")
    except OSError:
        return 0
    return max((int(slot) for each in slots if (slot := each.strip(b"\0")).isdigit()), default=0)


def write_mark(path: Path, position: int) -> None:
    """Keep that the journal has come to `position`. Not synced: what a power cut takes from the mark, it leaves in the
    journal, which is synced.
    """
    descriptor = os.open(_mark_path(path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(descriptor, _SLOT % position, position % _SLOTS * len(_SLOT % 0))
    finally:
        os.close(descriptor)


def mark_again(path: Path, position: int) -> None:
    """Keep that the journal has come to `position` and no further, once the loss of the rest is known."""
    Path(_mark_path(path)).write_bytes(b"")
    write_mark(path, position)
