"""Retry-After: every form of a server's hint when to come back, in seconds.

Forms and where they come from:

- ``retry-after`` in seconds (also fractions) or as an HTTP date (RFC 9110 section 10.2.3), ``retry-after-ms``
  (Azure, OpenAI; wins over ``retry-after``), ``x-should-retry`` (Anthropic and OpenAI SDKs);
- ``retryDelay`` in Google's JSON bodies (google.rpc.RetryInfo), ``retry_after`` and its spellings,
  ``estimated_time`` (Hugging Face), ``resets_in_seconds``/``resets_at`` (ChatGPT plans);
- words: "try again in 1m6s", "in an hour", "in 1,200 seconds", "retry in 644ms", "retry after 86400 seconds",
  "regain access on 2026-04-01", "replenished in 2.21:14:15" (Azure API Management), "30秒后再试";
- ``x-ratelimit-reset*``, ``ratelimit-reset``, ``anthropic-ratelimit-*-reset``: durations ("6m0s"), seconds,
  epoch seconds or milliseconds, RFC 3339 times; ``ratelimit`` with all in one (IETF draft). These stand on every
  answer, so they count only for rate limits.

Which values are taken, and how: `wait_time`. Nothing here reads a clock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from runtime.judgement.faults.wait_time import (
    NUMBER,
    SPAN,
    parse_duration,
    parse_moment,
    parse_timestamp,
    plausible_seconds,
    seconds_until,
)

_NUMBERS = re.compile(r"\s*\d[\d.]*(?:\s*,\s*\d[\d.]*)+\s*", re.ASCII)
_RATELIMIT = re.compile(r"\b(?:remaining|r)=0\b[^,]{0,80}?[;,]\s*(?:reset|t)=(\d{1,9})(?!\d)", re.ASCII)
"""One limit that is used up in the ``RateLimit`` field: ``"default";r=0;t=30``, or ``remaining=0, reset=50`` before."""

_GROUPED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])", re.ASCII)
"""A number as people write it: ``1,200``."""
_ONE_UNIT = re.compile(
    r"(?<!once\s)(?<!half\s)\b(?:an?|one)\s(?=(?:second|minute|hour|day)\b(?!\s(?:after|at|pass|and)\b))", re.IGNORECASE
)
"""``an hour``; not a period (``once a day``), nor a part (``half an hour``)."""

_TEXT_SPAN = re.compile(
    r"\b(?:try(?:ing)?\sagain|retry(?:ing)?|wait(?:ing)?|available\sagain|expected\s(?:to\sbe\s)?available|your\srequest\sagain|resets?|come\sback)\b"
    rf"[^\d\n.;]{{0,40}}?\b(?:in|after|for|wait|at\sleast|about)?:?\s*(?<![\d.])({SPAN})",
    re.IGNORECASE,
)
_TEXT_BARE = re.compile(
    r"\b(?:retry|try\sagain)[\s_-](?:in|after)[\"']?\s*[:=]?\s*[\"']?(\d{1,9}(?:\.\d{1,9})?)(?![\w.]*\d|:\d|\s?[a-z%])",
    re.IGNORECASE,
)
_TEXT_FIELD = re.compile(
    rf"\b(retry_?delay|retry[_-]after(?:_seconds|_s)?|retryAfter(?:Seconds)?)[\"']\s*[:=]\s*[\"']?({SPAN}"
    rf"|\d{{1,9}}(?:\.\d{{1,9}})?)[\"',\s}}]",
    re.IGNORECASE,
)
_TEXT_PROTO = re.compile(
    r"\bretry_delay\s*:?\s*\{\s*(?:seconds:\s*(?P<s>\d{1,9}))?\s*(?:nanos:\s*(?P<n>\d{1,9}))?\s*\}", re.IGNORECASE
)
"""google.rpc.RetryInfo as google-api-core prints it: ``retry_delay { seconds: 17 }``."""
_TEXT_CLOCK = re.compile(r"\breplenished\sin\s(?:(\d{1,4})\.)?(\d{1,2}):(\d{2}):(\d{2})(?!\d)", re.IGNORECASE)
"""Azure API Management's quota, a span of .NET: ``2.21:14:15`` is two days and 21 hours."""
_TEXT_CHINESE = re.compile(
    r"(\d{1,9})\s?(毫秒|秒|分钟|小时)(?:之)?后[，,\s请可]{0,4}(?:再试|再次|重试|重新|尝试)(?!失败)"
)
"""Not "60秒后超时" (timed out after 60 s): a word for "again" has to stand behind it."""
_CHINESE_UNITS = {"毫秒": 0.001, "秒": 1.0, "分钟": 60.0, "小时": 3600.0}
_TEXT_DATE = re.compile(
    r"\b(?:regain\saccess|try\sagain|retry|resets?|available|until|wait|renews?|resume[sd]?)\b[^\n]{0,40}?"
    r"(?<!\d)(\d{4}-\d{2}-\d{2})(?:(?:T|\s+at\s+|\s+)(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?\s?(Z|UTC|GMT"
    r"|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)

_BODY_SPANS = {
    "retrydelay": 1.0,
    "retryafter": 1.0,
    "retryafters": 1.0,
    "retryaftersec": 1.0,
    "retryafterseconds": 1.0,
    "retryafterms": 0.001,
    "retryinseconds": 1.0,
    "estimatedtime": 1.0,
    "resetsinseconds": 1.0,
    "resetseconds": 1.0,
    "waitseconds": 1.0,
    "cooldownseconds": 1.0,
    "retryin": 1.0,
    "resetin": 1.0,
}
_BODY_TIMES = frozenset({"resetsat", "resetat", "resettime", "retryat", "ratelimitreset"})
_RESET = re.compile(r"rate-?limit.*reset")
_TOKENS_WORDS = re.compile(r"\b(?:tokens?|TPM|TPD|ITPM|OTPM)\b", re.IGNORECASE)


Resets = Literal["none", "used_up", "any"]


class RetryHint(NamedTuple):
    """Seconds to wait, and where that was read."""

    seconds: float
    source: str


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """What ``x-should-retry`` says, if anything. Both vendor SDKs put it above the status. Header names in
    lower case.
    """
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())


def find_retry_hint(
    headers: Mapping[str, str], body: Any, text: str, *, now: float, resets: Resets = "none"
) -> RetryHint | None:
    """The server's hint, most direct form first.

    Args:
        headers: Response headers, names in lower case.
        body: The parsed JSON body, or None.
        text: The error's words.
        now: The present moment, epoch seconds; a ``date`` header of the same answer is preferred.
        resets: Which rate-limit reset headers count: none; those whose limit is used up (``remaining`` is 0); any.
    """
    at = _until_reference(headers, now)
    return (
        _from_headers(headers, at)
        or _from_body(body, at, resets=resets)
        or _from_text(text, now)
        or _from_resets(headers, text, at, resets)
    )


def _from_headers(headers: Mapping[str, str], at: float) -> RetryHint | None:
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        millis = NUMBER.fullmatch(headers.get(name, ""))
        seconds = plausible_seconds(float(millis[1]) / 1000) if millis else None
        if seconds is not None:
            return RetryHint(seconds, f"{name} header")
    for name in ("retry-after", "x-retry-after", "x-ratelimit-retry-after", "x-ratelimit-reset-after"):
        # Sent twice, by the service and by a proxy: the HTTP library joins both.
        numbers = _NUMBERS.fullmatch(headers.get(name, ""))
        values = headers[name].split(",") if numbers else [headers.get(name, "")]
        seconds = max((s for s in (parse_moment(v, at) for v in values) if s is not None), default=None)
        if seconds is not None:
            return RetryHint(seconds, f"{name} header")
    return None


def _from_body(body: Any, at: float, *, resets: Resets) -> RetryHint | None:
    for key, value in _pairs(body):
        name = re.sub(r"[^a-z]", "", key.lower())
        if name in _BODY_SPANS:
            seconds = _body_span(value, _BODY_SPANS[name], at)
        elif name in _BODY_TIMES and isinstance(value, str | int | float):
            seconds = parse_moment(str(value), at)
        elif name == "headers" and isinstance(value, dict):
            nested = {str(k).lower(): str(v) for k, v in value.items()}
            inner = _from_headers(nested, at) or _from_resets(nested, "", at, resets)
            seconds = inner.seconds if inner else None
        else:
            continue
        if seconds is not None:
            return RetryHint(seconds, f"{key} in body")
    return None


def _body_span(value: Any, unit: float, at: float) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return plausible_seconds(value * unit) if unit != 1.0 else parse_moment(str(value), at)
    if isinstance(value, str):
        number = NUMBER.fullmatch(value) if unit != 1.0 else None
        return plausible_seconds(float(number[1]) * unit) if number else parse_moment(value, at)
    if isinstance(value, dict):  # protobuf's Duration, spelled out
        parts = [value.get("seconds", 0), value.get("nanos", 0)]
        numbers = [float(p) for p in parts if NUMBER.fullmatch(str(p))]
        return plausible_seconds(numbers[0] + numbers[1] / 1e9) if len(numbers) == 2 else None
    return None


def _from_text(text: str, now: float) -> RetryHint | None:
    text = _ONE_UNIT.sub("1 ", _GROUPED.sub(lambda found: found[0].replace(",", ""), text))
    field = _TEXT_FIELD.search(f"{text} ")
    if field:
        seconds = parse_moment(field[2], now)
        if seconds is not None:
            return RetryHint(seconds, f"{field[1]} in body")
    proto = _TEXT_PROTO.search(text)
    if proto and (proto["s"] or proto["n"]):
        seconds = plausible_seconds(float(proto["s"] or 0) + float(proto["n"] or 0) / 1e9)
        if seconds is not None:
            return RetryHint(seconds, "retry_delay in message")
    said = _TEXT_SPAN.search(text)
    if said:
        seconds = parse_duration(said[1])
        if seconds is not None:
            return RetryHint(seconds, "message")
    seconds = _span_in_other_words(text)
    if seconds is not None:
        return RetryHint(seconds, "message")
    dated = _TEXT_DATE.search(text)
    if dated:
        zone = (dated[3] or "").upper()
        clock = dated[2] or "00:00"
        seconds = seconds_until(
            parse_timestamp(f"{dated[1]}T{clock}{'+00:00' if zone in ('', 'Z', 'UTC', 'GMT') else zone}"), now
        )
        if seconds is not None:
            return RetryHint(seconds, "message")
    bare = _TEXT_BARE.search(text)
    if bare:
        seconds = plausible_seconds(float(bare[1]))
        if seconds is not None:
            return RetryHint(seconds, "message")
    return None


def _span_in_other_words(text: str) -> float | None:
    clock = _TEXT_CLOCK.search(text)
    if clock:
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return plausible_seconds(days * 86400 + hours * 3600 + minutes * 60 + seconds)
    said = _TEXT_CHINESE.search(text)
    return plausible_seconds(float(said[1]) * _CHINESE_UNITS[said[2]]) if said else None


def _from_resets(headers: Mapping[str, str], text: str, at: float, resets: Resets) -> RetryHint | None:
    """The reset header that matters: of what is used up the latest; else the one the words name; else the nearest."""
    if resets == "none":
        return None
    open_: list[RetryHint] = []
    used_up = [RetryHint(float(s), "ratelimit header") for s in _RATELIMIT.findall(headers.get("ratelimit", ""))]
    for name, value in headers.items():
        if not _RESET.search(name):
            continue
        seconds = parse_moment(value, at)
        if not seconds:
            continue
        hint = RetryHint(seconds, f"{name} header")
        left = NUMBER.fullmatch(headers.get(name.replace("reset", "remaining"), ""))
        (used_up if left and float(left[1]) == 0 else open_).append(hint)
    if used_up or resets == "used_up":
        return max(used_up, default=None)
    wanted = [h for h in open_ if "token" in h.source] if _TOKENS_WORDS.search(text) else []
    return min(wanted or open_, default=None)


def _pairs(value: Any, depth: int = 0, budget: list[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Keys and values of a JSON document, outer before inner, bounded."""
    left = [500] if budget is None else budget
    left[0] -= 1
    if depth > 8 or left[0] <= 0:
        return
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return
    if isinstance(value, dict):
        yield from ((str(k), v) for k, v in value.items())
        for item in value.values():
            yield from _pairs(item, depth + 1, left)
    elif isinstance(value, list):
        for item in value:
            yield from _pairs(item, depth + 1, left)


def _until_reference(headers: Mapping[str, str], now: float) -> float:
    """The server's own clock where it gives it, so that its dates do not depend on ours (or on when a log is read)."""
    theirs = parse_timestamp(headers.get("date", ""))
    return now if theirs is None else theirs
