"""The log file of a background runtime: its log, and what is written to stdout and stderr.

Tools print, libraries warn, an interpreter dies with a traceback: all of it belongs in the log. So the file stands
behind the descriptors 1 and 2 themselves, and rotation swaps it there.
"""

from __future__ import annotations

import codecs
import io
import logging
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

LOG_NAME = "runtime.log"
MAX_LOG_BYTES = 2 * 1024 * 1024
KEPT_LOGS = 3
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class LogMask:
    """What no log holds: what looks like a key, the secrets that operators gave, those in the environment, and what the
    operator's own `patterns` find, once the settings are read.
    """

    def __init__(self) -> None:
        self.patterns: Sequence[str] = ()

    def text(self, text: str) -> str:
        """`text` without them."""
        from runtime.execution.secret_vault import make_redactor  # needless where only the path of the log is asked for

        return make_redactor(self.patterns, addresses=False).text(text)


class EscapingFormatter(logging.Formatter):
    """Log lines in which control characters stand as escapes: a log is read at terminals, and quotes foreign text,
    whose further lines are indented, so that none looks like a line of the log. `mask` takes secrets out.
    """

    def __init__(self, fmt: str | None = None, mask: LogMask | None = None) -> None:
        super().__init__(fmt)
        self._mask = mask or LogMask()

    def format(self, record: logging.LogRecord) -> str:
        text = self._mask.text(super().format(record))
        return text if text.isprintable() else escape_controls(text).replace("\n", "\n    ")


PRINTED = "| "
"""What each line begins with that was printed, so that it cannot pass for a record of the log."""


MAX_PENDING_CHARS = 64 * 1024
"""Characters without the end of a line that are held back, to be masked as a whole."""


class EscapedOutput(io.TextIOWrapper):
    """What is printed to a descriptor, line by line, each marked with `PRINTED`; control characters stand as escapes,
    and secrets are masked, as in the log's own lines. Bytes for its `buffer` are read as UTF-8, and printed. What a
    child process, or a library in C, writes to the descriptor itself stands as it is.
    """

    def __init__(self, descriptor: int, mask: LogMask | None = None) -> None:
        self._mask = mask or LogMask()
        self._pending = ""
        self._printing = threading.RLock()  # tools print from threads, and a handler of a signal may print
        raw = io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False))
        super().__init__(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
        self._begins_line = True
        self._printed_bytes = _PrintedBytes(self)

    @property
    def buffer(self) -> io.BufferedIOBase:  # type: ignore[override] # it is a property there as well
        return self._printed_bytes

    def write(self, text: str, /) -> int:
        with self._printing:
            whole, ends, self._pending = (self._pending + text).rpartition("\n")
            if ends:
                self._put(f"{whole}\n")
            if len(self._pending) > MAX_PENDING_CHARS:
                self._put_pending()
        return len(text)

    def flush(self) -> None:
        with self._printing:
            self._put_pending()
        super().flush()

    def _put_pending(self) -> None:
        text, self._pending = self._pending, ""
        if text:  # the interpreter flushes once more as it ends, when nothing can be imported, the mask neither
            self._put(text)

    def _put(self, text: str) -> None:
        masked = self._mask.text(text)
        shown = masked if masked.isprintable() else escape_controls(masked)
        if shown:
            mark = PRINTED if self._begins_line else ""
            self._begins_line = shown.endswith("\n")
            super().write(mark + shown[:-1].replace("\n", f"\n{PRINTED}") + shown[-1])


class _PrintedBytes(io.BufferedIOBase):
    """The `buffer` of an `EscapedOutput`: its bytes are printed as text."""

    def __init__(self, output: EscapedOutput) -> None:
        self._output = output
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._output.fileno()

    def write(self, data: Any, /) -> int:
        written = bytes(data)
        self._output.write(self._decoder.decode(written))
        return len(written)

    def flush(self) -> None:
        if not self._output.closed:
            self._output.flush()


def escape_controls(text: str) -> str:
    """Each character that no reader sees, or that a terminal obeys, as Python writes it in a text."""
    lines = text.replace("\r\n", "\n")
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in lines)


def has_no_address(record: logging.LogRecord) -> bool:
    """Whether a record may be logged. httpx and httpx2 tell the whole address of every request, some are secrets: a
    webhook's, or one with a key in its query.
    """
    return record.name not in ("httpx", "httpx2") or record.levelno >= logging.WARNING


def log_path(state_dir: str | Path) -> Path:
    return Path(state_dir) / LOG_NAME


def last_lines(path: Path, count: int = 12, *, since: int = 0) -> str:
    """The end of a log, for an error message, with nothing from before byte `since`; empty if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(since, file.tell() - 16 * 1024))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-count:])


def rotate_log(path: Path, *, limit: int = MAX_LOG_BYTES, kept: int = KEPT_LOGS) -> bool:
    """Move a log of `limit` bytes or more to ``.1``, that to ``.2``, …; the oldest goes. True if it was moved."""
    with suppress(FileNotFoundError):
        if path.stat().st_size < limit:
            return False
        for number in range(kept - 1, 0, -1):
            with suppress(FileNotFoundError):
                _rotated_path(path, number).replace(_rotated_path(path, number + 1))
        path.replace(_rotated_path(path, 1))
        return True
    return False


def open_log(path: Path) -> int:
    """A descriptor that appends to the log, readable by us alone: prompts and tool output end up here."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def redirect_to_log(path: Path, descriptors: tuple[int, ...] = (1, 2)) -> None:
    """Let the log be what is written to `descriptors`."""
    opened = open_log(path)
    try:
        for descriptor in descriptors:
            os.dup2(opened, descriptor)
    finally:
        os.close(opened)


class RotatingLogHandler(logging.StreamHandler):  # type: ignore[type-arg] # its stream is stderr
    """Logs to stderr, behind which the log stands, and rotates it where it has grown too long."""

    def __init__(
        self,
        path: Path,
        mask: LogMask | None = None,
        *,
        limit: int = MAX_LOG_BYTES,
        kept: int = KEPT_LOGS,
        descriptors: tuple[int, ...] = (1, 2),
    ) -> None:
        redirect_to_log(path, descriptors)
        super().__init__()
        self._path = path
        self._limit, self._kept = limit, kept
        self._descriptors = descriptors
        self.setFormatter(EscapingFormatter(LOG_FORMAT, mask))
        self.addFilter(has_no_address)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if rotate_log(self._path, limit=self._limit, kept=self._kept):
                redirect_to_log(self._path, self._descriptors)
        except OSError:
            self.handleError(record)
        super().emit(record)


def _rotated_path(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")
