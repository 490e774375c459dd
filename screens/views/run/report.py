"""The report of an incident as lines, in the order of the seed (002, `_build_structured_error_report`)."""

from __future__ import annotations

from typing import Final

from runtime.judgement.reports.analysis_prompt import cited_events, recommended_option
from runtime.judgement.reports.audit import shown_params
from runtime.judgement.reports.explanation.incident_kind import Kind, incident_kind
from runtime.judgement.reports.incident_report import NO_ANALYSIS, IncidentReport
from runtime.link.client.streamed_text import StreamedText
from runtime.record.state.durable_run import Incident
from runtime.record.state.fault_taxonomy import Cause
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
    report: IncidentReport,
    context: RenderContext,
    incident: Incident | None = None,
    streamed: StreamedText | None = None,
) -> list[Spans]:
    """The structured part at once, and a model's analysis; the seed's fixed sentence as long as there is none.

    `incident` knows whether a model is being asked, and `streamed` what of its answer has come.
    """
    request = _request_head(incident)
    lines = [*_head_lines(report, context, request)]
    if report.why:
        lines += _field("Why", report.why, context)
    lines += _listed("Context" if request else "Error Context", report.context_lines(), context)
    if report.capability:
        lines += _field("Capability", report.capability, context)
    if report.metadata:
        label, metadata = "Error Metadata", report.metadata
        if request:
            label, metadata = "Details", _request_details(report, incident)
        lines += [_label(label), *(((Span("  "), *line)) for line in json_lines(metadata, context))]
    if stats := report.stats():
        lines += _field("Execution Stats", stats, context)
    if report.summary:
        lines.append(_label("Execution Summary"))
        lines += [_summary(line.number, line.objective, line.ok, context) for line in report.summary]
    lines += _listed("Attempts", [each.sentence() for each in report.attempts], context)
    lines += _listed("Caused By", list(report.causes[1:]), context)
    lines += _listed("Waits For This", [each.sentence() for each in report.waits_for], context)
    if report.why_no_retry:
        lines += _field("Retry", report.why_no_retry, context)
    if report.at_deadline:
        lines += _field("At The Deadline", report.at_deadline, context)
    analysis = _analysis(report, context, incident, streamed)
    if request and not report.analysis and (incident is None or incident.analysing is None):
        return lines  # the seed's fixed sentence speaks of an error
    return [*lines, (), *analysis]


_REQUEST_HEADS: Final[dict[Kind, str]] = {
    "permission": "PERMISSION REQUEST",
    "question": "QUESTION",
    "breakpoint": "BREAKPOINT",
    "no progress": "NO PROGRESS",
}
"""The head of a report of what did not fail."""


def _request_head(incident: Incident | None) -> str:
    """The head of a report of what did not fail: a request, a limit, and what may have happened; empty for errors."""
    if incident is None:
        return ""
    opened = incident.opened
    if opened.in_doubt:
        return "IT MAY HAVE HAPPENED"
    used_up = "BUDGET REPORT" if opened.fault.cause is Cause.LIMIT_REACHED else ""
    return _REQUEST_HEADS.get(incident_kind(opened), used_up)


def _request_details(report: IncidentReport, incident: Incident | None) -> dict[str, object]:
    """The metadata of what did not fail: what it is recorded as in place of the class that carried it; not where that
    is "cancelled" of what was not.
    """
    details = {name: value for name, value in report.metadata.items() if name != "exception"}
    if incident is not None and incident_kind(incident.opened) in ("breakpoint", "in doubt"):
        return details
    return {"recorded_as": report.error_type.lower(), **details}


def _head_lines(report: IncidentReport, context: RenderContext, request: str) -> list[Spans]:
    """The head and what it is about. Only a failure is called an error, and begins with its type and severity (the
    exported report always has both, as seed 002 has).
    """
    ink = "state-waiting" if request else f"severity-{report.severity}"
    sign = context.glyphs.state["waiting"] if request else context.glyphs.warning
    first: Spans = (
        Span(f"{sign} ", ink),
        Span(request or "ERROR REPORT", ink, bold=True),
        Span(f" - {report.timestamp:%Y-%m-%d %H:%M:%S}", "ink-muted"),
    )
    kind = [("Error Type", report.error_type.upper()), ("Severity", report.severity.upper())]
    if request:
        about = [("Task", report.task), ("Operation", report.failed_operation), ("Message", report.error_message)]
    else:
        about = [
            *kind,
            ("Task", report.task),
            ("Failed Operation", report.failed_operation),
            ("Error Message", report.error_message),
        ]
    return [first, *(line for name, text in about for line in _field(name, text, context))]


def _analysis(
    report: IncidentReport, context: RenderContext, incident: Incident | None, streamed: StreamedText | None
) -> list[Spans]:
    """What a model made of it, marked as a model's; while one is asked, who, and what has come of its answer."""
    asking = incident.analysing if incident is not None else None
    if asking is not None and not report.analysis:
        model = context.sanitize_line(asking.model, 80)
        so_far = streamed.text if streamed is not None else ""
        waits = format_elapsed(asking.ts, None, context.now)
        lines: list[Spans] = [(*_label("Analysis"), Span(f" asking {model}, {waits}", "state-running"))]
        return [*lines, *(span(f"  {line}") for line in context.sanitize_lines(so_far))] if so_far else lines
    written = incident.analysis if incident is not None else None
    if written is None or written.fallback or not written.model:
        return _field("Analysis", report.analysis or NO_ANALYSIS, context)
    spent = format_cost(written.cost_usd)
    parts = (f"{context.sanitize_line(written.model, 80)} says, not checked", spent)
    by = context.glyphs.dot.join(part for part in parts if part)
    lines = [(*_label("Analysis"), Span(f" {by}", "ink-muted"))]
    option = recommended_option(report.analysis, report)
    last = incident.opened.seq if incident is not None else 0
    for line in context.sanitize_lines(report.analysis):
        lines.append((Span("  "), *link_events(line, last)))
    if option:
        label = next(found.label for found in report.options if found.id == option)
        lines.append((Span("  Would choose: ", "ink-muted"), Span(context.sanitize_line(label, 80), "ink-strong")))
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


def _listed(name: str, texts: list[str], context: RenderContext) -> list[Spans]:
    return [_label(name), *(span(f"  - {context.sanitize_line(text)}") for text in texts)] if texts else []


def traceback_lines(report: IncidentReport, context: RenderContext) -> list[Spans]:
    """The traceback, for those who want it; nothing if there is none."""
    if not report.traceback:
        return []
    return [
        (),
        _label("Traceback"),
        *(span(f"  {text}", "ink-muted") for text in context.sanitize_lines(report.traceback)),
    ]


def answer_lines(incident: Incident, context: RenderContext) -> list[Spans]:
    """How an incident ended, above its report; nothing while it is open."""
    lines = decision_lines(incident, context)
    return [*lines, ()] if lines else []


def decision_lines(incident: Incident, context: RenderContext) -> list[Spans]:
    """How an incident ended: by whom, with what; nothing while it is open."""
    answer = incident.answer
    if incident.closed:
        return [span(f"Closed: {context.sanitize_line(incident.closed)}", "ink-muted")]
    if answer is None:
        return []
    label = next((found.label for found in incident.opened.options if found.id == answer.option), answer.option)
    who = f"{context.sanitize_line(answer.by.name, 60) or 'an operator'} ({answer.by.channel})"
    after = format_duration((answer.ts - incident.opened.ts).total_seconds())
    lines: list[Spans] = [
        (
            Span(f"{context.glyphs.state['succeeded']} Answered: ", "state-succeeded"),
            Span(context.sanitize_line(label, 80), "ink-strong"),
            Span(f" by {who} after {after}", "ink-muted"),
        )
    ]
    for name, value in shown_params(answer.params).items():
        first, *rest = context.sanitize_lines(value if isinstance(value, str) else json_text(value))
        lines.append((Span(f"{context.sanitize_line(name, 20)}  ", "ink-muted"), Span(first)))
        lines += [span(f"  {line}") for line in rest]
    if answer.reason:
        lines.append(span(context.sanitize_line(answer.reason), "ink-muted"))
    return lines


def _label(name: str) -> Spans:
    return (Span(f"{name}:", "ink-accent", bold=True),)


def _field(name: str, text: str, context: RenderContext) -> list[Spans]:
    """A label with its text behind it; the text's further lines are indented below."""
    first, *rest = context.sanitize_lines(text)
    return [(*_label(name), Span(f" {first}")), *(span(f"  {line}") for line in rest)]


def _summary(number: int, objective: str, ok: bool, context: RenderContext) -> Spans:
    sign = context.glyphs.done if ok else context.glyphs.not_done
    tail = "" if ok else " - Failed"
    return (
        Span(
            f"{sign} Step {number}: {context.sanitize_line(objective, 120)}{tail}",
            "state-succeeded" if ok else "state-failed",
        ),
    )
