"""Schemas made plain: local references followed, ``allOf`` merged, null taken out of unions.

What cannot be made plain without changing its meaning is left to JSON: `Opaque` is raised. Nothing is fetched: a
reference to another document is opaque.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

MAX_HOPS: Final = 20
"""References and parts of ``allOf`` that are followed for one field."""

_MAX_UNIONS: Final = 5
_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "enumNames"}
)
"""Keywords that constrain nothing: the outer one counts."""
_IGNORED: Final = frozenset({"$defs", "definitions", "$schema", "$id", "$anchor", "$comment"})


class Opaque(Exception):
    """A schema that cannot be shown as fields: what it asks for is typed as JSON."""


def plain(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with references and ``allOf`` at its top merged in.

    Raises:
        Opaque: It is not an object, a reference leads nowhere, elsewhere or in a circle, or parts contradict.
    """
    return _plain(schema, root, [MAX_HOPS])


def _plain(schema: Any, root: Mapping[str, Any], hops: list[int]) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or "$dynamicRef" in schema or "$recursiveRef" in schema:
        raise Opaque
    own = {name: value for name, value in schema.items() if name not in ("$ref", "allOf") and name not in _IGNORED}
    inner: list[Any] = [_target(schema["$ref"], root)] if "$ref" in schema else []
    if isinstance(every := schema.get("allOf"), list):
        inner += every
    for each in inner:
        hops[0] -= 1
        if hops[0] < 0:
            raise Opaque
        own = _merged(own, _plain(each, root, hops))
    return own


def _target(reference: Any, root: Mapping[str, Any]) -> Any:
    """What a local reference (RFC 6901 in a fragment) stands for."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        raise Opaque
    found: Any = root
    for part in reference[1:].split("/")[1:]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and len(name) < 6 and int(name) < len(found):
            found = found[int(name)]
        else:
            raise Opaque
    return found


def _merged(outer: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    """Both schemas in one. Raises `Opaque` where one keyword cannot say what both say."""
    merged = {**inner, **outer}
    for name in outer.keys() & inner.keys():
        first, second = outer[name], inner[name]
        if name == "writeOnly":
            merged[name] = first is True or second is True
        if name in _ANNOTATIONS or first == second:
            continue
        if name == "properties" and isinstance(first, Mapping) and isinstance(second, Mapping):
            if any(first[each] != second[each] for each in first.keys() & second.keys()):
                raise Opaque
            merged[name] = {**second, **first}
        elif name == "required" and isinstance(first, list) and isinstance(second, list):
            merged[name] = [*second, *first]
        else:
            raise Opaque
    return merged


_BESIDE_UNION: Final = _ANNOTATIONS | {"anyOf", "oneOf", "type"}


def without_null(schema: dict[str, Any], root: Mapping[str, Any], depth: int = 0) -> tuple[dict[str, Any], bool]:
    """The schema without null among what it allows, and whether null was allowed. `depth`: unions it stands in.

    Raises:
        Opaque: A union of several types, or of objects; or unions inside one another, perhaps in a circle.
    """
    if depth > _MAX_UNIONS:
        raise Opaque
    if "enum" in schema or "const" in schema:
        return schema, False
    kinds = schema.get("type")
    nullable = False
    if isinstance(kinds, list):
        left = [kind for kind in kinds if kind != "null"]
        if len(left) != 1 or not isinstance(left[0], str):
            raise Opaque
        schema, nullable = {**schema, "type": left[0]}, len(left) < len(kinds)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema and not is_choice_union(schema, keyword, root):
            return _single_alternative(schema, keyword, root, depth)
    return schema, nullable


def _single_alternative(
    schema: dict[str, Any], keyword: str, root: Mapping[str, Any], depth: int
) -> tuple[dict[str, Any], bool]:
    """A union of null and one other schema as the other."""
    union = schema[keyword]
    if not isinstance(union, list) or len(union) > MAX_HOPS or schema.keys() - _BESIDE_UNION:
        raise Opaque
    left = [each for each in (plain(each, root) for each in union) if each.get("type") != "null"]
    if len(left) != 1 or len(left) == len(union):
        raise Opaque
    outer = {name: value for name, value in schema.items() if name != keyword}
    found, _ = without_null(_merged(outer, left[0]), root, depth + 1)
    return found, True


def union_choices(schema: Mapping[str, Any], keyword: str, root: Mapping[str, Any]) -> list[tuple[Any, str]] | None:
    """Values and titles of a union of constants; None if it is another union. Constants may be ``const`` with a title,
    ``enum``, or null.
    """
    union = schema.get(keyword)
    if not isinstance(union, list) or not union:
        return None
    found: list[tuple[Any, str]] = []
    for each in union:
        try:
            one = plain(each, root)
        except Opaque:
            return None
        if one.keys() - (_ANNOTATIONS | {"const", "enum", "type"}):
            return None
        title = one["title"] if isinstance(one.get("title"), str) else ""
        if "const" in one:
            found.append((one["const"], title))
        elif isinstance(values := one.get("enum"), list):
            found += [(value, "") for value in values]
        elif one.get("type") == "null":
            found.append((None, title))
        else:
            return None
    return found if any(value is not None for value, _ in found) else None


def is_choice_union(schema: Mapping[str, Any], keyword: str, root: Mapping[str, Any]) -> bool:
    """Whether a union is a list of constants."""
    return union_choices(schema, keyword, root) is not None
