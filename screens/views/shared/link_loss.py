"""What screens say while the runtime is not reached, or while runs cannot be carried on."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.link.client.client import LinkQuality, LinkStatus
from screens.render.layout import Span, Spans, span
from screens.views.shared.render_context import RenderContext


def phase_words(status: LinkStatus, context: RenderContext) -> Spans:
    """For the top line: how far the link is; empty while it stands."""
    if status.phase == "connected":
        return ()
    why = f": {context.sanitize_line(status.reason, 60)}" if status.phase == "connecting" and status.reason else ""
    return span(f"{status.phase}{why}", "severity-warning")


def lost_words(status: LinkStatus, reconnect: Spans, context: RenderContext) -> Spans:
    """Why there is no runtime; `reconnect` says which key brings it back, where one can."""
    what = "Another version" if status.mismatch else "No runtime"
    why = context.sanitize_line(status.reason, 400)
    return (
        Span(f"{context.glyphs.state['failed']} {what}", "severity-error", bold=True),
        *(() if status.mismatch else (Span(", ", "severity-error"), *reconnect)),
        Span(f": {why}{context.glyphs.dot}shown as last known", "severity-error"),
    )


def held_up_words(links: Sequence[LinkQuality], context: RenderContext) -> Spans:
    """Runs that cannot be carried on, of which nothing could be written either; empty where there are none."""
    found = [
        f"{context.sanitize_line(each.host, 40)}: {words}" if each.host else words
        for each in links
        if (words := context.sanitize_line(each.held_up, 400))
    ]
    if not found:
        return ()
    told = f"{'; '.join(found)}{context.glyphs.dot}it is tried again by itself; orbiter-console doctor says more"
    return (Span(f"{context.glyphs.state['failed']} {told}", "severity-error"),)
