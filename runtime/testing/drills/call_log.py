"""The log of a drill: every call that was really made, written beside the journal and independent of it.

What the journal says is held against it: an effect that the journal does not know is lost, one that took place twice is
doubled. A line is one write, so that the end of the process cuts none.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Happening = Literal["begun", "done", "failed", "injected", "killed"]


@dataclass(slots=True, frozen=True)
class CallEntry:
    """Something that happened to a call. `fault` is the number of the drill's fault, from 0, or -1."""

    what: Happening
    node_id: str
    kind: str
    attempt: int
    repeatable: bool = True
    fault: int = -1


class CallLog:
    """The file of the log."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, entry: CallEntry) -> None:
        """Append an entry."""
        line = json.dumps(asdict(entry)) + "\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def read(self) -> list[CallEntry]:
        """All entries, oldest first."""
        if not self._path.exists():
            return []
        rows = self._path.read_text(encoding="utf-8").splitlines()
        return [CallEntry(**json.loads(row)) for row in rows]
