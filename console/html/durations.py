"""Durations as a report tells them: most calls of tools take less than a tenth of a second."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from screens.render.formatting import format_duration

_FINE_S: Final = 0.0995
"""Below it, seconds are told in milliseconds."""


def fine_duration(seconds: float) -> str:
    """A duration, a short one in milliseconds: `12 ms`, `0.4s`, `3m05s`."""
    return f"{seconds * 1_000:.0f} ms" if 0 < seconds < _FINE_S else format_duration(seconds)


def took(since: datetime | None, until: datetime | None) -> str:
    """How long something took; empty where that is not known."""
    return fine_duration((until - since).total_seconds()) if since is not None and until is not None else ""
