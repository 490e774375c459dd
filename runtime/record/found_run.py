"""What a search of runs gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SearchKind = Literal["title", "input", "output", "error"]
"""What a text is of its run."""


@dataclass(slots=True, frozen=True)
class FoundRun:
    """A run that has the words of a search.

    `kind` and `excerpt` are of a text in which one of them stands, without secrets, in one line; empty where the run
    was forgotten meanwhile.
    """

    run_id: str
    kind: SearchKind | Literal[""] = ""
    excerpt: str = ""
