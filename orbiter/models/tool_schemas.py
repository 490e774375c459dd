"""Schemas of tools as the APIs take them.

A tool's own schema may be any JSON schema (an MCP server's often is), and its arguments are checked against that one.
The APIs take less: Anthropic wants an object without ``oneOf``, ``allOf`` or ``anyOf`` at the top ("input_schema does
not support oneOf, allOf, or anyOf at the top level"), OpenAI one without ``enum`` and ``not`` as well ("schema must
have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level"), and no list without ``items``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from orbiter.json_schema import NAMED_SCHEMAS, PLAIN_VALUES

_REFUSED_AT_TOP: Final = frozenset({"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$ref"})
_DEEPEST: Final = 16
"""References and alternatives that are followed, one inside the other."""


def tool_functions(tools: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tools as `name`, `description`, `parameters`, from OpenAI's function form."""
    return [tool.get("function", tool) for tool in tools]


def with_object_parameters(tools: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """Tools in OpenAI's function form whose parameters are plain objects; the same list where all are."""
    if not tools or all(_is_plain(each.get("parameters")) for each in tool_functions(tools)):
        return tools
    return [_with_object(each) for each in tools]


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of an object that has the properties of all alternatives of `schema`, which it says in words.

    Required is what every alternative requires. What does not fit is found when the tool checks its arguments.
    """
    return _Flattener(schema).flat(schema, 0)


def _is_plain(schema: Any) -> bool:
    return schema is None or (
        isinstance(schema, dict) and schema.get("type") == "object" and not (schema.keys() & _REFUSED_AT_TOP)
    )


def _with_object(tool: dict[str, Any]) -> dict[str, Any]:
    if "function" in tool:
        return {**tool, "function": _with_object(tool["function"])}
    schema = tool.get("parameters")
    return tool if _is_plain(schema) else {**tool, "parameters": object_schema(_table(schema))}


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class _Flattener:
    """Puts alternatives and references into the object that has them. Each reference is followed once."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._root = schema
        self._found: dict[str, dict[str, Any]] = {}

    def flat(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """The schema as an object."""
        found = {key: value for key, value in schema.items() if key not in _REFUSED_AT_TOP}
        properties, required = dict(_table(found.get("properties"))), _names(found.get("required"))
        found |= {"type": "object", "properties": properties, "required": required}
        if depth == _DEEPEST:
            return found
        for part in [*self._target(schema.get("$ref"), depth), *self._parts(schema.get("allOf"), depth)]:
            _take_properties(properties, part, "allOf")
            required += [name for name in part["required"] if name not in required]
        for part in self._parts([schema.get("then"), schema.get("else")], depth):
            _take_properties(properties, part, "anyOf")
        for key in ("anyOf", "oneOf"):
            wanted = []
            for part in self._parts(schema.get(key), depth):
                _take_properties(properties, part, "anyOf")
                wanted.append(part["required"])
            required += [name for name in _in_all(wanted) if name not in required]
            if len(set(map(tuple, wanted))) > 1:
                found["description"] = _in_words(found.get("description"), wanted)
        return found

    def _parts(self, members: Any, depth: int) -> list[dict[str, Any]]:
        found = members if isinstance(members, list) else []
        return [self.flat(each, depth + 1) for each in found if isinstance(each, Mapping)]

    def _target(self, reference: Any, depth: int) -> list[dict[str, Any]]:
        target = _pointed_at(self._root, reference) if isinstance(reference, str) else None
        if not isinstance(target, Mapping):
            return []
        if reference not in self._found:
            self._found[reference] = {"properties": {}, "required": []}  # while it is followed: it may name itself
            self._found[reference] = self.flat(target, depth + 1)
        return [self._found[reference]]


def _pointed_at(root: Any, reference: str) -> Any:
    """What a reference within the schema names (RFC 6901); None where it names nothing there."""
    start, *names = unquote(reference).split("/")
    found = root if start == "#" else None
    for name in names:
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _take_properties(properties: dict[str, Any], part: Mapping[str, Any], kind: str) -> None:
    """A property that two parts describe differently is as either says (`anyOf`), or as both do (`allOf`)."""
    for name, value in part["properties"].items():
        before = properties.get(name, value)
        properties[name] = value if before == value else {kind: [before, value]}


def _names(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _in_all(wanted: Sequence[list[str]]) -> list[str]:
    return [name for name in wanted[0] if all(name in each for each in wanted)] if wanted else []


def _in_words(description: Any, wanted: Iterable[list[str]]) -> str:
    sets = "; or ".join(", ".join(each) or "none" for each in wanted)
    said = f"Required: {sets}."
    return f"{description} {said}" if isinstance(description, str) and description else said


def add_missing_items(schema: Any) -> Any:
    """A JSON schema in which every list says of what: OpenAI's API refuses ``{"type": "array"}`` alone ("array schema
    missing items"). The same object where nothing is missing.
    """
    if isinstance(schema, list):
        members = [add_missing_items(each) for each in schema]
        return members if any(new is not old for new, old in zip(members, schema, strict=True)) else schema
    if not isinstance(schema, dict):
        return schema
    changed = {key: made for key, value in schema.items() if (made := _member(key, value)) is not value}
    kinds = schema.get("type")
    if "items" not in schema and "prefixItems" not in schema and (kinds == "array" or _lists(kinds)):
        changed["items"] = {}
    return {**schema, **changed} if changed else schema


def _member(key: str, value: Any) -> Any:
    if key in PLAIN_VALUES:
        return value
    if key in NAMED_SCHEMAS and isinstance(value, dict):
        made = {name: add_missing_items(each) for name, each in value.items()}
        return made if any(made[name] is not each for name, each in value.items()) else value
    return add_missing_items(value)


def _lists(kinds: Any) -> bool:
    return isinstance(kinds, list) and "array" in kinds
