"""Rows of the audit: who decided what, when, over which way, and how long the question waited."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from screens.render.formatting import format_duration
from screens.render.layout import (
    Column,
    Row,
    Span,
    Spans,
    join_spans,
    span,
)
from screens.views.lists.grants import at_host, local_time, parse_instant
from screens.views.run.json_lines import json_lines
from screens.views.shared.render_context import RenderContext

COLUMNS: Final = (
    Column("when", width=19),
    Column("who", width=10, grow=1),
    Column("by", width=8, drop=3),
    Column("what", width=20, grow=2),
    Column("took", width=6, right=True, drop=2),
    Column("about", width=20, grow=4, drop=1),
)
DECISION_KEY_PREFIX: Final = "decision:"
"""How keys of rows begin, before their number."""


def audit_rows(entries: Sequence[tuple[str, Mapping[str, Any]]], looks: RenderContext) -> list[Row]:
    """Decisions with the host that each was made on, newest first; keys are their numbers as they were given."""
    ordered = sorted(range(len(entries)), key=lambda number: str(entries[number][1]["ts"]), reverse=True)
    return [_row(number, *entries[number], looks) for number in ordered]


def _row(number: int, host: str, entry: Mapping[str, Any], looks: RenderContext) -> Row:
    at, seconds = parse_instant(entry["ts"]), entry.get("seconds")
    who = looks.line(str(entry["person"]), 60) or "a rule"
    what = looks.line(f"{entry['what']} {entry.get('option', '')}".strip(), 80)
    params = entry.get("params") or {}
    given = looks.line("  ".join(f"{name} {_short(value)}" for name, value in params.items()), 200) if params else ""
    about = join_spans(
        (
            span(looks.line(str(entry.get("reason", "")), 200)),
            span(looks.line(str(entry.get("asked", "")), 200), "ink-muted"),
            span(given, "ink-muted"),
            span(looks.line(str(entry.get("run_id", "")), 40), "ink-muted"),
        ),
        looks.glyphs.dot,
    )
    took = format_duration(float(seconds)) if seconds is not None else ""
    return Row(
        f"{DECISION_KEY_PREFIX}{number}",
        (
            span(local_time(at) if at is not None else "", "ink-muted"),
            at_host(span(who, "ink-strong"), host, looks),
            span(looks.line(str(entry["channel"]), 20), "ink-muted"),
            span(what),
            span(took),
            about,
        ),
        values=(at.timestamp() if at is not None else None, who, str(entry["channel"]), what, seconds, ""),
        fault=entry.get("option") in ("deny", "abort") or entry["what"] == "aborted",
    )


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def entry_lines(entry: Mapping[str, Any], looks: RenderContext) -> list[Spans]:
    """One decision, whole."""
    at, seconds = parse_instant(entry["ts"]), entry.get("seconds")
    facts = (
        ("who", f"{entry['person'] or 'a rule'} ({entry['channel']})"),
        ("when", local_time(at) if at is not None else ""),
        ("what", f"{entry['what']} {entry.get('option', '')}".strip()),
        ("reach", str(entry.get("reach", ""))),
        ("took", format_duration(float(seconds)) if seconds is not None else ""),
        ("why", str(entry.get("reason", ""))),
        ("asked", str(entry.get("asked", ""))),
        ("run", str(entry.get("run_id", ""))),
        ("node", str(entry.get("node_id", ""))),
        ("decision", str(entry.get("incident_id", ""))),
    )
    lines: list[Spans] = [
        (Span(f"{name:<8}  ", "ink-muted"), Span(looks.line(value, 500))) for name, value in facts if value
    ]
    if params := entry.get("params"):
        lines += [(), span("With", "ink-accent", bold=True), *json_lines(params, looks)]
    return lines
