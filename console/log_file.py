"""The console's own log file, beside the journal.

The screen has no room for a traceback.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

LOG_NAME: Final = "console.log"
MAX_LOG_BYTES: Final = 1024 * 1024
"""A file of this size goes aside, to `console.log.1`; the one that was there goes."""


class ConsoleLog(logging.Handler):
    """Errors alone: what a runtime tells cannot make the console write. What it takes to write them is loaded with the
    first, and there may never be one.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(logging.ERROR)
        self.path = path

    def emit(self, record: logging.LogRecord) -> None:
        """A log that cannot be written must not be one more mishap: then there is none."""
        try:
            from console.logs import log_text

            text = log_text(record)
            with suppress(OSError):
                self._append(f"{text}\n".encode(errors="backslashreplace"))
        except Exception:
            self.handleError(record)

    def _append(self, line: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileNotFoundError):
            if self.path.stat().st_size >= MAX_LOG_BYTES:
                self.path.replace(self.path.with_name(f"{LOG_NAME}.1"))
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(line)


def log_to(path: Path) -> ConsoleLog:
    """Let this process log there."""
    found = ConsoleLog(path)
    logging.getLogger().addHandler(found)
    return found
