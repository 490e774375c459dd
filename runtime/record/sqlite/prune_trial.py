"""A copy of a journal for a while, in which is tried what pruning would take."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path

from runtime.record.journal import JournalError
from runtime.record.sqlite.maintenance import rescue
from runtime.record.sqlite.schema import sqlite_errors

_ROOM = 2
"""How often the journal's size is to be free: for the copy, and for what pruning writes to the copy's log."""


@asynccontextmanager
async def page_copy(path: Path) -> AsyncIterator[Path]:
    """A copy of the journal, page by page: what `prune_runs` frees in it, it would free in the journal.

    Raises:
        JournalError: there is not enough room for it. Others write to the journal's disk.
    """
    _check_room(path)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=_prefix(path)) as directory, _in_use(Path(directory)):
            target = Path(directory) / path.name
            with sqlite_errors(f"cannot copy to {directory}", path):
                await asyncio.to_thread(_copy_pages, path, target)
            yield target
    except OSError as exc:
        raise JournalError(f"cannot copy {path}: {exc.strerror or exc}") from exc


def remove_left_copies(path: Path) -> None:
    """Remove the copies of processes that were killed. The kernel gave up their locks."""
    for directory in path.parent.glob(f"{_prefix(path)}*"):
        with suppress(OSError), _in_use(directory):  # another process uses it, or has removed it
            shutil.rmtree(directory)


def _prefix(path: Path) -> str:
    return f".{path.name}.dry-run."


@contextmanager
def _in_use(directory: Path) -> Iterator[None]:
    """Hold the directory's lock.

    Raises:
        BlockingIOError: another process has it.
    """
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _check_room(path: Path) -> None:
    files = (path, path.with_name(f"{path.name}-wal"))
    needed = _ROOM * sum(file.stat().st_size for file in files if file.exists())
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise JournalError(
            f"cannot tell which runs would go: that takes a copy of the journal, which needs {needed / 1e6:,.0f} MB"
            f" beside it, and {free / 1e6:,.0f} MB are free. Runs by their age are told without a copy; pruning itself"
            " needs none"
        )


def _copy_pages(path: Path, target: Path) -> None:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        rescue(connection, target)
