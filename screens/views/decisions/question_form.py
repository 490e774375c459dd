"""The form of an answer: which options have one, and the words of its rows."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.judgement.forms.fields import Form, FormField
from runtime.judgement.forms.form_values import FieldProblem
from runtime.judgement.forms.schema_form import form_of
from runtime.judgement.forms.wanted import wanted_words
from runtime.judgement.recovery.param_validation import schema_of
from runtime.record.state.events import IncidentOpened
from screens.render.layout import Spans, join_spans, span
from screens.views.decisions.prompt_choices import PromptChoice
from screens.views.shared.render_context import RenderContext


def form_for(opened: IncidentOpened, choice: PromptChoice) -> Form | None:
    """The form for the answer of a choice; None where the answer is one value, of one field."""
    schema = schema_of(opened, choice.param) if choice.param is not None else None
    if not schema:
        return None
    form = form_of(schema)
    return form if form.single is None else None


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
