"""Text of a server, cleaned before a model or a person gets it: no control characters, nothing invisible, not too long.

Invisible characters carry instructions that no person sees (Unicode tags), and bidirectional marks make a line read as
another. What remains is still not trusted: screens pass it through their own sanitiser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orbiter.text_encoding import drop_surrogates

MAX_DESCRIPTION_CHARS = 8_000
"""Characters of a tool's description that a model is told."""
MAX_MESSAGE_CHARS = 4_000
"""Characters of a question, an error or a title."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


def clean_text(text: object, most: int = MAX_MESSAGE_CHARS) -> str:
    """The text without what cannot be seen, cut to `most` characters; the cut is marked with the length before it."""
    given = text if isinstance(text, str) else "" if text is None else str(text)
    size = len(given)
    cleaned = _UNSEEN.sub("", drop_surrogates(given[: most + 1]).replace("\r\n", "\n"))
    if size <= most:
        return cleaned
    return f"{cleaned[:most]}… (cut: {size} characters)"


def clean_line(text: object, most: int = 300) -> str:
    """The same on one line."""
    return " ".join(clean_text(text, most).split())


def clean_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema whose titles and descriptions are cleaned; what decides about values stays as it is."""
    return {key: _clean_member(key, value) for key, value in schema.items()}


def _clean_member(key: str, value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value) if key in ("description", "title") else drop_surrogates(value)
    if isinstance(value, Mapping):
        return clean_schema(value)
    if isinstance(value, list):
        return [_clean_member("", each) for each in value]
    return value
