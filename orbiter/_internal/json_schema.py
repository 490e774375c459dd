"""Checking arguments against a JSON schema, for tools that bring a schema and no Python signature.

Covers what tool schemas are made of. A word that it does not know it leaves alone: arguments are refused for a reason
that can be told, never because the check is poorer than the schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["problems"]

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "null": (type(None),),
}


def problems(schema: Mapping[str, Any], value: Any) -> list[str]:
    """What is wrong with `value`, one text for each place; empty if it fits."""
    return list(_check(schema, value, "", schema))


def _check(schema: Any, value: Any, where: str, root: Mapping[str, Any]) -> Iterator[str]:
    schema = _followed(schema, root)
    if not isinstance(schema, Mapping):
        return
    at = f"'{where}': " if where else ""
    kinds = schema.get("type")
    if kinds is not None and not any(_is(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        expected = kinds if isinstance(kinds, str) else " or ".join(kinds)
        yield f"{at}should be of type {expected}, got {_shown(value)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}should be one of {', '.join(map(repr, schema['enum']))}, got {_shown(value)}"
    if "const" in schema and value != schema["const"]:
        yield f"{at}should be {schema['const']!r}, got {_shown(value)}"
    yield from _check_alternatives(schema, value, at, where, root)
    yield from (f"{at}{problem}, got {_shown(value)}" for problem in _check_size(schema, value))
    if isinstance(value, dict):
        yield from _check_object(schema, value, where, root)
    elif isinstance(value, (list, tuple)) and "items" in schema:
        for index, item in enumerate(value):
            yield from _check(schema["items"], item, f"{where}[{index}]", root)


def _check_size(schema: Mapping[str, Any], value: Any) -> Iterator[str]:
    if isinstance(value, str):
        size, least, most, what = len(value), schema.get("minLength"), schema.get("maxLength"), "characters"
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not _fits(pattern, value):
            yield f"should match {pattern}"
    elif isinstance(value, (list, tuple)):
        size, least, most, what = len(value), schema.get("minItems"), schema.get("maxItems"), "items"
        if schema.get("uniqueItems") is True and any(item in value[:index] for index, item in enumerate(value)):
            yield "should have no item twice"
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _check_number(schema, value)
        return
    else:
        return
    if isinstance(least, int) and size < least:
        yield f"should have at least {least} {what}"
    if isinstance(most, int) and size > most:
        yield f"should have at most {most} {what}"


def _check_number(schema: Mapping[str, Any], value: float) -> Iterator[str]:
    limits: dict[str, tuple[str, Callable[[float], bool]]] = {
        "minimum": ("at least", lambda limit: value >= limit),
        "maximum": ("at most", lambda limit: value <= limit),
        "exclusiveMinimum": ("more than", lambda limit: value > limit),
        "exclusiveMaximum": ("less than", lambda limit: value < limit),
    }
    for word, (text, holds) in limits.items():
        limit = schema.get(word)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool) and not holds(limit):
            yield f"should be {text} {limit}"


def _fits(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:  # a pattern of another dialect refuses nothing
        return True


def _check_alternatives(
    schema: Mapping[str, Any], value: Any, at: str, where: str, root: Mapping[str, Any]
) -> Iterator[str]:
    for member in schema.get("allOf", ()):
        yield from _check(member, value, where, root)
    for word in ("anyOf", "oneOf"):
        members = schema.get(word)
        if members and all(any(_check(member, value, where, root)) for member in members):
            yield f"{at}fits none of the {len(members)} forms allowed, got {_shown(value)}"


def _check_object(
    schema: Mapping[str, Any], value: dict[str, Any], where: str, root: Mapping[str, Any]
) -> Iterator[str]:
    properties = schema.get("properties", {})
    prefix = f"{where}." if where else ""
    for name in schema.get("required", ()):
        if name not in value:
            yield f"'{prefix}{name}' is required"
    extra = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from _check(properties[name], item, f"{prefix}{name}", root)
        elif extra is False:
            yield f"'{prefix}{name}' is not a parameter"
        else:
            yield from _check(extra, item, f"{prefix}{name}", root)


def _followed(schema: Any, root: Mapping[str, Any]) -> Any:
    """The schema that a local reference leads to; one that leads nowhere, or in a circle, allows anything."""
    for _ in range(32):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str):
            return schema
        schema = root
        for part in reference.removeprefix("#").strip("/").split("/"):
            schema = schema.get(part) if part and isinstance(schema, Mapping) else schema
    return None


def _is(value: Any, kind: str) -> bool:
    known = _KINDS.get(kind)
    if known is None:
        return True
    if isinstance(value, bool) and kind in ("integer", "number"):
        return False
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, known)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
