"""A decision below a list: what happened, why and what is proposed, in a few lines."""

from __future__ import annotations

from runtime.judgement.recovery.option_table import OPTIONS, option_keys
from runtime.judgement.reports.explanation.explain import explain
from runtime.operations.requests.incident_results import ExplanationRow
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.record.state.events import IncidentOpened
from screens.render.layout import Span, Spans
from screens.views.decisions.incident_groups import OpenDecision
from screens.views.decisions.prompt import title_line
from screens.views.decisions.prompt_choices import prompt_choices
from screens.views.decisions.prompt_lines import lines_of, prompt_blocks
from screens.views.run.explanation import LABEL_CELLS, sentence_words, told_why
from screens.views.shared.render_context import RenderContext

_NO_ERROR = ("permission", "question")
"""Of these the prompt's own lines say more than an explanation."""


def decision_lines(
    found: OpenDecision, context: RenderContext, told: ExplanationRow | None, *, brief: bool
) -> list[Spans]:
    """The decision.

    Args:
        found: the decision.
        context: signs and time.
        told: the explanation from all that the run has recorded; None: not known yet. Without it nothing is proposed:
            what the incident alone says may be another proposal than the one in the run.
        brief: whether the options are named by their keys only.
    """
    opened = found.opened
    lines = [title_line(opened, context)]
    if not brief:
        lines.append(())
    alone = explain(Incident(opened), DurableRun())
    if alone.kind in _NO_ERROR:
        lines += lines_of(prompt_blocks(opened, context, alone))
    else:
        lines += _explained_lines(opened, context, told)
        if not brief:
            lines += lines_of(prompt_blocks(opened, context, alone, explained=False))
    return [*lines, *([_keys_line(opened, context)] if brief else _option_lines(opened, context))]


def _explained_lines(opened: IncidentOpened, context: RenderContext, told: ExplanationRow | None) -> list[Spans]:
    if told is None:
        alone = explain(Incident(opened), DurableRun())
        rows = [("What", sentence_words(alone.what, context)), ("Why", told_why(alone, context))]
    else:
        why = " ".join(each.text for each in told.why)
        tried = told.tried.text if told.tried is not None else ""
        rows = [("What", told.what.text), ("Why", why), ("Tried", tried), ("Try", _proposal(opened, context, told))]
    inks = {"What": "ink-strong", "Try": "ink-accent"}
    return [
        (Span(f"{label:<{LABEL_CELLS}}", "ink-muted"), Span(context.sanitize_line(text, 400), inks.get(label, "ink")))
        for label, text in rows
        if text
    ]


def _proposal(opened: IncidentOpened, context: RenderContext, told: ExplanationRow) -> str:
    """What is proposed, with its key and its label."""
    if told.option not in OPTIONS:
        return ""
    labels = {each.id: each.label for each in opened.options}
    proposed = f"{_key_of(told.option, context)} {labels.get(told.option, told.option)}"
    if told.act is not None:
        other = f" No: {_key_of(told.otherwise, context)}." if told.otherwise in OPTIONS else ""
        return f"{told.act.text}. {'Yes' if other else 'Then'}: {proposed}.{other}"
    return f"{proposed}, because {told.because.text}" if told.because is not None else proposed


def _key_of(option: str, context: RenderContext) -> str:
    return context.key(f"decision.{option}", OPTIONS[option].key)


def _option_lines(opened: IncidentOpened, context: RenderContext) -> list[Spans]:
    letters = {option: context.key(f"decision.{option}", usual) for option, usual in option_keys().items()}
    return [
        (),
        *(
            (Span(f"{choice.key:<6} ", "ink-key", bold=True), Span(choice.shown_label(context.glyphs.opens)))
            for choice in prompt_choices(opened, context, letters)[1:]
        ),
    ]


def _keys_line(opened: IncidentOpened, context: RenderContext) -> Spans:
    """``enter opens it; there: r u e v d s a``."""
    keys = " ".join(dict.fromkeys(_key_of(each.id, context) for each in opened.options if each.id in OPTIONS))
    return (
        Span(context.key("list.open", "enter"), "ink-key"),
        Span(" opens it; there: ", "ink-muted"),
        Span(keys, "ink-key"),
    )
