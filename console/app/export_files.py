"""Screen exports as files: the directory where they are written, their names, and how they are created."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_NOT_IN_NAMES: Final = r"[^A-Za-z0-9._-]+"


def exports_directory(state: Path) -> Path:
    """Where screen exports are written: beside the journal in the directory `state`."""
    return state / "exports"


def write_export(directory: Path, name: str, text: str, *, now: datetime | None = None) -> Path:
    """Write `text` to a new file in `directory`, readable by its owner alone; its path. `name` ends in its suffix.

    Raises:
        OSError: it cannot be written.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%S")
    stem, dot, suffix = re.sub(_NOT_IN_NAMES, "-", name).strip("-").rpartition(".")
    for number in range(1000):
        again = f"-{number}" if number else ""
        path = directory / f"{stamp}-{stem[:80]}{again}{dot}{suffix}"
        try:
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except FileExistsError:
            continue
        with os.fdopen(file, "w", encoding="utf-8", errors="replace") as opened:
            opened.write(text)
        return path
    raise FileExistsError(f"{directory}: already has 1,000 files of this second")
