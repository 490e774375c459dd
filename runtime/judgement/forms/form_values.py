"""The fields' values as one JSON value, checked, and a JSON value as the fields' values."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from msgspec import Struct

from orbiter.json_schema import locate_problems
from runtime.judgement.forms.fields import UNSET, FieldPath, Form, FormField, field_name
from runtime.judgement.forms.typed_text import WrongKind, read_text
from runtime.judgement.forms.wanted import example_of


class Typed(Struct, frozen=True):
    """A text that a person typed for a field; other values are JSON and are taken as they are."""

    text: str


Filled = Mapping[FieldPath, Any]
"""What stands in the fields, by path: `Typed` texts and JSON values. A field that is missing is left out."""


class FieldProblem(Struct, frozen=True):
    """What is wrong with one field, or with the whole where `field` is None."""

    field: FormField | None
    where: str
    """The place as it is told: the field's name, or that of something inside it."""
    text: str
    """What should be there; begins with a small letter."""
    example: str = ""

    def __str__(self) -> str:
        colon = "" if self.text.startswith(("is ", "has ")) else ":"
        said = f"'{self.where}'{colon} {self.text}" if self.where else self.text
        return f"{said}, for example {self.example}" if self.example else said


class InvalidForm(ValueError):
    """What stands in a form does not fit its schema; each problem names its field."""

    def __init__(self, problems: tuple[FieldProblem, ...]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


def default_values(form: Form) -> dict[FieldPath, Any]:
    """What stands in the fields at first."""
    return {field.path: deepcopy(field.default) for field in form.fields if field.default is not UNSET}


def split_value(form: Form, value: Any) -> dict[FieldPath, Any]:
    """A JSON value as the values of the fields. What no field can show is kept under the empty path."""
    if form.single is not None or not isinstance(value, dict):
        return {(): deepcopy(value)}
    left = deepcopy(value)
    found: dict[FieldPath, Any] = {}
    groups = {group.path for group in form.groups}
    for path in [*(field.path for field in form.fields), *sorted(groups, key=len, reverse=True)]:
        parent = _parent(left, path)
        if parent is None or path[-1] not in parent:
            continue
        # What is left of a group when its fields are taken out belongs to the rest.
        if path not in groups or not isinstance(parent[path[-1]], dict):
            found[path] = parent.pop(path[-1])
        elif not parent[path[-1]]:
            empty = parent.pop(path[-1])
            if not any(_is_within(each, path) for each in found):
                found[path] = empty
    return {**found, (): left} if left else found


def _is_within(path: FieldPath, group: FieldPath) -> bool:
    return path[: len(group)] == group


def _parent(value: dict[str, Any], path: FieldPath) -> dict[str, Any] | None:
    """The object in which a path ends; None if it is not there."""
    for name in path[:-1]:
        inner = value.get(name)
        if not isinstance(inner, dict):
            return None
        value = inner
    return value


def build_value(form: Form, filled: Filled) -> Any:
    """The JSON value that the fields make, checked against the schema.

    Args:
        form: The form.
        filled: What stands in its fields. Defaults are not added; see `default_values`.

    Raises:
        InvalidForm: Something does not fit; every problem is named with its field.
    """
    values, problems = _read_all(form, filled)
    failed = {problem.field.path for problem in problems if problem.field is not None}
    if form.single is not None:
        if () not in values and not problems:
            problems.append(_problem(form.single, "", "is required"))
        value = values.get(())
    else:
        value = _assembled(form, values, problems)
    if not (problems and form.single is not None):
        found = find_misfits(form, value)
        problems += [each for each in found if each.field is None or each.field.path not in failed]
    if problems:
        places = {field.path: at for at, field in enumerate(form.all_fields, 1)}
        raise InvalidForm(tuple(sorted(problems, key=lambda each: places.get(each.field.path, 0) if each.field else 0)))
    return value


def draft_value(form: Form, filled: Filled, *, blanks: bool = True) -> Any:
    """What stands in the fields as JSON, checked against nothing: a text that cannot be read stays a text. A secret
    does not stand there.

    Args:
        form: The form.
        filled: What stands in its fields.
        blanks: A field that is needed and missing stands there, too, so that it can be filled in.
    """
    needed = (field for field in form.fields if field.required and blanks)
    standing: dict[FieldPath, Any] = {field.path: "" if field.kind == "text" else None for field in needed}
    secret = {field.path for field in form.all_fields if field.secret}
    standing = {path: value for path, value in {**standing, **filled}.items() if path not in secret}
    values = entered_values(form, standing)
    return values.get(()) if form.single is not None else _assembled(form, values, [])


def entered_values(form: Form, filled: Filled) -> dict[FieldPath, Any]:
    """The fields' values, checked against nothing: a text that cannot be read stays a text."""
    fields = {field.path: field for field in form.all_fields}
    values: dict[FieldPath, Any] = {}
    for path, value in filled.items():
        if not isinstance(value, Typed):
            values[path] = value
        elif not _is_left_out(fields[path], value):
            try:
                values[path] = read_text(fields[path], value.text)
            except WrongKind:
                values[path] = value.text
    return values


def _is_left_out(field: FormField, typed: Typed) -> bool:
    """Whether an empty text means that the member is missing."""
    return field.kind != "text" and not field.required and not typed.text.strip()


def find_misfits(form: Form, value: Any) -> list[FieldProblem]:
    """What of a JSON value does not fit the schema, each with the field that it belongs to."""
    found = []
    for problem in locate_problems(form.schema, value):
        names = tuple(str(part) for part in problem.path)
        found.append(_problem(_field_at(form, names), field_name(names), problem.text))
    return found


def _read_all(form: Form, filled: Filled) -> tuple[dict[FieldPath, Any], list[FieldProblem]]:
    """The values of the fields, and what is wrong with texts among them."""
    fields = {field.path: field for field in form.all_fields}
    values: dict[FieldPath, Any] = {}
    problems: list[FieldProblem] = []
    for path, value in filled.items():
        if not isinstance(value, Typed):
            values[path] = value
            continue
        field = fields[path]
        if _is_left_out(field, value):
            continue
        try:
            values[path] = read_text(field, value.text)
        except WrongKind as exc:
            missing = field.required and not value.text.strip()
            problems.append(_problem(field, field.name, "is required" if missing else str(exc)))
    return values, problems


def _assembled(form: Form, values: Mapping[FieldPath, Any], problems: list[FieldProblem]) -> Any:
    """One object of the values; of a field that fits nowhere a problem is noted."""
    rest = values.get((), {})
    if not isinstance(rest, dict):
        if len(values) > 1 or rest is not None:
            problems.append(_problem(form.rest, "", "the other members should be a JSON object"))
        return rest
    made = deepcopy(rest)
    groups = {group.path for group in form.groups}
    order = [*(group.path for group in form.groups), *(field.path for field in form.fields)]
    for path in [path for path in order if path in values]:
        parent = made
        for name in path[:-1]:
            inner = parent.get(name)
            if not isinstance(inner, dict):
                inner = parent[name] = {}
            parent = inner
        if path[-1] in parent and path not in groups:
            problems.append(_problem(form.rest, field_name(path), "has a field of its own: leave it out here"))
        parent[path[-1]] = values[path]
    for group in sorted(form.groups, key=lambda group: len(group.path)):
        above = _parent(made, group.path)
        if group.required and above is not None and group.path[-1] not in above:
            above[group.path[-1]] = None if group.nullable else {}
    return made


def _field_at(form: Form, names: FieldPath) -> FormField | None:
    """The field in which a place lies; the rest for what has none."""
    found = [field for field in form.fields if _is_within(names, field.path)]
    return max(found, key=lambda field: len(field.path)) if found else form.rest


def _problem(field: FormField | None, where: str, text: str) -> FieldProblem:
    shows_example = field is not None and (not field.path or where == field.name) and not field.secret
    return FieldProblem(field, where, text, example_of(field) if shows_example and field is not None else "")
