"""A tool's parameters as fields of a form, and what was typed there as arguments again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from runtime.judgement.recovery.input_validation import json_object, parse_input
from runtime.record.state.events import IncidentOpened
from screens.render.layout import Span, Spans
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


def form_fields(opened: IncidentOpened, context: RenderContext) -> list[FormField]:
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
        text = _field_text(value) if name in given else ""
        single = "\n" not in text and _kind(properties.get(name)) not in ("object", "array")
        found.append(
            FormField(name, _label(name, properties.get(name), needed=name in needed, context=context), text, single)
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
        if name in given and text == _field_text(value):
            found[name] = value  # as it was, of whatever type
            continue
        schema = properties.get(name)
        try:
            found[name] = parse_input(schema if isinstance(schema, Mapping) else {}, text)
        except ValueError as exc:
            raise ValueError(f"{name}: {exc}") from exc
    return found


def change_lines(opened: IncidentOpened, texts: Mapping[str, str], context: RenderContext) -> list[Spans]:
    """What an edit changes: of each argument that is another now what was asked for (`-`) and what stands there (`+`).

    Args:
        opened: the incident with the call.
        texts: what is typed, by argument; under the empty name all of them as JSON.
        context: the gate for what others wrote.
    """
    given = _given(opened)
    try:
        now = json_object(texts[""]) if "" in texts else {name: texts[name] for name in texts}
    except ValueError:
        return [_change("", "what stands there is not JSON yet", "ink-muted", context)]
    was = {name: value if "" in texts else _field_text(value) for name, value in given.items()}
    lines: list[Spans] = []
    for name in dict.fromkeys((*was, *now)):
        before, after = was.get(name, ""), now.get(name, "")
        if before == after:
            continue
        if name in was:
            lines.append(_change("- ", f"{name} = {_field_text(before)}", "state-failed", context))
        if name in now:
            lines.append(_change("+ ", f"{name} = {_field_text(after)}", "state-succeeded", context))
    return lines or [_change("", "nothing yet", "ink-muted", context)]


def _change(sign: str, text: str, ink: str, context: RenderContext) -> Spans:
    return (Span("Change ", "ink-muted"), Span(sign, ink, bold=True), Span(context.sanitize_line(text, 300), ink))


def _field_text(value: Any) -> str:
    """A value as it stands in its field."""
    return value if isinstance(value, str) else json_text(value)


def _properties(opened: IncidentOpened) -> Mapping[str, Any]:
    found = (opened.arguments_schema or {}).get("properties")
    return found if isinstance(found, Mapping) else {}


def _given(opened: IncidentOpened) -> Mapping[str, Any]:
    found = opened.action.get("arguments")
    return found if isinstance(found, Mapping) else {}


def _kind(schema: Any) -> str:
    return str(schema.get("type", "")) if isinstance(schema, Mapping) else ""


def _label(name: str, schema: Any, *, needed: bool, context: RenderContext) -> str:
    """`path  string, needed  where to write`."""
    kind = _kind(schema)
    if isinstance(schema, Mapping) and isinstance(values := schema.get("enum"), list):
        kind = " | ".join(json_text(value) for value in values[:8])
    about = str(schema.get("description", "")) if isinstance(schema, Mapping) else ""
    kind_and_need = ", ".join(part for part in (kind, "needed" if needed else "") if part)
    parts = [context.sanitize_line(name, 60)]
    parts += [context.sanitize_line(text, 120) for text in (kind_and_need, about)]
    return "  ".join(part for part in parts if part)
