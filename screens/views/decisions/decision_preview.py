"""A decision below a list: what happened, why and what is proposed, in a few lines."""

from __future__ import annotations

from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.reports.explanation.explain import Explanation, explain
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.record.state.events import IncidentOpened
from runtime.record.state.fault_taxonomy import Cause
from screens.render.layout import Span, Spans, span
from screens.views.decisions.incident_groups import OpenDecision
from screens.views.decisions.prompt import title_line
from screens.views.decisions.prompt_choices import prompt_choices
from screens.views.decisions.prompt_lines import PromptContent, lines_of, prompt_blocks
from screens.views.run.explanation import LABEL_CELLS, option_key, sentence_words, told_why
from screens.views.shared.render_context import RenderContext

_NO_ERROR = ("permission", "question")
"""Of these the prompt's own lines say more than an explanation."""


def decision_lines(found: OpenDecision, context: RenderContext, *, brief: bool, may_act: bool = True) -> list[Spans]:
    """The decision. `brief`: whether there is room for a few lines only; the options are then named by their keys.
    `may_act`: whether this login may answer; to one that may not, no key is offered.
    """
    opened = found.opened
    lines = [title_line(opened, context)]
    if not brief:
        lines.append(())
    told = explain(Incident(opened), DurableRun())
    content = PromptContent(opened, told)
    if told.kind in _NO_ERROR:
        lines += lines_of(prompt_blocks(content, context))
    else:
        lines += _explained_lines(opened, context, told)
        if not brief:
            lines += lines_of(prompt_blocks(content, context, explained=False))
    if not may_act:
        return [*lines, span("an operator decides", "ink-muted")]
    return [*lines, *([_keys_line(opened, context)] if brief else _option_lines(opened, context))]


def _explained_lines(opened: IncidentOpened, context: RenderContext, told: Explanation) -> list[Spans]:
    rows = (
        ("What", sentence_words(told.what, context), "ink-strong"),
        ("Why", told_why(told, context), "ink"),
        ("Try", proposed_alone(opened, context, told), "ink-accent"),
    )
    return [
        (Span(f"{label:<{LABEL_CELLS}}", "ink-muted"), Span(text, ink, bold=label == "What"))
        for label, text, ink in rows
        if text
    ]


def proposed_alone(opened: IncidentOpened, context: RenderContext, told: Explanation) -> str:
    """The key and the label of what is proposed, without its reason: a list knows the incident and not its run, and the
    run may give another reason. Empty for a limit: whether more of it is proposed depends on what the agents did.
    """
    if told.option not in OPTIONS or opened.fault.cause is Cause.LIMIT_REACHED:
        return ""
    if told.act is not None and told.otherwise:
        yes, no = (option_key(each, context) for each in (told.option, told.otherwise))
        return f"{sentence_words(told.act, context)}. If yes: {yes}. If no: {no}."
    label = next((each.label for each in opened.options if each.id == told.option), told.option)
    proposed = f"{option_key(told.option, context)} {context.sanitize_line(label, 60)}"
    return f"{sentence_words(told.act, context)}, then {proposed}" if told.act is not None else proposed


def _option_lines(opened: IncidentOpened, context: RenderContext) -> list[Spans]:
    letters = {option: option_key(option, context) for option in OPTIONS}
    return [
        (),
        *(
            (Span(f"{choice.key:<6} ", "ink-key", bold=True), Span(choice.shown_label(context.glyphs.opens)))
            for choice in prompt_choices(opened, context, letters)[1:]
        ),
    ]


def _keys_line(opened: IncidentOpened, context: RenderContext) -> Spans:
    """``enter opens it; there: r u e v d s a``."""
    keys = " ".join(dict.fromkeys(option_key(each.id, context) for each in opened.options if each.id in OPTIONS))
    return (
        Span(context.key("list.open", "enter"), "ink-key"),
        Span(" opens it; there: ", "ink-muted"),
        Span(keys, "ink-key"),
    )
