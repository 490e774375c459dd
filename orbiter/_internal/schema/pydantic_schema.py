"""Schemas from pydantic, simplified, and the types that pydantic must be told of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import typing_extensions

from orbiter.json_schema import NAMED_SCHEMAS, PLAIN_VALUES

_POINTER = "#/$defs/"


def simplify_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A pydantic schema in the form that callers know and every provider reads.

    No titles; `Optional[X]` as X; bare list and dict without empty words; definitions put where they are used, so that
    only recursive ones are left under ``$defs``.
    """
    definitions = schema.get("$defs", {})
    kept: set[str] = set()
    body = _simple({key: value for key, value in schema.items() if key != "$defs"}, definitions, (), kept)
    if kept:
        body["$defs"] = {}
        while missing := sorted(kept - body["$defs"].keys()):
            for name in missing:
                body["$defs"][name] = _simple(definitions[name], definitions, (name,), kept)
    return dict(body)


def _simple(node: Any, definitions: Mapping[str, Any], inside: tuple[str, ...], kept: set[str]) -> Any:
    if isinstance(node, list):
        return [_simple(item, definitions, inside, kept) for item in node]
    if not isinstance(node, dict):
        return node
    simple: dict[str, Any] = {}
    for key, value in node.items():
        if key in PLAIN_VALUES:
            simple[key] = value
        elif key in NAMED_SCHEMAS and isinstance(value, dict):
            simple[key] = {name: _simple(item, definitions, inside, kept) for name, item in value.items()}
        elif key != "title":
            simple[key] = _simple(value, definitions, inside, kept)
    return _bare(_inlined(simple, definitions, inside, kept))


def _inlined(
    node: dict[str, Any], definitions: Mapping[str, Any], inside: tuple[str, ...], kept: set[str]
) -> dict[str, Any]:
    name = str(node.get("$ref", "")).removeprefix(_POINTER)
    if name not in definitions:
        return node
    if name in inside or _recursive(name, definitions):
        kept.add(name)
        return node
    target = _simple(definitions[name], definitions, (*inside, name), kept)
    return {**target, **{key: value for key, value in node.items() if key != "$ref"}}


def _recursive(name: str, definitions: Mapping[str, Any]) -> bool:
    seen: set[str] = set()
    ahead = [definitions[name]]
    while ahead:
        node = ahead.pop()
        if isinstance(node, list):
            ahead.extend(node)
        elif isinstance(node, dict):
            target = str(node.get("$ref", "")).removeprefix(_POINTER)
            if target == name:
                return True
            if target in definitions and target not in seen:
                seen.add(target)
                ahead.append(definitions[target])
            ahead.extend(node.values())
    return False


def _bare(simple: dict[str, Any]) -> dict[str, Any]:
    if simple.get("items") == {}:
        del simple["items"]
    if simple.get("additionalProperties") is True:
        del simple["additionalProperties"]
    members = simple.get("anyOf")
    if isinstance(members, list) and {"type": "null"} in members:
        rest = [member for member in members if member != {"type": "null"}]
        if len(rest) == 1:
            del simple["anyOf"]
            simple = {**rest[0], **simple}
    if simple.get("default", ...) is None:
        del simple["default"]
    return simple


# --- typing.TypedDict before Python 3.12 ----------------------------------------------------------------------------


def with_current_typed_dicts(hint: Any) -> Any:
    """`hint` with `typing.TypedDict`s as those of typing_extensions, the only ones that pydantic reads before 3.12."""
    if is_typeddict(hint):
        required = hint.__required_keys__
        return typing_extensions.TypedDict(  # type: ignore[operator]
            hint.__name__,
            {
                key: with_current_typed_dicts(kind) if key in required else typing_extensions.NotRequired[kind]
                for key, kind in get_type_hints(hint).items()
            },
        )
    arguments = get_args(hint)
    origin = get_origin(hint)
    if not arguments or origin is None:
        return hint
    if origin is Annotated:
        return Annotated[(with_current_typed_dicts(arguments[0]), *arguments[1:])]
    new = tuple(with_current_typed_dicts(argument) for argument in arguments)
    if new == arguments:
        return hint
    return reduce(or_, new) if origin in (Union, UnionType) else origin[new]
