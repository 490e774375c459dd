"""Results as texts for a model: the JSON that the verbs print, cut to what a model can read in one piece."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from runtime.operations.requests.codec import encode

MAX_CHARS: Final = 60_000
"""Characters of one result. Clients cut, or refuse, what is longer than about 25,000 tokens."""
_TEXT_LIMITS: Final[Sequence[int]] = (MAX_CHARS, 4_000, 1_000, 200, 60)
_ITEM_LIMITS: Final[Sequence[int]] = (200, 50, 10, 3)


def json_text(value: Any) -> str:
    """A result as one line of JSON, in ASCII as the verbs print it: what is invisible stays visible as an escape. Where
    it is too long, texts are cut first, then lists; each cut says how much was left out.
    """
    plain = encode(value)
    text = json.dumps(plain, default=str)
    for limit in _TEXT_LIMITS:
        if len(text) <= MAX_CHARS:
            return text
        text = json.dumps(_shortened(plain, limit, MAX_CHARS), default=str)
    for items in _ITEM_LIMITS:
        if len(text) <= MAX_CHARS:
            return text
        text = json.dumps(_shortened(plain, _TEXT_LIMITS[-1], items), default=str)
    return text if len(text) <= MAX_CHARS else json.dumps({"cut": text[: MAX_CHARS // 2]})


def _shortened(value: Any, chars: int, items: int) -> Any:
    if isinstance(value, str) and len(value) > chars:
        return f"{value[:chars]} ... ({len(value) - chars} characters more)"
    if isinstance(value, list | tuple):
        kept = [_shortened(each, chars, items) for each in value[:items]]
        return [*kept, f"... ({len(value) - items} more)"] if len(value) > items else kept
    if isinstance(value, dict):
        return {name: _shortened(each, chars, items) for name, each in value.items()}
    return value
