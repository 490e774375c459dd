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


def status_line(state: DurableRun, looks: RenderContext) -> Spans:
    """Nothing where nothing is special."""
    if state.terminal:
        return _rerun_hint(looks) if state.phase == "aborted" else ()
    parts = (_ending(state, looks), _frozen(state, looks), _turned_back(state, looks), _breakpoints(state, looks))
    return join_spans(parts, looks.glyphs.dot)


def _rerun_hint(looks: RenderContext) -> Spans:
    """How an aborted run goes on."""
    key = looks.key("run.rewind", "R") or "the command again"
    return (Span(key, "ink-key"), Span(" starts again from the step under the cursor", "ink-muted"))


def _ending(state: DurableRun, looks: RenderContext) -> Spans:
    if state.abort is not None:
        who = looks.line(state.abort.by.name, 60) or "somebody"
        return span(f"being aborted by {who}{_in_flight_text(state, looks)}", "state-aborted", bold=True)
    if state.rewind is not None:
        who = looks.line(state.rewind.by.name, 60) or "somebody"
        return span(f"being turned back to {_named(state.rewind.node_id, looks)} by {who}", "state-waiting", bold=True)
    if state.phase == "queued":
        return span("waits for a runtime to take it up", "state-queued")
    return ()


def _frozen(state: DurableRun, looks: RenderContext) -> Spans:
    """How far a freeze has come: what is still in flight comes to its end, then nothing moves."""
    if state.phase != "frozen":
        return ()
    if state.freezing:
        return span(f"freezing{_in_flight_text(state, looks)}", "state-frozen", bold=True)
    why = looks.line(state.frozen.reason, 300) if state.frozen is not None else ""
    told = f"frozen: {f'{why}; ' if why else ''}nothing is in flight, "
    return (Span(told, "state-frozen"), Span("p", "ink-key"), Span(" thaws", "ink-muted"))


def _in_flight_text(state: DurableRun, looks: RenderContext) -> str:
    """`: 2 calls still in flight: fetch_page 3s, search 1s`."""
    flying = state.in_flight
    if not flying:
        return ""
    named = ", ".join(in_flight_words(node, looks) for node in flying[:_MAX_NAMED])
    more = f" and {len(flying) - _MAX_NAMED} more" if len(flying) > _MAX_NAMED else ""
    return f": {pluralize(len(flying), 'call')} still in flight: {named}{more}"


def in_flight_words(node: Node, looks: RenderContext) -> str:
    """A call and how long it has been under way."""
    since = node.opened_at
    if node.tries:
        last = node.tries[-1]
        since = last.ended_at
    return f"{looks.line(node.name, 40)} {format_elapsed(since, None, looks.now)}"


def _turned_back(state: DurableRun, looks: RenderContext) -> Spans:
    if not state.rewound:
        return ()
    last: RunRewound = state.rewound[-1]
    who = looks.line(last.by.name, 60) or "somebody"
    ago = format_elapsed(last.ts, None, looks.now)
    dropped = f"; {pluralize(last.dropped, 'node')} dropped" if last.dropped else ""
    return span(f"turned back to {_named(last.node_id, looks)} by {who} {ago} ago{dropped}", "state-degraded")


def _named(node_id: str, looks: RenderContext) -> str:
    """The last part of a node's path, without its place: the node itself may be gone."""
    return looks.line(node_id.rpartition("/")[2].rpartition("~")[0] or node_id, 60)


def _breakpoints(state: DurableRun, looks: RenderContext) -> Spans:
    if not state.breakpoints:
        return ()
    named = ", ".join(f"{what} {looks.line(pattern, 40)}" for what, pattern in sorted(state.breakpoints))
    return span(f"stops before {named}", "state-waiting")
