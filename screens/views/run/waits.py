"""The chain of waits of a node as lines: down to what blocks it, since when, until when."""

from __future__ import annotations

from datetime import datetime

from runtime.judgement.reports.report_types import WaitChain
from screens.render.formatting import format_elapsed, pluralize, whole_seconds
from screens.render.layout import Span, Spans, span
from screens.views.shared.render_context import RenderContext


def waits_lines(found: WaitChain, context: RenderContext) -> list[Spans]:
    """From the node that was asked about, one line each, further in the deeper it lies."""
    lines: list[Spans] = []
    for depth, link in enumerate(found.chain):
        indent = "  " * min(depth, 12)
        name = Span(f" {context.sanitize_line(link.name, 60) or '?'}", "ink-strong", bold=True)
        lines.append(
            (
                Span(indent),
                context.state_glyph(link.state),
                name,
                Span(f"  {context.sanitize_line(link.why)}", "ink-muted"),
            )
        )
    if not found.chain:
        lines.append(span(f"The run waits for {context.sanitize_line(found.why)}."))
    facts = _facts(found, context)
    return [*lines, (), *facts] if facts else lines


def _facts(found: WaitChain, context: RenderContext) -> list[Spans]:
    facts = [
        ("held up", f"by {context.sanitize_line(found.why)}" if found.kind != "nothing" else ""),
        ("since", f"{format_elapsed(found.since, None, context.now)} ago" if found.since is not None else ""),
        ("until", countdown(found.until, context.now) if found.until is not None else ""),
        ("needs you", context.sanitize_line(found.incident_id, 60)),
        ("frees", f"{pluralize(found.frees, 'node')} if this one goes on" if found.frees else ""),
        ("also", f"{pluralize(len(found.also), 'other')} beside it must end, too" if found.also else ""),
    ]
    return [(Span(f"{name:<7}  ", "ink-muted"), Span(text)) for name, text in facts if text]


def countdown(until: datetime, now: datetime) -> str:
    """`in 4m12s`, or `now`."""
    left = (until - now).total_seconds()
    return f"in {whole_seconds(left + 1)}" if left > 0 else "now"
