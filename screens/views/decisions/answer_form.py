"""The form of an answer: which options have one, what stands in it at first, and the words of its rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from runtime.judgement.forms.fields import FieldPath, Form, FormField, field_name
from runtime.judgement.forms.form_values import FieldProblem, Filled, default_values, entered_values, split_value
from runtime.judgement.forms.schema_form import REST, form_of
from runtime.judgement.forms.typed_text import same
from runtime.judgement.forms.wanted import wanted_words
from runtime.judgement.recovery.input_validation import json_object
from runtime.judgement.recovery.param_validation import schema_of
from runtime.record.state.events import IncidentOpened
from screens.render.layout import Span, Spans, join_spans, span
from screens.views.decisions.prompt_choices import PromptChoice
from screens.views.run.json_lines import json_text
from screens.views.shared.render_context import RenderContext


def form_for(opened: IncidentOpened, choice: PromptChoice) -> Form | None:
    """The form for the answer of a choice; None where the answer is one value, of one field."""
    if choice.param is None:
        return None
    edits = edits_arguments(choice)
    schema = opened.arguments_schema if edits else schema_of(opened, choice.param)
    if not schema:
        return None
    form = form_of(schema)
    if form.single is not None:
        return None
    if edits and form.rest is None and () in split_value(form, asked_arguments(opened)):
        return replace(form, rest=REST)  # the model gave more than the tool declares
    return form


def edits_arguments(choice: PromptChoice) -> bool:
    """Whether the answer is the arguments of the call, edited."""
    return choice.param is not None and choice.param.kind == "json"


def asked_arguments(opened: IncidentOpened) -> Mapping[str, Any]:
    """The arguments that the model asked for; empty where the incident has none."""
    found = opened.action.get("arguments")
    return found if isinstance(found, Mapping) else {}


def first_values(
    opened: IncidentOpened, choice: PromptChoice, form: Form, draft: Filled | None
) -> dict[FieldPath, Any]:
    """What stands in the fields when the form opens: what was typed before, else what the model asked for, or the
    defaults of the schema. A draft has no secret; a secret argument stays as it was asked for.
    """
    if not edits_arguments(choice):
        return dict(default_values(form) if draft is None else draft)
    asked = split_value(form, dict(asked_arguments(opened)))
    return asked if draft is None else {**_secret_part(form, asked), **draft}


def _secret_part(form: Form, filled: Filled) -> dict[FieldPath, Any]:
    return {field.path: filled[field.path] for field in form.all_fields if field.secret and field.path in filled}


def field_changes(opened: IncidentOpened, form: Form, filled: Filled, context: RenderContext) -> list[Spans]:
    """What an edit in the form changes: of each argument that is another now what was asked for (`-`) and what stands
    there (`+`). Secrets are not shown.
    """
    before, after = split_value(form, dict(asked_arguments(opened))), entered_values(form, filled)
    secret = {field_name(field.path) for field in form.all_fields if field.secret}
    return _change_lines(_by_name(before), _by_name(after), secret, context)


def _by_name(filled: Filled) -> dict[str, Any]:
    """Values by the names of their fields; members without a field by their own."""
    rest = filled.get((), {})
    others = rest if isinstance(rest, Mapping) else {"other members": rest}
    return {**{field_name(path): value for path, value in filled.items() if path}, **others}


def json_changes(opened: IncidentOpened, text: str, context: RenderContext) -> list[Spans]:
    """The same for arguments that are typed as JSON."""
    try:
        after = json_object(text)
    except ValueError:
        return [_change("", "what stands there is not JSON yet", "ink-muted", context)]
    return _change_lines(asked_arguments(opened), after, (), context)


def _change_lines(
    before: Mapping[str, Any], after: Mapping[str, Any], secret: Collection[str], context: RenderContext
) -> list[Spans]:
    lines: list[Spans] = []
    for name in dict.fromkeys((*before, *after)):
        if name in before and name in after and same(before[name], after[name]):
            continue
        for sign, values, ink in (("- ", before, "state-failed"), ("+ ", after, "state-succeeded")):
            if name in values:
                value = values[name]
                words = "(not shown)" if name in secret else value if isinstance(value, str) else json_text(value)
                lines.append(_change(sign, f"{name} = {words}", ink, context))
    return lines or [_change("", "nothing yet", "ink-muted", context)]


def _change(sign: str, text: str, ink: str, context: RenderContext) -> Spans:
    return (Span("Change ", "ink-muted"), Span(sign, ink, bold=True), Span(context.sanitize_line(text, 300), ink))


def row_label(form: Form, field: FormField, context: RenderContext) -> Spans:
    """`Address > City  text, needed`: where the field stands, what it is called, and what is wanted."""
    name = field.label or ("other members" if not field.path else "no name")
    titles = [context.sanitize_line(title, 60) for title in (*form.titles_above(field), name)]
    wanted = [wanted_words(field), "needed" if field.required else "", "not shown" if field.secret else ""]
    return join_spans(
        (
            span(context.glyphs.crumb.join(titles), "ink-accent"),
            span(", ".join(part for part in wanted if part), "ink-muted"),
        ),
        "  ",
    )


def row_description(field: FormField, context: RenderContext) -> str:
    """What the schema says of a field, on one line."""
    return context.sanitize_line(field.description, 400)


def problem_text(problem: FieldProblem, context: RenderContext) -> str:
    """What is wrong, as it stands below its field: without the field's own name."""
    where = "" if problem.field is None or problem.where == problem.field.name else f"{problem.where}: "
    example = f", for example {problem.example}" if problem.example else ""
    return context.sanitize_line(f"{where}{problem.text}{example}", 300)


def problem_summary(problems: Sequence[FieldProblem], context: RenderContext) -> str:
    """Which fields do not fit, in one line; what concerns no field, in full."""
    general = [problem_text(problem, context) for problem in problems if problem.field is None]
    if general:
        return "; ".join(general)
    names = list(dict.fromkeys(problem.where or "the other members" for problem in problems))
    return f"{len(names)} to correct: {context.sanitize_line(', '.join(names), 200)}"
