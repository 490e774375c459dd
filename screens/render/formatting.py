"""Formats numbers for an operator: durations, ages, tokens, money. Short, and still when nothing moves."""

from __future__ import annotations

from datetime import datetime, timedelta

from runtime.judgement.amounts import format_cost

MINUTE_S = 60
HOUR_S = 60 * MINUTE_S
DAY_S = 24 * HOUR_S


def format_duration(seconds: float) -> str:
    """At most six characters: `0.4s`, `12s`, `3m05s`, `2h07m`, `4d03h`, `912d`.

    Less than nothing (a clock was set back) is nothing.
    """
    if seconds < 0.05:
        return "0s"
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    if whole < MINUTE_S:
        return f"{whole}s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S}m{whole % MINUTE_S:02}s"
    if whole < DAY_S:
        return f"{whole // HOUR_S}h{whole % HOUR_S // MINUTE_S:02}m"
    if whole < 100 * DAY_S:
        return f"{whole // DAY_S}d{whole % DAY_S // HOUR_S:02}h"
    return f"{whole // DAY_S}d"


def format_age(since: datetime | None, now: datetime) -> str:
    """How long ago, in its largest unit only: a list of ages changes once a minute. Empty without `since`."""
    if since is None:
        return ""
    seconds = max(0, int((now - since).total_seconds()))
    if seconds < MINUTE_S:
        return "now" if seconds < 10 else f"{seconds // 10 * 10}s"
    if seconds < HOUR_S:
        return f"{seconds // MINUTE_S}m"
    if seconds < DAY_S:
        return f"{seconds // HOUR_S}h"
    return f"{seconds // DAY_S}d"


def format_ago(since: datetime | None, now: datetime) -> str:
    """`age` in a sentence: `just now`, `3m ago`. Empty without `since`."""
    words = format_age(since, now)
    return "just now" if words == "now" else f"{words} ago" if words else ""


def age_ends(since: datetime | None, now: datetime) -> datetime:
    """When `age` will say something else than it does now."""
    if since is None:
        return datetime.max.replace(tzinfo=now.tzinfo)
    seconds = max(0, int((now - since).total_seconds()))
    step = next(
        step
        for step, limit in ((10, MINUTE_S), (MINUTE_S, HOUR_S), (HOUR_S, DAY_S), (DAY_S, None))
        if not limit or seconds < limit
    )
    return since + timedelta(seconds=(seconds // step + 1) * step)


def format_elapsed(since: datetime | None, until: datetime | None, now: datetime) -> str:
    """How long something took, or takes by now. While it goes on, its seconds are told for the first minute only:
    what waits for an hour does not send a digit every second.
    """
    if since is None:
        return ""
    if until is not None:
        return format_duration((until - since).total_seconds())
    seconds = max(0, int((now - since).total_seconds()))
    return f"{seconds // MINUTE_S}m" if MINUTE_S <= seconds < HOUR_S else whole_seconds(seconds)


def whole_seconds(seconds: float) -> str:
    """As `duration`, without tenths: for what is shown while it counts."""
    whole = max(0, int(seconds))
    return f"{whole}s" if whole < MINUTE_S else format_duration(whole)


def format_count(number: int) -> str:
    """At most five characters: `999`, `1.2k`, `34k`, `1.2M`, `1234M`."""
    for limit, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= limit:
            share = number / limit
            return f"{share:.1f}{unit}" if share < 9.95 else f"{share:.0f}{unit}"
    return str(number)


def format_tokens(input_tokens: int, output_tokens: int) -> str:
    """Both directions added, empty where none were used."""
    total = input_tokens + output_tokens
    return format_count(total) if total else ""


def pluralize(number: int, one: str, many: str = "") -> str:
    """`1 way`, `3 ways`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def restarts_text(restarts: int) -> str:
    """`restarted once`, `restarted 3 times`: of a run that was restarted at least once."""
    return f"restarted {'once' if restarts == 1 else f'{restarts} times'}"


__all__ = [
    "age_ends",
    "format_age",
    "format_ago",
    "format_cost",
    "format_count",
    "format_duration",
    "format_elapsed",
    "format_tokens",
    "pluralize",
    "restarts_text",
    "whole_seconds",
]
