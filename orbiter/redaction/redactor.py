"""The redactor: every way of finding a secret, applied to a text or to a value as JSON has it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from orbiter.redaction.known_secrets import spans_of
from orbiter.redaction.labels import find_labelled, is_secret
from orbiter.redaction.names import NameRating, rate_name
from orbiter.redaction.shapes import find_base64, find_broken, find_shaped
from orbiter.redaction.spans import REDACTED, Span, map_to_source, mask_spans, unescape_views

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])")
_ROUNDS = 4
"""What stands beside a mark may only now look like a secret; after so many rounds nothing was ever left."""
_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
_COMPOSED = frozenset({"$ref", "anyOf", "oneOf", "allOf"})


class BadPattern(ValueError):
    """A configured pattern is not a valid regular expression; the text says where the error is."""


class Redactor:
    """Masks texts and values.

    Args:
        patterns: Regular expressions of the operator's own.
        secrets: Values that are masked wherever they stand.
        addresses: Whether e-mail addresses are masked, too: for what leaves the workspace.

    Raises:
        BadPattern: a pattern cannot be read, or it matches the empty text.
    """

    def __init__(self, patterns: Iterable[str] = (), secrets: Iterable[str] = (), *, addresses: bool = True) -> None:
        self._secrets = tuple(secrets)
        self._addresses = addresses
        self._own: list[re.Pattern[str]] = []
        for pattern in patterns:
            try:
                compiled = re.compile(pattern)
            except re.error as exc:
                raise BadPattern(f"the pattern {pattern!r} cannot be read: {exc}") from exc
            if compiled.search("") is not None:
                raise BadPattern(f"the pattern {pattern!r} matches everywhere: it would leave nothing")
            self._own.append(compiled)

    def text(self, text: str) -> str:
        """`text` with a mark in place of every secret."""
        for _ in range(_ROUNDS if text else 0):
            clean = mask_spans(text, self.spans(text))
            if clean == text:
                break
            text = clean
        return text

    def spans(self, text: str) -> Iterator[Span]:
        """Where secrets stand in a text; they may overlap."""
        yield from self._in_view(text)
        for views in unescape_views(text):
            yield from map_to_source(self._in_view(views[-1].text), views, text)

    def _in_view(self, text: str) -> Iterator[Span]:
        yield from self._plain(text)
        for span, hidden in find_base64(text):
            if any(True for _ in self._plain(hidden)):
                yield span

    def _plain(self, text: str) -> Iterator[Span]:
        yield from spans_of(text, self._secrets)
        yield from find_shaped(text)
        yield from find_broken(text)
        yield from find_labelled(text)
        for pattern in (*self._own, _EMAIL) if self._addresses else self._own:
            yield from (Span(found.start(), found.end()) for found in pattern.finditer(text))

    def value(self, value: Any) -> Any:
        """A value as JSON has it with every text in it masked, names of members too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            paired = _name_of_pair(value)
            members: dict[str, Any] = {}
            for name, each in value.items():
                label = paired if paired and name == "value" else str(name)
                members[_free(self.text(str(name)), members)] = self.member(label, each)
            return members
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return REDACTED if str(value) in self._secrets else value
        return value

    def member(self, name: str, value: Any) -> Any:
        """The value of a member. Where the name says that it is a secret, it is masked whatever it looks like."""
        strength = rate_name(name)
        if strength is NameRating.NO or (
            isinstance(value, dict) and (strength is NameRating.WEAK or _is_schema(value))
        ):
            return self.value(value)
        if isinstance(value, dict):
            return {self.text(str(each)): self.member(name, inner) for each, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.member(name, each) for each in value]
        if isinstance(value, str):
            return self._secret(name, value, strength)
        if isinstance(value, int | float) and not isinstance(value, bool) and strength is NameRating.STRONG:
            return REDACTED if abs(value) >= 1_000 else value
        return self.value(value)

    def _secret(self, name: str, text: str, strength: NameRating) -> str:
        if "cookie" in name.lower() and "=" in text:
            return self.text(f"{_COOKIE}{text}").removeprefix(_COOKIE)
        return REDACTED if is_secret(text, strength) else self.text(text)


_COOKIE = "cookie: "


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without anything that looks like a key, and without any of `secrets` (the keys known to be in use)."""
    return Redactor(secrets=secrets, addresses=False).text(text)


def _name_of_pair(value: dict[Any, Any]) -> str:
    """The name in an object that says name and value apart, as lists of headers and of variables do."""
    if "value" in value:
        for each in ("name", "key", "header", "variable", "field"):
            if isinstance(name := value.get(each), str) and rate_name(name) is not NameRating.NO:
                return name
    return ""


def _is_schema(value: dict[Any, Any]) -> bool:
    """Whether an object is the JSON schema of a secret, and not a secret."""
    return value.get("type") in _TYPES or not _COMPOSED.isdisjoint(value)


def _free(name: str, taken: dict[str, Any]) -> str:
    """A name that no member has: two names may look the same once they are masked."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name} ({number})"
    return found
