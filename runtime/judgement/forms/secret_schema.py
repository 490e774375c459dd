"""Which answers are secrets, by their schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

_MAX_VISITED: Final = 100_000


def is_secret(schema: Any) -> bool:
    """Whether an answer must be kept out of the journal: the schema says ``format: password`` or ``writeOnly``, of the
    whole or of any part. A schema that is too large to look through counts as one that says so.
    """
    return _any_object(schema, lambda found: found.get("format") == "password" or found.get("writeOnly") is True)


def has_reference(schema: Any) -> bool:
    """Whether a reference stands anywhere in a schema."""
    return _any_object(schema, lambda found: "$ref" in found or "$dynamicRef" in found)


def _any_object(schema: Any, fits: Callable[[Mapping[str, Any]], bool]) -> bool:
    left, visited = [schema], 0
    while left:
        visited += 1
        if visited > _MAX_VISITED:
            return True
        found = left.pop()
        if isinstance(found, Mapping):
            if fits(found):
                return True
            left += found.values()
        elif isinstance(found, list | tuple):
            left += found
    return False
