"""The status line of a run: freezing, rewinding, breakpoints, ending."""

from __future__ import annotations

from typing import Final

from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.events import RunRewound
from screens.render.formatting import format_elapsed, pluralize
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    span,
)
from screens.views.shared.render_context import RenderContext

_MAX_NAMED: Final = 4
"""Calls in flight that are named."""


def status_line(state: DurableRun, context: RenderContext) -> Spans:
    """Nothing where nothing is special."""
    if state.terminal:
        return _rerun_hint(context) if state.phase == "aborted" else ()
    parts = (
        _ending(state, context),
        _frozen(state, context),
        _turned_back(state, context),
        _breakpoints(state, context),
    )
    return join_spans(parts, context.glyphs.dot)


def _rerun_hint(context: RenderContext) -> Spans:
    """How an aborted run goes on."""
    key = context.key("run.rewind", "R") or "the command again"
    return (Span(key, "ink-key"), Span(" starts again from the step under the cursor", "ink-muted"))


def _ending(state: DurableRun, context: RenderContext) -> Spans:
    if state.abort is not None:
        who = context.sanitize_line(state.abort.by.name, 60) or "an operator"
        return span(f"being aborted by {who}{_in_flight_text(state, context)}", "state-aborted", bold=True)
    if state.rewind is not None:
        who = context.sanitize_line(state.rewind.by.name, 60) or "an operator"
        return span(
            f"being started again from {_named(state.rewind.node_id, context)} by {who}", "state-waiting", bold=True
        )
    if state.phase == "queued":
        return span("queued: no runtime yet", "state-queued")
    return ()


def _frozen(state: DurableRun, context: RenderContext) -> Spans:
    """How far a freeze has come: what is still in flight comes to its end, then nothing moves."""
    if state.phase != "frozen":
        return ()
    if state.freezing:
        return span(f"freezing{_in_flight_text(state, context)}", "state-frozen", bold=True)
    why = context.sanitize_line(state.frozen.reason, 300) if state.frozen is not None else ""
    told = f"frozen: {f'{why}; ' if why else ''}no call is out, "
    return (Span(told, "state-frozen"), Span("p", "ink-key"), Span(" thaws", "ink-muted"))


def _in_flight_text(state: DurableRun, context: RenderContext) -> str:
    """`: 2 calls still out: fetch_page 3s, search 1s`."""
    flying = state.in_flight
    if not flying:
        return ""
    named = ", ".join(in_flight_words(node, context) for node in flying[:_MAX_NAMED])
    more = f" and {len(flying) - _MAX_NAMED} more" if len(flying) > _MAX_NAMED else ""
    return f": {pluralize(len(flying), 'call')} still out: {named}{more}"


def in_flight_words(node: Node, context: RenderContext) -> str:
    """A call and how long it has been under way."""
    since = node.opened_at
    if node.tries:
        last = node.tries[-1]
        since = last.ended_at
    return f"{context.sanitize_line(node.name, 40)} {format_elapsed(since, None, context.now)}"


def _turned_back(state: DurableRun, context: RenderContext) -> Spans:
    if not state.rewound:
        return ()
    last: RunRewound = state.rewound[-1]
    who = context.sanitize_line(last.by.name, 60) or "an operator"
    ago = format_elapsed(last.ts, None, context.now)
    dropped = f"; {pluralize(last.dropped, 'node')} dropped" if last.dropped else ""
    return span(f"started again from {_named(last.node_id, context)} by {who} {ago} ago{dropped}", "state-degraded")


def _named(node_id: str, context: RenderContext) -> str:
    """The last part of a node's path, without its place: the node itself may be gone."""
    return context.sanitize_line(node_id.rpartition("/")[2].rpartition("~")[0] or node_id, 60)


def _breakpoints(state: DurableRun, context: RenderContext) -> Spans:
    if not state.breakpoints:
        return ()
    named = ", ".join(f"{what} {context.sanitize_line(pattern, 40)}" for what, pattern in sorted(state.breakpoints))
    return span(f"stops before {named}", "state-waiting")
