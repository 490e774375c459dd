"""The report of an incident as lines, in the order of the seed (002, `_build_structured_error_report`)."""

from __future__ import annotations

from runtime.judgement.report import NO_ANALYSIS, Report
from runtime.record.state import Incident
from screens.layout import Span, Spans, span
from screens.views.looks import Looks
from screens.views.values import json_lines, json_text


def report_lines(report: Report, looks: Looks) -> list[Spans]:
    """The structured part at once, and a model's analysis; the seed's fixed sentence as long as there is none."""
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
    if report.why_no_retry:
        lines += _field("Retry", report.why_no_retry, looks)
    lines += [(), *_field("Analysis", report.analysis or NO_ANALYSIS, looks)]
    if report.analysis_by:
        lines.append(span(f"written by {looks.line(report.analysis_by, 80)}", "ink-muted"))
    return lines


def traceback_lines(report: Report, looks: Looks) -> list[Spans]:
    """The traceback, for those who want it; nothing if there is none."""
    if not report.traceback:
        return []
    return [(), _label("Traceback"), *(span(text, "ink-muted") for text in looks.block(report.traceback))]


def answer_lines(incident: Incident, looks: Looks) -> list[Spans]:
    """How an incident ended: by whom, with what; nothing while it is open."""
    answer = incident.answer
    if incident.closed:
        return [span(f"Closed: {looks.line(incident.closed)}", "ink-muted"), ()]
    if answer is None:
        return []
    label = next((found.label for found in incident.opened.options if found.id == answer.option), answer.option)
    who = f"{looks.line(answer.by.name, 60) or 'somebody'} ({answer.by.channel})"
    after = (answer.ts - incident.opened.ts).total_seconds()
    lines: list[Spans] = [
        (
            Span(f"{looks.glyphs.state['succeeded']} Answered: ", "state-succeeded"),
            Span(looks.line(label, 80), "ink-strong"),
            Span(f" by {who} after {after:.0f}s", "ink-muted"),
        )
    ]
    for name, value in answer.params.items():
        first, *rest = looks.block(value if isinstance(value, str) else json_text(value))
        lines.append((Span(f"{looks.line(name, 20)}  ", "ink-muted"), Span(first)))
        lines += [span(f"  {line}") for line in rest]
    if answer.reason:
        lines.append(span(looks.line(answer.reason), "ink-muted"))
    return [*lines, ()]


def _label(name: str) -> Spans:
    return (Span(f"{name}:", "ink-accent", bold=True),)


def _field(name: str, text: str, looks: Looks) -> list[Spans]:
    """A label with its text behind it; the text's further lines are indented below."""
    first, *rest = looks.block(text)
    return [(*_label(name), Span(f" {first}")), *(span(f"  {line}") for line in rest)]


def _summary(number: int, objective: str, ok: bool, looks: Looks) -> Spans:
    sign = looks.glyphs.done if ok else looks.glyphs.not_done
    tail = "" if ok else " - Failed"
    return (
        Span(f"{sign} Step {number}: {looks.line(objective, 120)}{tail}", "state-succeeded" if ok else "state-failed"),
    )
