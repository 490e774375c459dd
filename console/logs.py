"""The logging of the program: verbs on stderr, sanitised; the console in a file (`console.log_file`).

Without a handler Python would write warnings to stderr as they are, and they quote models, tools and providers.
"""

from __future__ import annotations

import logging
import traceback

from console.output import print_note
from screens.render.sanitize import sanitize_line, sanitize_text

SHOWN_ELSEWHERE = frozenset({"runtime.faults", "runtime.notices.told"})
"""Loggers whose warnings a followed run shows already, as events."""


class NoteHandler(logging.Handler):
    """Warnings and worse as notes."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.muted: frozenset[str] = frozenset()

    def emit(self, record: logging.LogRecord) -> None:
        if record.name in self.muted:
            return
        try:
            text = record.getMessage()
            if record.exc_info and record.exc_info[1] is not None:
                text += ": " + " ".join(traceback.format_exception_only(record.exc_info[1]))
            print_note(sanitize_line(f"{record.levelname.lower()}: {record.name}: {mask_text(text)}"))
        except Exception:
            self.handleError(record)


def mask_text(text: str) -> str:
    """Without what looks like a key, and without the secrets that operators gave."""
    from runtime.execution.secret_vault import make_redactor  # most verbs write no log

    return make_redactor(addresses=False).text(text)


def log_text(record: logging.LogRecord) -> str:
    """A record for a file: with its traceback, without secrets, and nothing in it that a terminal would obey, or that
    looks like another record.
    """
    lines = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s").format(record)
    return sanitize_text(mask_text(lines)).replace("\n", "\n    ")


def sanitize_logs() -> NoteHandler:
    """Let logs go through the gate; the handler, of which there is one."""
    root = logging.getLogger()
    found = next((handler for handler in root.handlers if isinstance(handler, NoteHandler)), None)
    if found is None:
        found = NoteHandler()
        root.addHandler(found)
    return found
