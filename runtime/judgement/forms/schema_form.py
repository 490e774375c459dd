"""`form_of`: the fields that a JSON schema asks for.

Schemas come from servers, frameworks and packages. Draft 2020-12 is read, and what is in use of older ones
(``definitions``, ``enumNames`` of MCP's elicitation). What has no simple kind of field is typed as JSON, and the
validator (`orbiter.json_schema`) has the last word in any case. The number of fields and choices, their depth and the
length of their texts are bounded; patterns are never run here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from orbiter.json_schema import MAX_DEPTH, MAX_SCHEMA_SIZE, find_problems, size_of
from runtime.judgement.forms.fields import UNSET, Choice, FieldGroup, FieldKind, FieldPath, Form, FormField
from runtime.judgement.forms.secret_schema import has_reference, is_secret
from runtime.judgement.forms.subschemas import Opaque, plain, union_choices, without_null

MAX_FIELDS: Final = 60
"""Fields of one form; members beyond are typed as JSON in one field."""
MAX_GROUP_DEPTH: Final = 4
"""Objects inside one another whose members are fields; what is deeper is JSON."""
MAX_CHOICES: Final = 200
"""Choices of one field; a longer list is typed."""
MAX_TITLE: Final = 80
MAX_DESCRIPTION: Final = 400
MAX_DEFAULT: Final = 20_000
"""Characters, or values, that a default may have to be filled in."""
MAX_NAME: Final = 200
"""Characters of a member's name; a longer one has no field."""

REST: Final = FormField(
    (), "json", description="The other members, as a JSON object; empty: none.", schema={"type": "object"}
)
"""The field for members that have no field of their own."""

_SCALARS: Final[dict[str, FieldKind]] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}
_OPEN_ENDED: Final = frozenset(
    {"patternProperties", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "not", "propertyNames"}
)
"""Keywords by which an object may have members, or need some, that its properties do not tell."""


def form_of(schema: Mapping[str, Any]) -> Form:
    """The form of a schema. Never raises: what cannot be read is asked for as JSON."""
    whole = FormField((), "json", required=True, schema=schema, secret=is_secret(schema))
    if size_of(schema, MAX_SCHEMA_SIZE, MAX_DEPTH) > MAX_SCHEMA_SIZE:
        return Form(schema, rest=whole)
    try:
        found, nullable = without_null(plain(schema, schema), schema)
    except Opaque:
        title, description = _text(schema, "title", MAX_TITLE), _text(schema, "description")
        return Form(schema, rest=replace(whole, title=title, description=description))
    if not _has_members(found):
        one = _field((), schema, schema, required=True)
        return Form(schema, fields=(one,)) if one.kind != "json" else Form(schema, rest=one)
    reader = _ObjectReader(schema)
    reader.read((), found)
    rest = reader.rest(found, nullable=nullable)
    return Form(schema, tuple(reader.fields), tuple(reader.groups), rest) if reader.fields else Form(schema, rest=whole)


def _has_members(schema: Mapping[str, Any]) -> bool:
    """Whether members of an object can be fields."""
    members = schema.get("properties")
    return schema.get("type", "object") == "object" and isinstance(members, Mapping) and bool(members)


class _ObjectReader:
    """Collects the fields of an object and of the objects in it, until there are too many."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.fields: list[FormField] = []
        self.groups: list[FieldGroup] = []
        self._left_over = False
        """Members of the whole value have no field of their own."""

    def read(self, path: FieldPath, schema: Mapping[str, Any]) -> None:
        """Add the fields of the members of an object."""
        needed = _needed(schema)
        for name, member in schema["properties"].items():
            if member is False:
                continue
            if len(self.fields) >= MAX_FIELDS or not isinstance(name, str) or len(name) > MAX_NAME:
                self._left_over = True
                continue
            self._read_member((*path, name), member, required=name in needed)

    def _read_member(self, path: FieldPath, member: Any, *, required: bool) -> None:
        try:
            found, nullable = without_null(plain(member, self.root), self.root)
        except Opaque:
            found, nullable = {}, False
        fits = len(self.fields) + _count(found) <= MAX_FIELDS and len(path) < MAX_GROUP_DEPTH
        if not (_has_members(found) and fits and not _open_ended(found) and not is_secret(_own(found))):
            self.fields.append(_field(path, member, self.root, required=required))
            return
        self.groups.append(FieldGroup(path, _text(found, "title", MAX_TITLE), required, nullable))
        before = len(self.fields)
        self.read(path, found)
        self.fields[before:] = [_with_default(each, path, found.get("default")) for each in self.fields[before:]]

    def rest(self, schema: Mapping[str, Any], *, nullable: bool) -> FormField | None:
        """The field for members without a field; None where every member has one."""
        more = schema.get("additionalProperties")
        open_ended = _open_ended(schema) or more is True or isinstance(more, Mapping) or nullable
        if not (self._left_over or open_ended):
            return None
        return replace(REST, secret=self._is_rest_secret(schema))

    def _is_rest_secret(self, schema: Mapping[str, Any]) -> bool:
        known = {field.path[0] for field in self.fields} | {group.path[0] for group in self.groups}
        left = {name: each for name, each in schema["properties"].items() if name not in known}
        return is_secret({**schema, "properties": left})


def _with_default(field: FormField, group: FieldPath, default: Any) -> FormField:
    """The field with its part of the default of the group that it stands in."""
    names = field.path[len(group) :]
    for name in names:
        default = default.get(name, UNSET) if isinstance(default, Mapping) else UNSET
    if default is UNSET or field.default is not UNSET or field.secret:
        return field
    return field if find_problems(field.schema, default) else replace(field, default=default)


def _own(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name in ("format", "writeOnly")}


def _needed(schema: Mapping[str, Any]) -> frozenset[str]:
    names = schema.get("required")
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


def _count(schema: Mapping[str, Any]) -> int:
    members = schema.get("properties")
    return len(members) if isinstance(members, Mapping) else 0


def _open_ended(schema: Mapping[str, Any]) -> bool:
    more = schema.get("additionalProperties")
    return (
        not _OPEN_ENDED.isdisjoint(schema)
        or isinstance(more, Mapping)
        or any(name not in schema["properties"] for name in _needed(schema))
    )


def _field(path: FieldPath, schema: Any, root: Mapping[str, Any], *, required: bool) -> FormField:
    """The field of a member, or of the whole value."""
    nullable = False
    try:
        found, nullable = without_null(plain(schema, root), root)
        kind, choices = _kind(found, root)
        if kind == "choice" and nullable and not _has_null(choices):
            choices = (*choices, Choice(None, "null"))
    except Opaque:
        found, kind, choices = dict(schema) if isinstance(schema, Mapping) else {}, "json", ()
    made = FormField(
        path,
        kind,
        title=_text(found, "title", MAX_TITLE),
        description=_text(found, "description"),
        choices=choices,
        required=required,
        nullable=nullable or (kind == "choice" and _has_null(choices)),
        secret=_is_secret_part(schema, found, root),
        schema=found,
    )
    return replace(made, default=_default(made, schema, root))


def _is_secret_part(schema: Any, found: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether a part of a schema is a secret; one with a reference that was not followed counts as one if any part of
    the whole is.
    """
    return is_secret(schema) or is_secret(found) or (has_reference(found) and is_secret(root))


def _has_null(choices: tuple[Choice, ...]) -> bool:
    return any(each.value is None for each in choices)


def _kind(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[FieldKind, tuple[Choice, ...]]:
    if choices := _choices(schema, root):
        return "choice", choices
    kind = schema.get("type")
    if kind == "array":
        return _list_kind(schema, root)
    if not isinstance(kind, str) or "anyOf" in schema or "oneOf" in schema:
        return "json", ()
    return _SCALARS.get(kind, "json"), ()


def _list_kind(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[FieldKind, tuple[Choice, ...]]:
    if "prefixItems" in schema:
        return "json", ()
    try:
        items = plain(schema.get("items"), root)
    except Opaque:
        return "json", ()
    if choices := _choices(items, root):
        return "several", choices
    kind = items.get("type")
    scalar = isinstance(kind, str) and kind in _SCALARS and items.keys().isdisjoint(("anyOf", "oneOf", "enum", "const"))
    return ("list" if scalar else "json"), ()


def _choices(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[Choice, ...]:
    """What may be chosen; empty where there are none, or too many to choose from."""
    found: list[tuple[Any, str]] = []
    if "const" in schema:
        found = [(schema["const"], "")]
    elif isinstance(values := schema.get("enum"), list):
        names = schema.get("enumNames")
        titles = names if isinstance(names, list) and len(names) == len(values) else [""] * len(values)
        found = [(value, title if isinstance(title, str) else "") for value, title in zip(values, titles, strict=True)]
    else:
        unions = (union_choices(schema, keyword, root) for keyword in ("oneOf", "anyOf"))
        found = next((each for each in unions if each), [])
    if len(found) > MAX_CHOICES:
        return ()
    return tuple(Choice(value, (title or choice_word(value))[:MAX_TITLE]) for value, title in _distinct(found))


def _distinct(found: list[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
    seen = set()
    for value, title in found:
        key = json.dumps(value, sort_keys=True, default=str)
        if key not in seen:
            seen.add(key)
            yield value, title


def choice_word(value: Any) -> str:
    """A value as it is typed to choose it: a text as it is, else JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _text(schema: Any, name: str, most: int = MAX_DESCRIPTION) -> str:
    found = schema.get(name) if isinstance(schema, Mapping) else None
    return found[:most] if isinstance(found, str) else ""


def _default(field: FormField, schema: Any, root: Mapping[str, Any]) -> Any:
    """The schema's default, if it fits and is not a secret."""
    found = field.schema.get("default", UNSET)
    if found is UNSET and isinstance(schema, Mapping):
        found = schema.get("default", UNSET)
    if found is UNSET or field.secret or size_of(found, MAX_DEFAULT, MAX_DEPTH) > MAX_DEFAULT:
        return UNSET
    if isinstance(found, str) and len(found) > MAX_DEFAULT:
        return UNSET
    return UNSET if find_problems(_rooted(schema, root), found) else found


def _rooted(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part of a schema with what its references need."""
    if not isinstance(schema, Mapping) or schema is root:
        return schema if isinstance(schema, Mapping) else {}
    shared = {name: root[name] for name in ("$schema", "$defs", "definitions") if name in root}
    return {**shared, **schema}
