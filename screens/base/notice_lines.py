"""Lines of the pages on what was said so far, and on what happened while the operator was away."""

from __future__ import annotations

from collections.abc import Iterable

from screens.render.layout import Span, Spans, span
from screens.shell.context import DigestNotice, Notice
from screens.views.shared.render_context import RenderContext


def notice_lines(said: Iterable[Notice], context: RenderContext) -> list[Spans]:
    """`said`, the oldest first: its lines, the newest first."""
    lines: list[Spans] = [
        (
            Span(f"{notice.at:%H:%M:%S}  ", "ink-muted"),
            Span(context.sanitize_line(notice.text, 1000), f"severity-{notice.severity}"),
        )
        for notice in said
    ]
    return lines[::-1] or [span("No message yet.", "ink-muted")]


def digest_lines(away: DigestNotice, context: RenderContext) -> list[Spans]:
    """The digest: its heading, then its sentences."""
    told = (away.line.partition(":")[0], *away.sentences)
    lines = [span(context.sanitize_line(text, 400)) for text in told if text]
    return lines or [span("Nothing is known to have happened.", "ink-muted")]
