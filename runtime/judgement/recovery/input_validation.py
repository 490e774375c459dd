"""Validates an operator's input against the type that the question asks for. Pure.

A question brings a JSON schema of its answer, or none for free text. People type text; a choice, several, a number, a
yes or no, an object become what the schema says. Empty and cancelled differ: an empty text is an answer, no value is
none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from orbiter.json_schema import find_problems
from orbiter.redaction import MIN_LENGTH_ANYWHERE, MIN_SECRET_LENGTH


class InvalidInput(ValueError):
    """The input does not fit; the text says where, and what would."""


MAX_NESTING: Final = 200
"""Levels of typed JSON, at most: what is read back from a journal may have no more (pydantic)."""
_STRING_OR_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]', re.DOTALL)
MAX_WAIT_S = 366 * 86_400
"""A wait of a year: a longer one is a slip, and some are no date of the calendar any more."""
MAX_AMOUNT = 1e15
"""Above it a limit that is counted in whole numbers could not be told from the next."""

_BOOLEAN_WORDS = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


def is_secret(schema: Any) -> bool:
    """Whether an answer must be kept out of the journal: the schema says ``format: password`` or ``writeOnly``, of the
    whole or of any part.
    """
    if isinstance(schema, Mapping):
        own = schema.get("format") == "password" or schema.get("writeOnly") is True
        return own or any(map(is_secret, schema.values()))
    return isinstance(schema, list) and any(map(is_secret, schema))


def secret_warning(text: str) -> str:
    """What an operator should know of a secret of this length before it is sent; empty where there is nothing to know
    (see `orbiter.redaction`).
    """
    if len(text) >= MIN_LENGTH_ANYWHERE:
        return ""
    if len(text) >= MIN_SECRET_LENGTH:
        return f"shorter than {MIN_LENGTH_ANYWHERE} characters: masked only where it stands by itself"
    return f"shorter than {MIN_SECRET_LENGTH} characters: not masked where a tool or a model says it again"


def parse_input(schema: Mapping[str, Any] | None, value: Any) -> Any:
    """`value`, which a person gave, as the schema wants it. Text is read as JSON where the schema is not of text.

    Raises:
        BadInput: it does not fit, or it is None (cancelling is not answering).
    """
    if value is None:
        raise InvalidInput(
            "no value was given: an empty text is a value, too; to leave the question unanswered, skip it"
        )
    if schema is None:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    read = _read(schema, value) if isinstance(value, str) else value
    found = find_problems(schema, read)
    if found:
        raise InvalidInput("; ".join(found))
    return read


def _read(schema: Mapping[str, Any], text: str) -> Any:
    if not find_problems(schema, text):
        return text
    for alternative in schema.get("anyOf", ()):
        if isinstance(alternative, Mapping) and not find_problems(schema, read := _read(alternative, text)):
            return read
    kinds = schema.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    if "boolean" in kinds and text.strip().lower() in _BOOLEAN_WORDS:
        return _BOOLEAN_WORDS[text.strip().lower()]
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = text
    if "array" in kinds and not isinstance(found, list):
        return _parse_list(schema, text)
    # The text itself is what is told to be wrong where it is no better as JSON.
    return text if kinds == {"string"} else found


def _parse_list(schema: Mapping[str, Any], text: str) -> list[Any]:
    """Several answers, typed with commas between them."""
    items = schema.get("items")
    parts: Iterable[str] = (part.strip() for part in text.split(",")) if text.strip() else ()
    return [_read(items, part) if isinstance(items, Mapping) else part for part in parts]


def _nesting(text: str) -> int:
    """How deep the brackets of a JSON text are nested, also where it is cut off. Brackets in strings do not count."""
    depth = deepest = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        deepest = max(deepest, depth)
    return deepest


def json_object(text: str) -> dict[str, Any]:
    """The arguments of a call as they are typed: a JSON object.

    Raises:
        BadInput: the text is not JSON, or not an object.
    """
    if _nesting(text) > MAX_NESTING:
        raise InvalidInput(f"that JSON is nested too deeply to be read: {MAX_NESTING} levels are the limit")
    try:
        found = json.loads(text)
    except ValueError as exc:
        raise InvalidInput(f"that is no JSON: {exc}") from exc
    if not isinstance(found, dict):
        raise InvalidInput('that is JSON, but no object: give an object, as in {"path": "a.md"}')
    return found


def parse_quantity(name: Literal["seconds", "amount"], value: Any) -> float:
    """How long `wait_retry` waits (0 is at once), or by how much `extend` extends.

    Raises:
        BadInput: it is no number, or not one that can be meant.
    """
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = -1.0
    least, most = ("0 or more", MAX_WAIT_S) if name == "seconds" else ("more than 0", MAX_AMOUNT)
    if not math.isfinite(found) or found < 0 or (found == 0 and name == "amount"):
        raise InvalidInput(f"{name} is {value!r}; give a number of {least}")
    if found > most:
        raise InvalidInput(f"{name} is {value!r}; the most is {most:.0f}")
    return found


def check_edited(schema: Mapping[str, Any] | None, arguments: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Check edited arguments against the tool's schema. `before` are the arguments as the model gave them.

    Raises:
        BadInput: naming each argument that does not fit.
    """
    if schema is None:
        return
    found = find_problems(schema, dict(arguments))
    known = schema.get("properties")
    # A tool of ours refuses what it does not know but does not say so in its schema; one that took more takes more.
    if isinstance(known, Mapping) and "additionalProperties" not in schema and set(before) <= set(known):
        found += [f"'{name}' is not a parameter" for name in arguments if name not in known]
    if found:
        raise InvalidInput("; ".join(found))
