"""Lets a process end though a journal was not closed.

aiosqlite's threads are not daemon threads: an exception that leaves a connection open makes the interpreter wait for
them for ever. Journals are closed in `finally`; for what slips through (a loop that dies, a `sys.exit` in a library),
one daemon thread waits for the main thread to end and stops the connections that are left. What was not committed is
rolled back.
"""

from __future__ import annotations

import threading

import aiosqlite

_open: set[aiosqlite.Connection] = set()
_lock = threading.Lock()
_watching = False


def stop_at_exit(connection: aiosqlite.Connection) -> None:
    """Stop this connection when the process ends, unless `forget` comes first."""
    global _watching  # noqa: PLW0603 - one watcher per process is the point
    with _lock:
        _open.add(connection)
        if not _watching:
            _watching = True
            threading.Thread(target=_install_hook, name="journal exit guard", daemon=True).start()


def forget(connection: aiosqlite.Connection) -> None:
    with _lock:
        _open.discard(connection)


def _install_hook() -> None:
    threading.main_thread().join()
    with _lock:
        for connection in _open:
            connection.stop()
        _open.clear()
