"""Words for a field: what is wanted in it, and an example of what fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orbiter.json_schema import find_problems
from runtime.judgement.forms.fields import UNSET, FormField
from runtime.judgement.forms.typed_text import field_text

_FORMATS: Final = {
    "date": ("a date", "2027-01-31"),
    "date-time": ("a date and time", "2027-01-31T12:00:00Z"),
    "time": ("a time", "12:00:00Z"),
    "email": ("an email address", "name@example.com"),
    "idn-email": ("an email address", "name@example.com"),
    "uri": ("a URI", "https://example.com/page"),
    "uuid": ("a UUID", "123e4567-e89b-12d3-a456-426614174000"),
    "ipv4": ("an IPv4 address", "192.0.2.1"),
    "ipv6": ("an IPv6 address", "2001:db8::1"),
}
_KINDS: Final = {
    "text": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "yes or no",
    "choice": "one of the choices",
    "several": "any of the choices",
    "list": "several, with commas between them",
    "json": "JSON",
}
_MAX_EXAMPLE: Final = 60


def wanted_words(field: FormField) -> str:
    """What is wanted, in a few words: ``a whole number, 1 to 5``."""
    schema = field.schema
    words = _KINDS[field.kind]
    if field.kind == "text" and isinstance(schema.get("format"), str):
        words = _FORMATS.get(schema["format"], (words, ""))[0]
    if field.kind == "json" and isinstance(kind := schema.get("type"), str):
        words = {"object": "a JSON object", "array": "a JSON list"}.get(kind, words)
    limits = ("minimum", "maximum", "") if field.kind in ("number", "integer") else ("", "", "")
    limits = ("minLength", "maxLength", " characters") if field.kind == "text" else limits
    limits = ("minItems", "maxItems", " of them") if field.kind in ("several", "list") else limits
    return ", ".join(part for part in (words, _range(schema, *limits)) if part)


def _range(schema: Mapping[str, Any], low: str, high: str, unit: str) -> str:
    least, most = (_number(schema.get(name)) for name in (low, high))
    if unit and least == 0:
        least = None
    if least is not None and most is not None:
        return f"{least} to {most}{unit}" if least != most else f"{least}{unit}"
    if least is not None:
        return f"{least}{unit} or more"
    return f"at most {most}{unit}" if most is not None else ""


def _number(value: Any) -> int | float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) < 1e15 else None


def example_of(field: FormField) -> str:
    """A short text that fits the field; empty where none is known, as for a pattern without an example."""
    for value in _candidates(field):
        text = field_text(field, value)
        if 0 < len(text) <= _MAX_EXAMPLE and "\n" not in text and not find_problems(field.schema, value):
            return text
    return ""


def _candidates(field: FormField) -> Iterator[Any]:
    """Values that may fit, the best first."""
    schema = field.schema
    examples = schema.get("examples")
    if not field.secret:
        yield from examples[:3] if isinstance(examples, list) else ()
        yield from () if field.default is UNSET else (field.default,)
    match field.kind:
        case "text":
            yield _FORMATS.get(str(schema.get("format")), ("", "text"))[1]
        case "integer" | "number":
            yield from _numbers(schema)
        case "boolean":
            yield from (True, False)
        case "choice":
            yield from (choice.value for choice in field.choices[:3])
        case "several":
            yield from ([choice.value for choice in field.choices[:size]] for size in (1, 2, 3))
        case "list":
            yield from _lists(schema)
        case _:
            yield from ({"name": "value"}, [1, 2], 1, "text")


def _numbers(schema: Mapping[str, Any]) -> Iterator[int | float]:
    step = _number(schema.get("multipleOf")) or 1
    for name in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
        if (limit := _number(schema.get(name))) is not None:
            yield limit
            yield (limit // step + 1) * step
            yield (limit // step - 1) * step
    yield 3 * step


def _lists(schema: Mapping[str, Any]) -> Iterator[list[Any]]:
    items = schema.get("items")
    kind = items.get("type") if isinstance(items, Mapping) else ""
    one: list[Any] = ["a", "b", "c"]
    if kind in ("integer", "number", "boolean"):
        one = [True, False] if kind == "boolean" else [1, 2, 3]
    yield from (one[:size] for size in (2, 1, 3))
