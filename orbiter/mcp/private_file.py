"""A JSON file that only its owner may read and write, replaced in one piece, changed by one process at a time."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orbiter.errors import ConfigurationError

_MAX_BYTES = 32 * 1024 * 1024


class UnusableFile(ConfigurationError):
    """A file of the user's own cannot be used; the message names it and says what to do."""


class PrivateFile:
    """See the module.

    Args:
        path: The file. It is made when something is first written.
        what: What it holds, for messages.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._what = what
        self._read_at: tuple[int, int, int] | None = None
        self._data: dict[str, Any] = {}

    def load(self) -> dict[str, Any]:
        """What the file holds; empty where it does not exist. Not to be changed.

        Raises:
            UnusableFile: Others may write it, or it cannot be read.
        """
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return {}
        except OSError as exc:
            raise UnusableFile(f"{self._what} ({self.path}) cannot be read: {exc}") from exc
        seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        if seen != self._read_at:
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise UnusableFile(
                    f"{self._what} ({self.path}) can be written by other users, so it is not used: check the file,"
                    f" then run 'chmod 600 {self.path}'"
                )
            self._data = self._read(status.st_size)
            self._read_at = seen
        return self._data

    def _read(self, size: int) -> dict[str, Any]:
        try:
            if size > _MAX_BYTES:
                raise ValueError(f"it is larger than {_MAX_BYTES} bytes")
            found = json.loads(self.path.read_text(encoding="utf-8"))
            if not isinstance(found, dict):
                raise TypeError("it is not an object")
        except (OSError, ValueError, TypeError, RecursionError) as exc:
            raise UnusableFile(
                f"{self._what} ({self.path}) cannot be read: {exc}; correct the file or delete it"
            ) from exc
        return found

    def change(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Let `change` change what the file holds, and write it.

        Raises:
            UnusableFile: It cannot be trusted, read or written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(self.path.with_suffix(".lock")):
                self._read_at = None
                data = json.loads(json.dumps(self.load()))
                change(data)
                _replace(self.path, json.dumps(data, indent=1, sort_keys=True))
                self._read_at = None
        except OSError as exc:
            raise UnusableFile(f"{self._what} ({self.path}) cannot be written: {exc}") from exc


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, text: str) -> None:
    """`mkstemp` makes files that only their owner can read."""
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(made).replace(path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise
