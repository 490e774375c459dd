"""Messages of a failed JSON Schema validation: where, what is wanted, and what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from orbiter.parsing.near_names import did_you_mean


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """What is wrong in one place of a value."""

    path: tuple[str | int, ...]
    """From the whole value down to the place; a member that is missing counts as a place."""
    text: str
    """What should be there, without the place."""
    sentence: str
    """The same with the place."""


def describe_errors(errors: Iterable[Any]) -> list[SchemaProblem]:
    """One problem for each of jsonschema's errors; of a value of the wrong type only that."""
    errors = list(errors)
    wrong_types = {tuple(error.absolute_path) for error in errors if error.validator == "type"}
    kept = (error for error in errors if error.validator == "type" or tuple(error.absolute_path) not in wrong_types)
    return list(dict.fromkeys(map(_describe, kept)))


def _describe(error: Any) -> SchemaProblem:
    path = tuple(error.absolute_path)
    name, wanted = error.validator, error.validator_value
    if name == "required":
        return _of_member((*path, error.message), "is required")
    if name == "additionalProperties" and wanted is False:
        closest = _closest_name(error.message, error.schema.get("properties", ()))
        return _of_member((*path, error.message), f"is not a parameter{closest}")
    text = _misfit(name, wanted, error)
    return SchemaProblem(path, text, f"'{_location(path)}': {text}" if path else text)


def _of_member(path: tuple[str | int, ...], text: str) -> SchemaProblem:
    return SchemaProblem(path, text, f"'{_location(path)}' {text}")


def _misfit(name: str | None, wanted: Any, error: Any) -> str:
    """What a value that is there should be."""
    value = error.instance
    if name == "enum":
        return f"should be one of {', '.join(map(repr, wanted))}, got {_quote(value)}{_closest_name(value, wanted)}"
    if name is None or (name == "not" and wanted == {}):
        return f"nothing is allowed here, got {_quote(value)}"
    if name in _WORDS:
        return f"{_WORDS[name](wanted, error)}, got {_quote(value)}"
    return _truncate(error.message[:1].lower() + error.message[1:], 300)


def _location(path: Iterable[Any]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _closest_name(given: Any, known: Iterable[Any]) -> str:
    """The name that was probably meant."""
    names = [each for each in known if isinstance(each, str)]
    hint = did_you_mean(given, names) if isinstance(given, str) else ""
    return f": {hint.rstrip()}" if hint else ""


def _alternatives(wanted: Any, error: Any) -> str:
    if error.validator == "oneOf" and not error.context:
        return f"fits more than one of the {len(wanted)} forms allowed, and should fit exactly one"
    return f"fits none of the {len(wanted)} forms allowed"


_WORDS: dict[str, Callable[[Any, Any], str]] = {
    "type": lambda wanted, _: f"should be of type {wanted if isinstance(wanted, str) else ' or '.join(wanted)}",
    "const": lambda wanted, _: f"should be {wanted!r}",
    "pattern": lambda wanted, _: f"should match {wanted}",
    "format": lambda wanted, _: f"should be of the format {wanted}",
    "minLength": lambda wanted, _: f"should have at least {wanted} characters",
    "maxLength": lambda wanted, _: f"should have at most {wanted} characters",
    "minItems": lambda wanted, _: f"should have at least {wanted} items",
    "maxItems": lambda wanted, _: f"should have at most {wanted} items",
    "minProperties": lambda wanted, _: f"should have at least {wanted} members",
    "maxProperties": lambda wanted, _: f"should have at most {wanted} members",
    "uniqueItems": lambda *_: "should have no item twice",
    "minimum": lambda wanted, _: f"should be at least {wanted}",
    "maximum": lambda wanted, _: f"should be at most {wanted}",
    "exclusiveMinimum": lambda wanted, _: f"should be more than {wanted}",
    "exclusiveMaximum": lambda wanted, _: f"should be less than {wanted}",
    "multipleOf": lambda wanted, _: f"should be a multiple of {wanted}",
    "not": lambda wanted, _: f"should not fit {_quote(wanted)}",
    "contains": lambda wanted, _: f"should have an item that fits {_quote(wanted)}",
    "anyOf": _alternatives,
    "oneOf": _alternatives,
}


def _quote(value: Any) -> str:
    return _truncate(repr(value), 80)


def _truncate(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"
