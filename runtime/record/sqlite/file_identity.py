"""Whether the files of an open journal are still those at their paths.

SQLite does not say it: a journal whose directory was removed, moved, or replaced (a restored backup, a mount that is
gone) is written on, in files that have no name any more, and another process opens other files at the same path.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from msgspec import Struct

from runtime.record.journal import JournalError
from runtime.record.sqlite.content_check import ContentWatch


class FileIdentity(Struct, frozen=True):
    """A file that was opened, by device and inode."""

    path: Path
    device: int
    inode: int

    @classmethod
    def of_path(cls, path: Path) -> Self:
        """The file that is at `path` now. Raises `OSError`."""
        found = path.stat()
        return cls(path, found.st_dev, found.st_ino)

    def displaced(self) -> str:
        """What became of it, in words; empty where it is at its path. A path that cannot be looked at tells nothing."""
        try:
            found = self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return f"{self.path} was removed, or moved away, while it was in use"
        except OSError:
            return ""
        if (found.st_dev, found.st_ino) != (self.device, self.inode):
            return f"{self.path} was replaced by another file while it was in use"
        return ""


class JournalFiles:
    """The database and its write-ahead log. To be made when the journal is open.

    Raises:
        JournalError: the database is not there any more.
    """

    def __init__(self, path: Path) -> None:
        self._log_path = path.with_name(f"{path.name}-wal")
        self._log: FileIdentity | None = None
        self.content: ContentWatch | None = None
        """Where the journal is signed (`SqliteJournal.sign`)."""
        try:
            self._database = FileIdentity.of_path(path)
        except OSError as exc:
            raise JournalError(f"{path} was removed while it was being opened: {exc.strerror or exc}") from exc

    def displaced(self) -> str:
        """What became of them, in words; empty where both are at their paths, with their content."""
        return self._moved() or (self.content.overwritten() if self.content is not None else "")

    def overwritten(self) -> str:
        """What was done to the content of files that are at their paths; empty if nothing, or if it is not signed."""
        if self.content is None:
            return ""
        if not self.content.found and self._moved():
            return ""
        return self.content.overwritten()

    def _moved(self) -> str:
        return self._database.displaced() or self._log_displaced()

    def _log_displaced(self) -> str:
        if self._log is None:
            with suppress(FileNotFoundError):  # SQLite makes it when something is read or written
                self._log = FileIdentity.of_path(self._log_path)
        return self._log.displaced() if self._log is not None else ""

    @property
    def harmed_by_closing(self) -> bool:
        """Whether to close the journal would take away files of another: the last connection that closes removes the
        log by its path, also another's, after it wrote the log into the database, whatever that holds.
        """
        return bool(
            self.overwritten()
            or self._database.displaced()
            or (self._log_displaced() and os.path.lexists(self._log_path))
        )
