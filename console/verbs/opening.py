"""No verb at all: the console, on the workspace of the current directory."""

from __future__ import annotations

import os
import sys

from console.cli import BAD_INPUT, FAILED
from console.open import open_console
from console.output import note
from console.workspace import workspace
from orbiter.errors import OrbiterError


def has_screen() -> bool:
    """Whether a screen can be painted: a terminal on both sides, and one that can do more than write lines."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


def open_here(*, embedded: bool = False, mouse: bool | None = None, run_id: str = "") -> int:
    """Open the console, at `run_id` if one is named; its exit code. What keeps it from opening is said on stderr."""
    if not has_screen():
        note("the console needs a terminal; without one there are: orbiter-console runs, incidents, answer, run")
        return BAD_INPUT
    try:
        return open_console(workspace(), embedded=embedded, mouse=mouse, run_id=run_id)
    except (OrbiterError, OSError, ValueError) as exc:
        note(str(exc))
        return FAILED
