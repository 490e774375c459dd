"""What a form consists of: fields, groups of fields, choices, and the field for the rest as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "several", "list", "json"]
"""`choice`: one of the choices; `several`: any number of them; `list`: a list of texts, numbers or yes and no; `json`:
what has no simpler kind.
"""
FieldPath = tuple[str, ...]
"""Names of members, from the whole value down. The path of the whole value, and of the rest, is empty."""


class _Unset:
    """No default. Differs from a default of null."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = _Unset()


class Choice(Struct, frozen=True):
    """One value that may be chosen, and what it is called."""

    value: Any
    title: str


class FormField(Struct, frozen=True):
    """One field.

    Texts (`title`, `description`, titles of choices, names in `path`) are the schema's own, cut to a length: they pass
    the sanitiser before they are shown.
    """

    path: FieldPath
    kind: FieldKind
    title: str = ""
    description: str = ""
    choices: tuple[Choice, ...] = ()
    default: Any = UNSET
    """The schema's own, if it fits; `UNSET` where there is none. A secret field has none."""
    required: bool = False
    nullable: bool = False
    secret: bool = False
    """Not shown while it is typed, and not kept in the clear."""
    schema: Mapping[str, Any] = {}
    """What the field's value has to fit, references resolved at its top."""

    @property
    def name(self) -> str:
        """The path as it is typed and told: ``address.city``. Before a dot in a name stands a backslash."""
        return field_name(self.path)

    @property
    def label(self) -> str:
        """Title or last name."""
        return self.title or (self.path[-1] if self.path else "")


class FieldGroup(Struct, frozen=True):
    """An object whose members are fields of the form."""

    path: FieldPath
    title: str
    required: bool
    nullable: bool


class Form(Struct, frozen=True):
    """The fields of a schema, in its order. One of three shapes: `fields` of an object, with `rest` for members without
    a field; one field with an empty path, which is the whole value; no field, and `rest` is the whole value as JSON.
    """

    schema: Mapping[str, Any]
    fields: tuple[FormField, ...] = ()
    groups: tuple[FieldGroup, ...] = ()
    rest: FormField | None = None
    """A field for JSON: the members that have no field of their own, or the whole value where `fields` is empty."""

    @property
    def single(self) -> FormField | None:
        """The one field that is the whole value; None for an object with fields."""
        if not self.fields:
            return self.rest
        return self.fields[0] if self.fields[0].path == () else None

    @property
    def all_fields(self) -> tuple[FormField, ...]:
        """The fields as they are shown, the rest last."""
        return (*self.fields, self.rest) if self.rest is not None else self.fields

    def titles_above(self, field: FormField) -> tuple[str, ...]:
        """The titles of the groups that a field stands in, outermost first."""
        above = {group.path: group.title or group.path[-1] for group in self.groups}
        return tuple(above[field.path[:size]] for size in range(1, len(field.path)) if field.path[:size] in above)


def field_name(path: FieldPath) -> str:
    """A path as text; see `FormField.name`."""
    return ".".join(part.replace("\\", "\\\\").replace(".", "\\.") for part in path)
