"""Text encoding: text with what UTF-8 cannot encode replaced, so that it can be sent and stored."""

from __future__ import annotations

import re
from typing import Any

_SURROGATE = "[\ud800-\udfff]"


def drop_surrogates(text: str) -> str:
    r"""Without lone surrogates: UTF-8 has none, so that they would make every later request and record fail.

    A file name that is not UTF-8 brings some, and so does a model that escapes half of an emoji (``"\ud83d"``).
    """
    return text if text.isascii() else re.sub(_SURROGATE, "\N{REPLACEMENT CHARACTER}", text)


def plain_text(text: str) -> str:
    """Without lone surrogates, and of `str` itself: what a subclass has of its own is user code."""
    found = drop_surrogates(text)
    return found if type(found) is str else str.__str__(found)


def drop_surrogates_in(value: Any) -> Any:
    """The same of every text, and every key, in a value as JSON has it."""
    if isinstance(value, str):
        return drop_surrogates(value)
    if isinstance(value, dict):
        return {drop_surrogates_in(key): drop_surrogates_in(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [drop_surrogates_in(item) for item in value]
    return value


def mend_json_text(text: str) -> str:
    """JSON in which halves of characters (escapes of lone surrogates) are replaced: a text that a program cut within
    one is JSON that strict readers refuse.
    """
    return re.sub(_HALF_CHARACTER, r"\\ufffd", text)


_HALF_CHARACTER = (
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
