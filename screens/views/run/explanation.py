"""The explanation of an incident as lines: What, Why, Tried, Try and Model, for the page and for the prompt."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.judgement.comparison.file_write import FileState
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.options import confirmation_of
from runtime.judgement.reports.explanation.explain import CALLS_LABEL, Explanation
from runtime.judgement.reports.explanation.model_note import model_note
from runtime.judgement.reports.explanation.sentence import Sentence
from runtime.link.client.streamed_text import StreamedText
from runtime.record.state.durable_run import Incident
from runtime.record.state.events import IncidentOpened
from screens.render.formatting import format_cost, format_elapsed
from screens.render.layout import Span, Spans
from screens.views.run.report import link_events
from screens.views.shared.narration_text import parts_text
from screens.views.shared.render_context import RenderContext

LABEL_CELLS = 7
"""Cells of the label before a line."""


def sentence_words(sentence: Sentence, context: RenderContext) -> str:
    """A sentence on one line, safe to show: what is foreign in it has passed the gate."""
    return parts_text(sentence.parts, ascii_only=context.ascii_only, now=context.now)


def option_key(option: str, context: RenderContext) -> str:
    """The key of an option that is in the table."""
    return context.key(f"decision.{option}", OPTIONS[option].key)


def told_why(told: Explanation, context: RenderContext) -> str:
    """The evidence, in one line."""
    return " ".join(sentence_words(each, context) for each in told.why)


def explanation_lines(
    told: Explanation, context: RenderContext, incident: Incident, streamed: StreamedText | None = None
) -> list[Spans]:
    """The whole explanation for a page, with the events behind it as links, and what a model makes of it."""
    last = incident.opened.seq
    cited = " ".join(told.cited(told.why))
    why = told_why(told, context)
    lines = [_row("What", (Span(sentence_words(told.what, context), "ink-strong", bold=True),))]
    if why:
        lines.append(_row("Why", (Span(f"{why} "), *link_events(cited, last))))
    if told.tried is not None:
        lines.append(_row("Tried", (Span(sentence_words(told.tried, context)),)))
    proposal = "" if told.kind == "question" else proposal_words(told, context, incident.opened, labelled=True)
    if proposal:
        lines.append(_row(told.advice_label, (Span(proposal, "ink-accent"),)))
    return [*lines, *_call_lines(told, context, last), *_asked_model_lines(incident, context, streamed)]


def evidence_lines(
    told: Explanation, context: RenderContext, incident: Incident, streamed: StreamedText | None = None
) -> list[Spans]:
    """What a page has beside a prompt that explains: the events behind the explanation as links, latest calls, and
    what the model says, as far as it is there.
    """
    last = incident.opened.seq
    cited = " ".join(told.cited(told.why))
    shown = [_row("Events", link_events(cited, last))] if cited else []
    return [*shown, *_call_lines(told, context, last), *_asked_model_lines(incident, context, streamed)]


def _call_lines(told: Explanation, context: RenderContext, last: int) -> list[Spans]:
    """The latest calls of an agent that may be in a loop, each with its event as a link."""
    found: list[Spans] = []
    for call in told.calls:
        words = (Span(f"{sentence_words(call, context)} "), *link_events(" ".join(told.cited((call,))), last))
        found.append(_row("" if found else CALLS_LABEL, words))
    return found


def unasked_model_lines(incident: Incident, context: RenderContext) -> list[Spans]:
    """How to have a model analyse it, where none was asked: no advice on the incident, so the last thing of a page."""
    asked = model_note(incident).state != "not asked yet"
    return [] if asked else [(), *_model_lines(incident, context, None)]


def proposal_words(
    told: Explanation,
    context: RenderContext,
    opened: IncidentOpened,
    *,
    labelled: bool = False,
    file: FileState | None = None,
) -> str:
    """The keys of the option that is proposed, and because of what.

    Args:
        told: the explanation.
        context: keys and glyphs.
        opened: the incident.
        labelled: whether the label of the option follows its key.
        file: what the file is that a permission asks to write; None: not known.
    """
    if told.option not in OPTIONS or told.because is None:
        return ""

    def keys(option: str, *, label: bool = False) -> str:
        said = next((each.label for each in opened.options if each.id == option), "") if label else ""
        second = ", then y" if confirmation_of(opened, option, file=file) is not None else ""
        return f"{option_key(option, context)}{f' {context.sanitize_line(said, 60)}' if said else ''}{second}"

    key = keys(told.option, label=labelled and not told.otherwise)
    other = f" {told.wish}: {keys(told.other)}." if told.other in OPTIONS else ""
    page = context.key("run.next_pane", "tab") if told.calls else ""
    if told.act is None:
        shows = f" {page} shows its calls." if page else ""
        return f"{key}{told.link}{sentence_words(told.because, context)}{other}{shows}"
    act = sentence_words(told.act, context) + (f" ({page} shows them)" if page else "")
    if told.otherwise:
        return f"{act}. If yes: {key}. If no: {keys(told.otherwise)}."
    return f"{act}{told.link}press {key}.{other}"


def model_line(incident: Incident, context: RenderContext) -> Spans:
    """What a model makes of it, or why one that was asked gave nothing, on one line; empty where none was asked: that
    says nothing of the incident. The page says how to have one.
    """
    if model_note(incident).state == "not asked yet":
        return ()
    return next(iter(_model_lines(incident, context, None)), ())


def _asked_model_lines(incident: Incident, context: RenderContext, streamed: StreamedText | None) -> Iterable[Spans]:
    """What a model that was asked says, as far as it is there."""
    return () if model_note(incident).state == "not asked yet" else _model_lines(incident, context, streamed)


def _model_lines(incident: Incident, context: RenderContext, streamed: StreamedText | None) -> Iterable[Spans]:
    note = model_note(incident)
    if note.state == "not for this kind":
        return
    model, words = context.sanitize_line(note.model, 80), context.sanitize_line(note.words, 300)
    head = f"{model} {words}".strip()
    if note.state == "under way" and incident.analysing is not None:
        yield _row("Model", (Span(f"{head}, {format_elapsed(incident.analysing.ts, None, context.now)}", "ink-muted"),))
        for line in context.sanitize_lines(streamed.text) if streamed is not None and streamed.text else ():
            yield (Span(" " * LABEL_CELLS), Span(line))
        return
    if note.state == "there" and incident.analysis is not None:
        spent = format_cost(incident.analysis.cost_usd)
        yield _row("Model", (Span(f"{head}:{f' {spent}' if spent else ''}", "ink-muted"),))
        for line in context.sanitize_lines(incident.analysis.text):
            yield (Span(" " * LABEL_CELLS), *link_events(line, incident.opened.seq))
        return
    yield _row("Model", (Span(head, "ink-muted"),))


def _row(label: str, spans: Spans) -> Spans:
    return (Span(f"{label:<{LABEL_CELLS}}", "ink-muted"), *spans)
