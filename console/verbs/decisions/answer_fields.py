"""`answer --field NAME=VALUE`: the fields of a question's form, typed on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.verbs.argument_values import text_of_stdin
from console.verbs.base import BadInput
from orbiter.parsing.near_names import did_you_mean
from runtime.judgement.forms.fields import FieldPath, Form, FormField
from runtime.judgement.forms.form_values import InvalidForm, Typed, build_value, default_values
from runtime.judgement.forms.schema_form import form_of
from runtime.judgement.forms.typed_text import WrongKind, read_text
from runtime.judgement.forms.wanted import example_of
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.param_validation import schema_of
from runtime.record.state.events import IncidentOpened


def value_of_fields(opened: IncidentOpened, option: str, given: Sequence[str]) -> Any:
    """The value that fields make, with the defaults of those that are not given. A field that takes several values may
    be given several times; ``-`` reads its value from stdin.

    Raises:
        BadInput: The answer has no fields, a field is not known, or a value does not fit.
    """
    form = _form(opened, option)
    filled: dict[FieldPath, Any] = default_values(form)
    several: dict[FieldPath, list[Any]] = {}
    for each in given:
        field, text = _field_of(form, each)
        text = text_of_stdin().removesuffix("\n") if text == "-" else text
        if field.kind in ("several", "list"):
            filled[field.path] = several.setdefault(field.path, [])
            several[field.path] += _items(field, text)
        else:
            filled[field.path] = "" if not text and field.kind == "text" else Typed(text)
    try:
        return build_value(form, filled)
    except InvalidForm as exc:
        raise BadInput(f"--field: {exc}") from exc


def _form(opened: IncidentOpened, option: str) -> Form:
    spec = OPTIONS.get(option)
    schema = next((found for param in (spec.params if spec else ()) if (found := schema_of(opened, param))), None)
    form = form_of(schema) if schema is not None else None
    if form is None or form.single is not None:
        raise BadInput(
            f"--field is for an answer with several fields; {option} takes one value here: give --value, for example"
            f" --value {example_of(form.single) if form and form.single else 'text'}"
        )
    return form


def _field_of(form: Form, given: str) -> tuple[FormField, str]:
    """The field that is named, and the text for it. A name may hold ``=``: the longest that fits is meant."""
    fields = [field for field in form.fields if given.startswith(f"{field.name}=")]
    if fields:
        field = max(fields, key=lambda each: len(each.name))
        return field, given[len(field.name) + 1 :]
    names = [field.name for field in form.fields]
    name = given.partition("=")[0]
    example = f"{names[0]}={example_of(form.fields[0]) or 'value'}"
    if "=" not in given:
        raise BadInput(f"--field {given!r} must be NAME=VALUE, for example --field {example!r}")
    raise BadInput(f"--field {name!r}: unknown field: {did_you_mean(name, names)}the fields are {', '.join(names)}")


def _items(field: FormField, text: str) -> list[Any]:
    try:
        found = read_text(field, text)
    except WrongKind as exc:
        raise BadInput(f"--field: '{field.name}': {exc}, for example {field.name}={example_of(field)}") from exc
    return found if isinstance(found, list) else []
