"""Validates an operator's input against the type that the question asks for. Pure.

A question brings a JSON schema of its answer, or none for free text. People type text; a choice, several, a number, a
yes or no, an object become what the schema says. Empty and cancelled differ: an empty text is an answer, a
missing value is not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from orbiter.json_schema import find_problems
from orbiter.parsing.nesting import NestedTooDeeply, check_json
from orbiter.parsing.strict_json import load_json
from orbiter.redaction import MIN_LENGTH_ANYWHERE, MIN_SECRET_LENGTH
from orbiter.text_encoding import drop_surrogates_in
from runtime.judgement.forms.form_values import find_misfits
from runtime.judgement.forms.schema_form import form_of
from runtime.judgement.forms.typed_text import BOOLEAN_WORDS


class InvalidInput(ValueError):
    """The input does not fit; the text says where, and what would."""


MAX_WAIT_S = 366 * 86_400
"""A wait of a year: a longer one is a slip, and some would end past the calendar."""
MAX_AMOUNT = 1e15
"""Above it a limit that is counted in whole numbers could not be told from the next."""


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
        InvalidInput: it does not fit, or it is None (cancelling is not answering).
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
        form = form_of(schema)
        misfits = find_misfits(form, read) if form.single is None and isinstance(read, dict) else []
        raise InvalidInput("; ".join(map(str, misfits)) or "; ".join(found))
    return read


def _read(schema: Mapping[str, Any], text: str) -> Any:
    if not find_problems(schema, text):
        return text
    for alternative in schema.get("anyOf", ()):
        if isinstance(alternative, Mapping) and not find_problems(schema, read := _read(alternative, text)):
            return read
    kinds = schema.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    if "boolean" in kinds and text.strip().lower() in BOOLEAN_WORDS:
        return BOOLEAN_WORDS[text.strip().lower()]
    try:
        check_json(text)
        found = drop_surrogates_in(load_json(text))
    except ValueError:
        found = text
    if "array" in kinds and not isinstance(found, list):
        return _parse_list(schema, text)
    # The text itself is reported as wrong where it does not fit as JSON either.
    return text if kinds == {"string"} else found


def _parse_list(schema: Mapping[str, Any], text: str) -> list[Any]:
    """Several answers, typed with commas between them."""
    items = schema.get("items")
    parts: Iterable[str] = (part.strip() for part in text.split(",")) if text.strip() else ()
    return [_read(items, part) if isinstance(items, Mapping) else part for part in parts]


def json_object(text: str) -> dict[str, Any]:
    """The arguments of a call as they are typed: a JSON object.

    Raises:
        InvalidInput: the text is not JSON, or not an object.
    """
    try:
        check_json(text)
        found = drop_surrogates_in(load_json(text))
    except NestedTooDeeply as exc:
        raise InvalidInput(f"that JSON {exc}") from exc
    except ValueError as exc:
        raise InvalidInput(f'that is not JSON: {exc}; give an object, for example {{"path": "a.md"}}') from exc
    if not isinstance(found, dict):
        raise InvalidInput('that is JSON, but no object: give an object, for example {"path": "a.md"}')
    return found


def parse_quantity(name: str, value: Any, *, zero: bool) -> float:
    """A parameter that is a number: how long `wait_retry` waits in seconds (`zero`: 0 is at once), or by how much
    `extend` extends.

    Raises:
        InvalidInput: it is not a number, or not one that can be meant.
    """
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = -1.0
    least, most = ("0 or more", MAX_WAIT_S) if zero else ("more than 0", MAX_AMOUNT)
    if not math.isfinite(found) or found < 0 or (found == 0 and not zero):
        raise InvalidInput(f"{name} is {value!r}; give a number of {least}")
    if found > most:
        raise InvalidInput(f"{name} is {value!r}; the most is {most:.0f}")
    return found


def check_edited(schema: Mapping[str, Any] | None, arguments: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Check edited arguments against the tool's schema. `before` are the arguments as the model gave them.

    Raises:
        InvalidInput: naming each argument that does not fit.
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
