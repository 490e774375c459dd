"""Rows of the audit: who decided what, when, over which way, and how long the question waited."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from runtime.judgement.recovery.option_table import OPTIONS, effect_of
from runtime.judgement.reports.report_types import AuditEntry
from screens.render.formatting import format_duration
from screens.render.layout import (
    Column,
    Row,
    Span,
    Spans,
    join_spans,
    span,
)
from screens.views.lists.grants import local_time
from screens.views.run.json_lines import json_lines
from screens.views.shared.render_context import RenderContext

AUDIT_COLUMNS: Final = (
    Column("when", width=19),
    Column("who", width=10, grow=1),
    Column("by", width=8, drop=3),
    Column("what", width=20, grow=2),
    Column("took", width=6, right=True, drop=2),
    Column("about", width=20, grow=4, drop=1),
)
DECISION_KEY_PREFIX: Final = "decision:"
"""How keys of rows begin, before their number."""


def audit_rows(entries: Sequence[tuple[str, AuditEntry]], context: RenderContext) -> list[Row]:
    """Decisions with the host that each was made on, newest first; keys are their numbers as they were given."""
    ordered = sorted(range(len(entries)), key=lambda number: entries[number][1].ts, reverse=True)
    return [_row(number, *entries[number], context) for number in ordered]


def _row(number: int, host: str, entry: AuditEntry, context: RenderContext) -> Row:
    who = context.sanitize_line(entry.person, 60) or "a rule"
    what = context.sanitize_line(_what(entry), 80)
    params = entry.params
    given = (
        context.sanitize_line("  ".join(f"{name} {_short(value)}" for name, value in params.items()), 200)
        if params
        else ""
    )
    about = join_spans(
        (
            span(context.sanitize_line(entry.reason, 200)),
            span(context.sanitize_line(entry.asked, 200), "ink-muted"),
            span(given, "ink-muted"),
            span(context.sanitize_line(entry.run_id, 40), "ink-muted"),
        ),
        context.glyphs.dot,
    )
    took = format_duration(entry.seconds) if entry.seconds is not None else ""
    return Row(
        f"{DECISION_KEY_PREFIX}{number}",
        (
            span(local_time(entry.ts), "ink-muted"),
            context.at_host(span(who, "ink-strong"), host),
            span(context.sanitize_line(entry.channel, 20), "ink-muted"),
            span(what),
            span(took),
            about,
        ),
        values=(entry.ts.timestamp(), who, entry.channel, what, entry.seconds, ""),
        fault=effect_of(entry.option) in ("deny", "abort") or entry.what == "aborted",
    )


def _what(entry: AuditEntry) -> str:
    """What was done; an answer by its label."""
    spec = OPTIONS.get(entry.option)
    return f"{entry.what}: {spec.label}" if spec is not None else f"{entry.what} {entry.option}".strip()


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def entry_lines(entry: AuditEntry, context: RenderContext) -> list[Spans]:
    """One decision, whole."""
    facts = (
        ("who", f"{entry.person or 'a rule'} ({entry.channel})"),
        ("when", local_time(entry.ts)),
        ("what", _what(entry)),
        ("reach", entry.reach),
        ("took", format_duration(entry.seconds) if entry.seconds is not None else ""),
        ("why", entry.reason),
        ("asked", entry.asked),
        ("run", entry.run_id),
        ("node", entry.node_id),
        ("decision", entry.incident_id),
    )
    lines: list[Spans] = [
        (Span(f"{name:<8}  ", "ink-muted"), Span(context.sanitize_line(value, 500))) for name, value in facts if value
    ]
    if entry.params:
        lines += [(), span("With", "ink-accent", bold=True), *json_lines(entry.params, context)]
    return lines
