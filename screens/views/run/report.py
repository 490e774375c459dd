"""The report of an incident as lines, in the order of the seed (002, `_build_structured_error_report`)."""

from __future__ import annotations

from runtime.judgement.reports.analysis_prompt import cited_events, recommended_option
from runtime.judgement.reports.audit import shown_params
from runtime.judgement.reports.incident_report import NO_ANALYSIS, IncidentReport
from runtime.link.client.streamed_text import StreamedText
from runtime.record.state.durable_run import Incident
from screens.render.formatting import format_cost, format_duration, format_elapsed
from screens.render.layout import (
    LINK_INK,
    Span,
    Spans,
    span,
)
from screens.views.run.json_lines import json_lines, json_text
from screens.views.shared.render_context import RenderContext


def report_lines(
    report: IncidentReport, looks: RenderContext, incident: Incident | None = None, streamed: StreamedText | None = None
) -> list[Spans]:
    """The structured part at once, and a model's analysis; the seed's fixed sentence as long as there is none.

    `incident` knows whether a model is being asked, and `streamed` what of its answer has come.
    """
    lines: list[Spans] = [
        (
            Span(f"{looks.glyphs.warning} ", f"severity-{report.severity}"),
            Span("ERROR REPORT", f"severity-{report.severity}", bold=True),
            Span(f" - {report.timestamp:%Y-%m-%d %H:%M:%S}", "ink-muted"),
        ),
        *_field("Error Type", report.error_type.upper(), looks),
        *_field("Severity", report.severity.upper(), looks),
        *_field("Task", report.task, looks),
        *_field("Failed Operation", report.failed_operation, looks),
        *_field("Error Message", report.error_message, looks),
    ]
    if report.capability:
        lines += _field("Capability", report.capability, looks)
    if report.metadata:
        lines += [_label("Error Metadata"), *(((Span("  "), *line)) for line in json_lines(report.metadata, looks))]
    if stats := report.stats():
        lines += _field("Execution Stats", stats, looks)
    if report.summary:
        lines.append(_label("Execution Summary"))
        lines += [_summary(line.number, line.objective, line.ok, looks) for line in report.summary]
    lines += _listed("Attempts", [each.sentence() for each in report.attempts], looks)
    lines += _listed("Caused By", list(report.causes[1:]), looks)
    lines += _listed("Waits For This", [each.sentence() for each in report.waits_for], looks)
    if report.why_no_retry:
        lines += _field("Retry", report.why_no_retry, looks)
    if report.at_deadline:
        lines += _field("At The Deadline", report.at_deadline, looks)
    return [*lines, (), *_analysis(report, looks, incident, streamed)]


def _analysis(
    report: IncidentReport, looks: RenderContext, incident: Incident | None, streamed: StreamedText | None
) -> list[Spans]:
    """What a model made of it, marked as a model's; while one is asked, who, and what has come of its answer."""
    asking = incident.analysing if incident is not None else None
    if asking is not None and not report.analysis:
        model = looks.line(asking.model, 80)
        so_far = streamed.text if streamed is not None else ""
        waits = format_elapsed(asking.ts, None, looks.now)
        lines: list[Spans] = [(*_label("Analysis"), Span(f" asking {model}, {waits}", "state-running"))]
        return [*lines, *(span(f"  {line}") for line in looks.block(so_far))] if so_far else lines
    written = incident.analysis if incident is not None else None
    if written is None or written.fallback or not written.model:
        return _field("Analysis", report.analysis or NO_ANALYSIS, looks)
    spent = format_cost(written.cost_usd)
    parts = ("a model's words, not checked", looks.line(written.model, 80), spent)
    by = looks.glyphs.dot.join(part for part in parts if part)
    lines = [(*_label("Analysis"), Span(f" {by}", "ink-muted"))]
    option = recommended_option(report.analysis, report)
    last = incident.opened.seq if incident is not None else 0
    for line in looks.block(report.analysis):
        lines.append((Span("  "), *link_events(line, last)))
    if option:
        label = next(found.label for found in report.options if found.id == option)
        lines.append((Span("  it would choose ", "ink-muted"), Span(looks.line(label, 80), "ink-strong")))
    return lines


def advised_option(incident: Incident) -> str:
    """The option that an analysis recommends, if the incident offers it; else empty."""
    found = incident.analysis
    return recommended_option(found.text, incident.opened) if found is not None and not found.fallback else ""


def link_events(line: str, last_seq: int) -> Spans:
    """A cleaned line with the events that it points to made links; what names no event before `last_seq` stays text."""
    found: list[Span] = []
    at = 0
    for start, end, _ in cited_events(line, last_seq):
        if start > at:
            found.append(Span(line[at:start]))
        found.append(Span(line[start:end], LINK_INK))
        at = end
    if at < len(line):
        found.append(Span(line[at:]))
    return tuple(found)


def _listed(name: str, texts: list[str], looks: RenderContext) -> list[Spans]:
    return [_label(name), *(span(f"  - {looks.line(text)}") for text in texts)] if texts else []


def traceback_lines(report: IncidentReport, looks: RenderContext) -> list[Spans]:
    """The traceback, for those who want it; nothing if there is none."""
    if not report.traceback:
        return []
    return [(), _label("Traceback"), *(span(f"  {text}", "ink-muted") for text in looks.block(report.traceback))]


def answer_lines(incident: Incident, looks: RenderContext) -> list[Spans]:
    """How an incident ended, above its report; nothing while it is open."""
    lines = decision_lines(incident, looks)
    return [*lines, ()] if lines else []


def decision_lines(incident: Incident, looks: RenderContext) -> list[Spans]:
    """How an incident ended: by whom, with what; nothing while it is open."""
    answer = incident.answer
    if incident.closed:
        return [span(f"Closed: {looks.line(incident.closed)}", "ink-muted")]
    if answer is None:
        return []
    label = next((found.label for found in incident.opened.options if found.id == answer.option), answer.option)
    who = f"{looks.line(answer.by.name, 60) or 'somebody'} ({answer.by.channel})"
    after = format_duration((answer.ts - incident.opened.ts).total_seconds())
    lines: list[Spans] = [
        (
            Span(f"{looks.glyphs.state['succeeded']} Answered: ", "state-succeeded"),
            Span(looks.line(label, 80), "ink-strong"),
            Span(f" by {who} after {after}", "ink-muted"),
        )
    ]
    for name, value in shown_params(answer.params).items():
        first, *rest = looks.block(value if isinstance(value, str) else json_text(value))
        lines.append((Span(f"{looks.line(name, 20)}  ", "ink-muted"), Span(first)))
        lines += [span(f"  {line}") for line in rest]
    if answer.reason:
        lines.append(span(looks.line(answer.reason), "ink-muted"))
    return lines


def _label(name: str) -> Spans:
    return (Span(f"{name}:", "ink-accent", bold=True),)


def _field(name: str, text: str, looks: RenderContext) -> list[Spans]:
    """A label with its text behind it; the text's further lines are indented below."""
    first, *rest = looks.block(text)
    return [(*_label(name), Span(f" {first}")), *(span(f"  {line}") for line in rest)]


def _summary(number: int, objective: str, ok: bool, looks: RenderContext) -> Spans:
    sign = looks.glyphs.done if ok else looks.glyphs.not_done
    tail = "" if ok else " - Failed"
    return (
        Span(f"{sign} Step {number}: {looks.line(objective, 120)}{tail}", "state-succeeded" if ok else "state-failed"),
    )
