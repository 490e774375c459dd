"""JSON as RFC 8259 has it.

Python's reader also takes ``NaN`` and ``Infinity``, and reads ``1e999`` as infinite. Such a number is shown to a
person, and written down, as ``null``: what runs then would not be what was approved. Here they are refused.
"""

from __future__ import annotations

import json
import math
from typing import Any


class NotANumber(ValueError):
    """A number that JSON does not have, or that is too large; `written` is what stands there."""

    def __init__(self, written: str, said: str) -> None:
        super().__init__(said)
        self.written = written


def load_json(text: str) -> Any:
    """The value of a text. How deeply it is nested is for `orbiter.parsing.nesting.check_json` to check before.

    Raises:
        NotANumber: It has a number that JSON does not have, or that is too large.
        ValueError: It is not JSON.
        RecursionError: It is nested too deeply for the interpreter.
    """
    return _decoder.decode(text)


def dump_json(value: Any) -> str:
    """A value of JSON as text. A number that JSON does not have is written as its name: ``"NaN"``."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:  # such a number, which is rare: a value without one is walked through once
        return json.dumps(_named_numbers(value), ensure_ascii=False)


def _named_numbers(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {name: _named_numbers(each) for name, each in value.items()}
    return list(map(_named_numbers, value)) if isinstance(value, list) else value


def _refuse(word: str) -> Any:
    raise NotANumber(word, f"{word} is not a number in JSON")


def _finite(digits: str) -> float:
    found = float(digits)
    if math.isinf(found):
        raise NotANumber(digits, f"the number {digits[:40]} is too large")
    return found


_decoder = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
