"""Checks of a scripted fault: of which kind its fields must be."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from orbiter._internal.arguments import WHOLE


def check_fault(fault: Any, kinds: Sequence[str]) -> None:
    """Refuse a fault where it is written, and not when a run comes to it.

    Raises:
        TypeError: A field is of another kind.
    """
    status = fault.status
    right = WHOLE.takes(status) and 100 <= status <= 999
    _check("status", status, right, "a status of HTTP, such as 503")
    _check("kind", fault.kind, fault.kind in kinds, f"one of {', '.join(kinds)}")
    for name in ("message", "type", "code", "text"):
        _check(name, getattr(fault, name), isinstance(getattr(fault, name), str), "a text")
    headers = fault.headers
    texts = isinstance(headers, Mapping) and all(isinstance(each, str) for pair in headers.items() for each in pair)
    _check("headers", headers, texts, 'a mapping of texts, such as {"retry-after": "1"}')
    _check("body", fault.body, _is_body(fault.body), "a text, or a mapping as JSON has it")


def _check(name: str, value: object, right: bool, words: str) -> None:
    if not right:
        raise TypeError(f"Fault: {name} must be {words}; got {reprlib.repr(value)}")


def _is_body(body: object) -> bool:
    if body is None or isinstance(body, str):
        return True
    try:
        json.dumps(body)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
