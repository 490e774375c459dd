r"""Foreign text as a span may carry it: redacted, without control and bidi characters, and not too long.

Names of tools, agents and models are foreign text too: a server, a file or a model chose them.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from orbiter.redaction import Redactor
from orbiter.text_encoding import drop_surrogates

MAX_NAME_CHARS: Final = 200
MAX_ID_CHARS: Final = 1_000
MAX_VALUE_CHARS: Final = 32_768
"""Characters of one attribute with content. Receivers have limits for a whole span, of a few MB."""

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BREAKS = re.compile(r"\s+")


class AttributeText:
    """Cleans texts for attributes. Names are remembered: they come again with every step.

    Args:
        redactor: What masks secrets, as they are known now.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._names: dict[str, str] = {}

    def name(self, text: str) -> str:
        """A name on one line."""
        found = self._names.get(text)
        if found is None:
            found = self._names[text] = _BREAKS.sub(" ", self.text(text[: 2 * MAX_NAME_CHARS]))[:MAX_NAME_CHARS]
        return found

    def id(self, text: str) -> str:
        """An id or a path, which is not a secret."""
        return _clean(drop_surrogates(text[:MAX_ID_CHARS]))

    def text(self, text: str) -> str:
        """A text of any length."""
        return _cut(_clean(self._redactor.text(drop_surrogates(text))))

    def json(self, value: Any) -> str:
        """A value as JSON text; text in it is cleaned before it is written."""
        return _cut(json.dumps(_clean_in(self._redactor.value(value)), ensure_ascii=False, default=str))


def _clean(text: str) -> str:
    return _UNSEEN.sub("", text)


def _clean_in(value: Any) -> Any:
    if isinstance(value, str):
        return _clean(drop_surrogates(value))
    if isinstance(value, dict):
        return {_clean(drop_surrogates(str(key))): _clean_in(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_in(item) for item in value]
    return value


def _cut(text: str) -> str:
    if len(text) <= MAX_VALUE_CHARS:
        return text
    return f"{text[:MAX_VALUE_CHARS]} … {len(text) - MAX_VALUE_CHARS} characters left out"
