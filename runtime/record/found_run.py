"""What a search of runs gives."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SearchKind = Literal["title", "input", "output", "error"]
"""What a text is of its run."""


class FoundRun(Struct, frozen=True):
    """A run that has the words of a search.

    `kind` and `excerpt` are of a text in which one of them stands, without secrets, in one line; empty where the run
    was forgotten meanwhile.
    """

    run_id: str
    kind: SearchKind | Literal[""] = ""
    excerpt: str = ""
