"""Prints narrations of events for a terminal: every foreign part passes the gate, numbers are formatted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

from runtime.judgement.reports.narration import Count, Due, Foreign, Instant, Narration, Part, Seconds
from screens.render.formatting import format_count, format_duration
from screens.render.sanitize import sanitize_line


def parts_text(parts: Iterable[Part], *, ascii_only: bool = False, now: datetime | None = None) -> str:
    """The parts on one line, safe to show. `now`: the time, where it is said how long something is waited for."""
    return "".join(_part_text(part, ascii_only, now) for part in parts)


def sentence_text(narration: Narration, *, ascii_only: bool = False, limit: int | None = None) -> str:
    """The sentence with what was said behind it (at most `limit` characters of that), on one line, safe to show."""
    sentence = parts_text(narration.parts, ascii_only=ascii_only)
    said = sanitize_line(narration.text.text, limit=limit or narration.text.limit, ascii_only=ascii_only)
    return f"{sentence}: {said}" if said else sentence


def _part_text(part: Part, ascii_only: bool, now: datetime | None) -> str:
    match part:
        case str():
            return part
        case Foreign():
            return sanitize_line(part.text, limit=part.limit, ascii_only=ascii_only)
        case Seconds():
            return format_duration(part.value)
        case Count():
            return format_count(part.value)
        case Instant():
            return part.value.astimezone().strftime("%H:%M:%S")
        case Due():
            return _due_text(part.value, now)


def _due_text(due: datetime, now: datetime | None) -> str:
    at = due.astimezone().strftime("%H:%M:%S")
    left = (due - now).total_seconds() if now is not None else 0.0
    return format_duration(math.ceil(left)) if left > 0 else f"until {at}"
