"""Reading the file that a call asks to write, to compare it with what the call would write."""

from __future__ import annotations

import os
import stat

from msgspec.structs import replace

from orbiter.redaction import Redactor
from runtime.judgement.comparison.file_write import MAX_BYTES, FileComparison, WrittenText, compare_write


def compare_with_disk(written: WrittenText, redactor: Redactor) -> FileComparison:
    """Compare a text with the file of this machine. Secrets are masked in what is told of either.

    Args:
        written: the text and its file.
        redactor: masks secrets.
    """
    size = 0
    try:
        # Never waits: a file may be a pipe. Its path is a real one, so a link there now came after it was asked for.
        opened = os.open(written.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as file:
            about = os.fstat(opened)
            if not stat.S_ISREG(about.st_mode):
                return compare_write(written, None, problem="this is not an ordinary file")
            size, before = about.st_size, file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return compare_write(written, None)
    except (OSError, ValueError) as exc:
        why = (exc.strerror if isinstance(exc, OSError) else "") or type(exc).__name__
        return compare_write(written, None, problem=why)
    found = compare_write(written, before, size=size)
    return replace(found, rows=tuple(redactor.text("\n".join(found.rows)).splitlines()))
