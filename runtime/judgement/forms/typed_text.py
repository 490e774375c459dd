"""What is typed into one field as its value, a value as the text of its field, and words for what is wanted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from orbiter.json_schema import find_problems
from orbiter.parsing.nesting import NestedTooDeeply, check_json
from orbiter.parsing.strict_json import load_json
from runtime.judgement.forms.fields import UNSET, FieldKind, FormField
from runtime.judgement.forms.schema_form import choice_word

BOOLEAN_WORDS: Final = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
"""What may be typed, in any case, for a yes or a no."""
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,4})?")
_MAX_DIGITS: Final = 400
_ITEM_KINDS: Final[dict[str, FieldKind]] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}


class WrongKind(ValueError):
    """A text is not of the field's kind; the message says what is wanted."""


def read_text(field: FormField, text: str) -> Any:
    """The value of a field that stands for what was typed. Whether it fits the whole schema is not checked here.

    Raises:
        WrongKind: The text is not of the field's kind.
    """
    if field.kind == "text":
        return None if not text and field.nullable else text
    said = text.strip()
    if field.nullable and (not said or (said == "null" and field.kind != "choice")):
        return None
    return _READERS[field.kind](field, said)


def _read_number(field: FormField, text: str) -> int | float:
    wanted = "a whole number" if field.kind == "integer" else "a number"
    if len(text) > _MAX_DIGITS or _NUMBER.fullmatch(text) is None:
        raise WrongKind(f"should be {wanted}")
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    found = float(text)
    if not math.isfinite(found):
        raise WrongKind(f"should be {wanted} that is not that large")
    return found


def _read_boolean(_field: FormField, text: str) -> bool:
    if text.lower() not in BOOLEAN_WORDS:
        raise WrongKind("should be yes or no")
    return BOOLEAN_WORDS[text.lower()]


def _read_choice(field: FormField, text: str) -> Any:
    """A choice by its value, its title or its number, the first that fits."""
    readings: tuple[Callable[[int], str], ...] = (
        choice_words(field).__getitem__,
        lambda at: field.choices[at].title,
        lambda at: field.choices[at].title.lower(),
        lambda at: str(at + 1),
    )
    for reading, said in zip(readings, (text, text, text.lower(), text), strict=True):
        for at, choice in enumerate(field.choices):
            if reading(at) == said:
                return choice.value
    words = ", ".join(choice.title for choice in field.choices[:12])
    raise WrongKind(f"should be one of: {words}{', …' if len(field.choices) > 12 else ''}")


def choice_words(field: FormField) -> list[str]:
    """The word of each choice: a text as it is, in quotes where it would be taken for another value; else JSON."""
    words = [choice_word(choice.value) for choice in field.choices]
    texts = [isinstance(choice.value, str) for choice in field.choices]
    return [
        json.dumps(word, ensure_ascii=False) if is_text and (words.count(word) > 1 or _needs_quotes(word)) else word
        for word, is_text in zip(words, texts, strict=True)
    ]


def _needs_quotes(word: str) -> bool:
    return word != word.strip() or not word or word[0] in ('"', "[")


def _word(field: FormField, value: Any) -> str:
    return next(
        (word for word, choice in zip(choice_words(field), field.choices, strict=True) if same(choice.value, value)),
        choice_word(value),
    )


def same(first: Any, second: Any) -> bool:
    """Whether two values are the same JSON; 1 and true are not."""
    return json.dumps(first, sort_keys=True, default=str) == json.dumps(second, sort_keys=True, default=str)


def _read_several(field: FormField, text: str) -> list[Any]:
    if text.startswith("["):
        found = read_json(text)
        if isinstance(found, list):
            return found
    return [_read_choice(field, part.strip()) for part in text.split(",") if part.strip()]


def _read_list(field: FormField, text: str) -> list[Any]:
    if text.startswith("["):
        found = read_json(text)
        if isinstance(found, list):
            return found
    items = field.schema.get("items")
    kind = items.get("type") if isinstance(items, Mapping) else None
    item = FormField((), _ITEM_KINDS.get(kind, "text") if isinstance(kind, str) else "text")
    return [read_text(item, part.strip()) for part in text.split(",")] if text else []


def _read_json(field: FormField, text: str) -> Any:
    """JSON; a text that is not JSON is meant as a text where a text fits."""
    try:
        return read_json(text)
    except WrongKind:
        if text[:1] in ("{", "[", '"') or not text or find_problems(field.schema, text):
            raise
        return text


def read_json(text: str) -> Any:
    """JSON that a person wrote, within the limit of nesting.

    Raises:
        WrongKind: It is not JSON.
    """
    try:
        check_json(text)
        return load_json(text)
    except NestedTooDeeply as exc:
        raise WrongKind(f"should be JSON that is less deep: it {exc}") from exc
    except ValueError as exc:
        raise WrongKind(f"should be JSON ({exc})") from exc


_READERS: Final[dict[str, Callable[[FormField, str], Any]]] = {
    "number": _read_number,
    "integer": _read_number,
    "boolean": _read_boolean,
    "choice": _read_choice,
    "several": _read_several,
    "list": _read_list,
    "json": _read_json,
}


def field_text(field: FormField, value: Any) -> str:
    """A value as the text that stands in its field: `read_text` gives the value back, but for an empty text that could
    be null.
    """
    if value is UNSET or (value is None and field.kind == "text"):
        return ""
    if field.kind == "text":
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if field.kind == "boolean" and isinstance(value, bool):
        return "yes" if value else "no"
    if field.kind == "choice":
        return _word(field, value)
    if field.kind in ("several", "list") and isinstance(value, list) and value:
        words = [_word(field, each) for each in value]
        if not any("," in word or word != word.strip() or not word or word.startswith("[") for word in words):
            return ", ".join(words)
    indent = 2 if field.kind == "json" and isinstance(value, dict | list) and value else None
    return json.dumps(value, ensure_ascii=False, indent=indent)
