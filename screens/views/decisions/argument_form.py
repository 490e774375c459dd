"""A tool's parameters as fields of a form, and what was typed there as arguments again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from runtime.judgement.recovery.input_validation import parse_input
from runtime.record.state.events import IncidentOpened
from screens.views.run.json_lines import json_text
from screens.views.shared.render_context import RenderContext

MAX_FIELDS: Final = 20
"""Parameters that make a form; more are edited as JSON."""


class FormField(NamedTuple):
    """One field: the parameter's name, what it wants in clean words, and what stands there at first."""

    name: str
    label: str
    text: str
    single: bool = True


def form_fields(opened: IncidentOpened, looks: RenderContext) -> list[FormField]:
    """The fields for the arguments of the incident's call: those of the schema, then what the model gave besides.
    None where there is no schema to make them from.
    """
    properties = _properties(opened)
    given = _given(opened)
    names = [*properties, *(name for name in given if name not in properties)]
    if not properties or len(names) > MAX_FIELDS:
        return []
    needed = (opened.arguments_schema or {}).get("required") or ()
    found = []
    for name in names:
        value = given.get(name)
        text = "" if name not in given else value if isinstance(value, str) else json_text(value)
        single = "\n" not in text and _kind(properties.get(name)) not in ("object", "array")
        found.append(
            FormField(name, _label(name, properties.get(name), needed=name in needed, looks=looks), text, single)
        )
    return found


def read_arguments(opened: IncidentOpened, texts: Mapping[str, str]) -> dict[str, Any]:
    """What was typed, as the schema wants it. A field that is empty and was so before is left out.

    Raises:
        ValueError: a field does not fit; the message names it.
    """
    properties, given = _properties(opened), _given(opened)
    found: dict[str, Any] = {}
    for name, text in texts.items():
        if not text and name not in given:
            continue
        value = given.get(name)
        if name in given and text == (value if isinstance(value, str) else json_text(value)):
            found[name] = value  # as it was, of whatever type
            continue
        schema = properties.get(name)
        try:
            found[name] = parse_input(schema if isinstance(schema, Mapping) else {}, text)
        except ValueError as exc:
            raise ValueError(f"{name}: {exc}") from exc
    return found


def _properties(opened: IncidentOpened) -> Mapping[str, Any]:
    found = (opened.arguments_schema or {}).get("properties")
    return found if isinstance(found, Mapping) else {}


def _given(opened: IncidentOpened) -> Mapping[str, Any]:
    found = opened.action.get("arguments")
    return found if isinstance(found, Mapping) else {}


def _kind(schema: Any) -> str:
    return str(schema.get("type", "")) if isinstance(schema, Mapping) else ""


def _label(name: str, schema: Any, *, needed: bool, looks: RenderContext) -> str:
    """`path  string, needed  where to write`."""
    kind = _kind(schema)
    if isinstance(schema, Mapping) and isinstance(values := schema.get("enum"), list):
        kind = " | ".join(json_text(value) for value in values[:8])
    about = str(schema.get("description", "")) if isinstance(schema, Mapping) else ""
    parts = (looks.line(name, 60), looks.line(", ".join(p for p in (kind, "needed" if needed else "") if p), 120),
             looks.line(about, 120))  # fmt: skip
    return "  ".join(part for part in parts if part)
