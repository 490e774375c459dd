"""The quality of links for the top line: host, latency, silence."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.link.client.client import LinkQuality
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    span,
)
from screens.views.shared.render_context import RenderContext

SLOW_S = 0.4
"""A round trip that everybody feels. On this machine only such a one is shown: a shorter one tells of nothing to do."""
VIEW_ONLY = "view only"
"""Where nothing may be done but look."""
WHO_MAY = "an operator's login may (without --viewer and viewer = true)"
"""What helps there: the role comes from the socket that is dialled (`docs/remote.md`)."""


def link_words(links: Sequence[LinkQuality], context: RenderContext) -> Spans:
    """What is worth saying of each link; nothing of the one to this machine while it is as fast as it should be."""
    return join_spans(tuple(found for link in links if (found := _words(link, context))))


def _words(link: LinkQuality, context: RenderContext) -> Spans:
    told = _told(link, context.sanitize_line(link.host, 40))
    if link.phase == "connected" and link.role == "viewer":
        return join_spans((told, span(VIEW_ONLY, "ink-accent")), " ")
    return told


def _told(link: LinkQuality, name: str) -> Spans:
    if link.phase != "connected":
        return (Span(name, "severity-warning"),) if name else ()
    who = f"{name} " if name else ""
    if link.stalled:
        return (Span(f"{who}stalled {link.stalled} s", "severity-warning"),)
    if link.round_trip >= SLOW_S:
        return (Span(f"{who}slow link {format_round_trip(link.round_trip)}", "severity-warning"),)
    if not name:
        return ()
    return (Span(f"{who}link {format_round_trip(link.round_trip)}" if link.round_trip else name, "ink-muted"),)


def format_round_trip(seconds: float) -> str:
    """A round trip, in steps that a person can tell apart."""
    millis = seconds * 1000
    if millis < 50:
        return "<50 ms"
    if millis < 1000:
        return f"{round(millis / 50) * 50} ms"
    return f"{round(seconds * 2) / 2:g} s"
