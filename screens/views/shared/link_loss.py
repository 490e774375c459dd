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
    """Runs that cannot be carried on, of which nothing could be written either; else what only takes long, which is not
    an alarm. Empty where there is neither.
    """
    if found := _by_host([(each.host, each.held_up) for each in links], context):
        told = f"{found}{context.glyphs.dot}it is tried again by itself; orbiter-console doctor says more"
        return (Span(f"{context.glyphs.state['failed']} {told}", "severity-error"),)
    found = _by_host([(each.host, each.slow) for each in links], context)
    return span(f"{context.glyphs.state['queued']} {found}", "ink-muted") if found else ()


def _by_host(said: Sequence[tuple[str, str]], context: RenderContext) -> str:
    """What each host says, in one line, cleaned."""
    told = [(context.sanitize_line(host, 40), context.sanitize_line(words, 400)) for host, words in said]
    return "; ".join(f"{host}: {words}" if host else words for host, words in told if words)
