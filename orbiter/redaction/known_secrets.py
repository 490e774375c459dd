"""Secrets found by their value: typed by operators, in use, or in the environment."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

from orbiter.redaction.names import LONGEST, NameRating, is_ordinary, rate_name
from orbiter.redaction.spans import REDACTED, Span, drop_whitespace

MIN_LENGTH_ANYWHERE = 6
"""Characters from which on a secret is masked wherever it occurs; a shorter one only where it stands by itself: not as
a piece of a word or number, or it would be found all over a report.
"""
MIN_SECRET_LENGTH = 4
"""Characters from which on a secret is masked at all: a PIN has four. A shorter one is a word or number of any text."""
_WRAPPED = 12
"""Characters from which on a secret is found with white space inside."""


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """`text` with `secrets` masked, as they are and as JSON and URLs write them; the longest first, for one may be a
    piece of another.
    """
    pattern = _pattern_of(tuple(secrets))
    return pattern.sub(REDACTED, text) if pattern is not None else text


def spans_of(text: str, secrets: tuple[str, ...]) -> Iterator[Span]:
    """Where secrets stand in a text, whole or wrapped."""
    pattern = _pattern_of(secrets)
    if pattern is None:
        return
    for found in pattern.finditer(text):
        yield Span(found.start(), found.end())
    wrapped = _squeezed_pattern_of(secrets)
    if wrapped is not None:
        view = drop_whitespace(text)
        for found in wrapped.finditer(view.text) if len(view.text) < len(text) else ():
            yield Span(view.start(found.start()), view.end(found.end()))


@lru_cache(maxsize=8)
def _pattern_of(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = {form for secret in secrets if len(secret) >= MIN_SECRET_LENGTH for form in _forms(secret)}
    found = "|".join(_standing(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(found) if found else None


@lru_cache(maxsize=8)
def _squeezed_pattern_of(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = {drop_whitespace(secret).text for secret in secrets}
    long = sorted((form for form in forms if len(form) >= _WRAPPED), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, long))) if long else None


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="", errors="replace")


def _standing(secret: str) -> str:
    """A pattern for a secret: anywhere if it is long, else where no letter or digit goes on at either end."""
    if len(secret) >= MIN_LENGTH_ANYWHERE:
        return re.escape(secret)
    before, after = r"(?<!\w)" if _is_word(secret[0]) else "", r"(?!\w)" if _is_word(secret[-1]) else ""
    return f"{before}{re.escape(secret)}{after}"


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


# --- the environment --------------------------------------------------------------------------------------------------

_PASSWORD = re.compile(r"[A-Za-z][\w+.-]{1,30}://[^\s/:@]{0,200}:([^\s/]{1,200})@")
_PART = re.compile(
    r"(?i)(?:^|[;\s&?])(?:password|pwd|passwd|accountkey|sharedaccesskey|secret|token|sig)=([^;&\s]{4,})"
)
_USER = re.compile(r"[A-Za-z][\w+.-]{1,30}://([A-Za-z0-9_-]{12,})@")
_NO_SECRETS = frozenset({"PWD", "OLDPWD", "GPG_KEY", "SSH_AUTH_SOCK", "XDG_SESSION_ID", "SESSION_MANAGER", "COLORTERM"})
_OPEN_ENDED = re.compile(r"(?i)(?:^|_)(?:token|key|apikey|secret|password|passwd|passphrase|credentials?)(?:_|$)")
_PLAIN_TAILS = re.compile(
    r"(?i)_(?:file|path|dir|name|type|length|len|count|limit|ttl|expiry|expires?|host|port|user|region|sock|url|uri|id|"
    r"algorithm|alg|method|scheme|size|age|days|hours|minutes|seconds|s|ms|enabled|required|policy|prefix|format|server|"
    r"version|style|layout|map|budget|store|backend|provider|manager|agent|usage|mode)$"
)
_PUBLIC = re.compile(r"(?i)(?:^|_)(?:public|primary|foreign|sort|cache|max|min|num|total)_")


def environment_secrets(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The values of environment variables whose names say that they are secrets, and the passwords inside addresses.

    Values that say nothing are left out, or they would be masked all over a report: those shorter than
    `MIN_SECRET_LENGTH`, common words, paths, dates, numbers of less than six digits
    (`orbiter.redaction.names.is_ordinary`).
    """
    if environ is not None:
        return _secrets_of(tuple(environ.items()))
    return _process_environment.secrets()


class _ProcessEnvironment:
    """The secrets in this process's environment, read again only where it has changed: a log asks for each line."""

    def __init__(self) -> None:
        self._read: tuple[Mapping[Any, Any], tuple[str, ...]] = ({}, ())

    def secrets(self) -> tuple[str, ...]:
        as_kept = getattr(os.environ, "_data", None)  # as the system has it: to decode it takes fifty times as long
        if not isinstance(as_kept, dict):
            return _secrets_of(tuple(os.environ.items()))
        seen, secrets = self._read
        if seen != as_kept:
            seen = as_kept.copy()
            secrets = _secrets_of(tuple((os.fsdecode(name), os.fsdecode(value)) for name, value in seen.items()))
            self._read = seen, secrets
        return secrets


_process_environment = _ProcessEnvironment()


@lru_cache(maxsize=4)
def _secrets_of(variables: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for name, value in variables:
        for secret in _secrets_in(name, value.strip()):
            if len(secret) >= MIN_SECRET_LENGTH and not is_ordinary(secret):
                found[secret] = None
    return tuple(found)


def _secrets_in(name: str, value: str) -> Iterator[str]:
    if len(value) < MIN_SECRET_LENGTH:
        return
    for found in _PASSWORD.finditer(value):
        yield found[1]
        yield unquote(found[1])
    for found in _PART.finditer(value):
        yield found[1]
    if not is_secret_variable(name):
        return
    if (user := _USER.match(value)) is not None:
        yield user[1]
    if "://" not in value or name.upper().endswith(("DSN", "WEBHOOK")):
        yield value
    if value.startswith("{"):
        yield from _secrets_in_json(value)
    yield from (line.strip() for line in value.splitlines() if "\n" in value and len(line.strip()) >= 20)


def is_secret_variable(name: str) -> bool:
    """Whether the name of an environment variable says that its value is a secret."""
    if name.upper() in _NO_SECRETS or len(name) > LONGEST or _PUBLIC.search(name) is not None:
        return False
    if name.lower().endswith("access_key_id") or rate_name(name) is not NameRating.NO:
        return True
    return _OPEN_ENDED.search(name) is not None and _PLAIN_TAILS.search(name) is None


def _secrets_in_json(text: str) -> Iterator[str]:
    try:
        value = json.loads(text)
    except ValueError:
        return
    for name, each in value.items() if isinstance(value, dict) else ():
        if isinstance(each, str) and rate_name(name) is not NameRating.NO:
            yield each
