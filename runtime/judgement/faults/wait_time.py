"""Wait times: a span ("6m0s") or a point in time (a date, epoch seconds) as seconds from now.

A span is taken exactly; a point in time is rounded up to the next whole second, and one that is past means 0: come
back whenever you like (as does ``retry-after: 0``; who waits then takes a backoff of his own, as both SDKs do). What
is negative, no number, or further away than `MAX_HINT_S` (a span) or `MAX_DATE_DISTANCE_S` (a date) says nothing and
is ignored, as is a reset that is past. Nothing here reads a clock.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_HINT_S = 366 * 86400.0
"""A year. A longer span is a mistake, such as milliseconds given for seconds."""

MAX_DATE_DISTANCE_S = 100 * 366 * 86400.0
"""A century. A date spelled out is believed up to here: parking too long can be undone, repeating early cannot."""

_EPOCH_S = 1e9  # 2001: smaller numbers are spans
_EPOCH_MS = 1e11  # year 5138 in seconds: larger numbers are milliseconds
_EPOCH_MAX = 1e14

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNIT = r"(?:milliseconds?|millis|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)"
_PART = rf"\d{{1,12}}(?:\.\d{{1,12}})?\s?{_UNIT}(?![a-z])|\d{{1,12}}(?:\.\d{{1,12}})?{_UNIT}(?=\d)"
SPAN = rf"(?:{_PART})(?:(?:,?\s?(?:and\s)?)(?:{_PART})){{0,5}}"
_ONE_PART = re.compile(rf"(\d{{1,12}}(?:\.\d{{1,12}})?)\s?({_UNIT})(?![a-z])", re.IGNORECASE)
_WHOLE_SPAN = re.compile(rf"\s*{SPAN}\s*", re.IGNORECASE)
_ISO_SPAN = re.compile(r"\s*PT(?=\d)(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?\s*")
NUMBER = re.compile(r"\s*\+?(\d{1,20}(?:\.\d{1,20})?)\s*", re.ASCII)


def parse_duration(text: str) -> float | None:
    """A duration with units in seconds: "6m0s", "120ms", "1 hour 5 minutes", "9m38.016s", ISO 8601's "PT30S"; None for
    any other text.
    """
    iso = _ISO_SPAN.fullmatch(text)
    if iso:
        hours, minutes, seconds = (float(part or 0) for part in iso.groups())
        return plausible_seconds(hours * 3600 + minutes * 60 + seconds)
    if not _WHOLE_SPAN.fullmatch(text):
        return None
    total = 0.0
    for number, unit in _ONE_PART.findall(_space_units(text)):
        name = unit.lower()
        total += float(number) * (_UNITS["ms"] if name.startswith(("ms", "milli")) else _UNITS[name[0]])
    return plausible_seconds(total)


def parse_moment(value: str, now: float) -> float | None:
    """Seconds from `now` (epoch) for a header's value in any form; None if it is not a wait or out of bounds, 0 if it
    is past.
    """
    found = NUMBER.fullmatch(value)
    if found:
        number = float(found[1])
        if number < _EPOCH_S:
            return plausible_seconds(number)
        if number >= _EPOCH_MAX:
            return None
        return seconds_until(number / 1000 if number >= _EPOCH_MS else number, now)
    spoken = parse_duration(value)
    return spoken if spoken is not None else seconds_until(parse_timestamp(value), now)


def parse_timestamp(value: str) -> float | None:
    """A date of ISO 8601 or of HTTP as epoch seconds; UTC where it names no zone. None if it is not a date."""
    text = value.strip()
    if not text or len(text) > 64:
        return None
    for parse in (_parse_iso, parsedate_to_datetime):
        try:
            when = parse(text)
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, OverflowError, OSError, IndexError):
            continue
    return None


def seconds_until(timestamp: float | None, now: float) -> float | None:
    """Whole seconds from `now` (epoch) to a point in time, 0 if it is past; None if there is none or it is too far."""
    if timestamp is None or not math.isfinite(timestamp - now):
        return None
    return max(0.0, float(math.ceil(timestamp - now))) if timestamp - now <= MAX_DATE_DISTANCE_S else None


def plausible_seconds(seconds: float) -> float | None:
    """A span as it is, None where it is negative, not finite or too long."""
    return round(seconds, 9) if math.isfinite(seconds) and 0 <= seconds <= MAX_HINT_S else None


def _parse_iso(text: str) -> datetime:
    if not re.match(r"\d{4}-\d{2}-\d{2}", text):
        raise ValueError(f"not an ISO time: {text!r}")
    # Before 3.11's parser: nanoseconds are cut to microseconds.
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))


def _space_units(text: str) -> str:
    """A blank between a unit and the next number, so that "1m6s" reads as two parts."""
    return re.sub(r"(?<=[a-z])(?=\d)", " ", text, flags=re.IGNORECASE)
