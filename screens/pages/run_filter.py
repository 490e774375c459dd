"""What the tree of the run page leaves out: nodes without certain words, and those that are not in trouble."""

from __future__ import annotations

from runtime.record.state.durable_run import DurableRun
from screens.render.layout import Spans, join_spans, span
from screens.views.run.tree import filter_nodes
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter


class NodeFilter:
    """The pattern that an operator typed, and whether only faults are shown."""

    def __init__(self) -> None:
        self.words = RowFilter()
        self.faults_only = False

    def __bool__(self) -> bool:
        return bool(self.words.text or self.faults_only)

    def clear(self) -> None:
        """Nothing is left out any more."""
        self.words, self.faults_only = RowFilter(), False

    def nodes(self, state: DurableRun) -> frozenset[str] | None:
        """The nodes that are shown; None: all of them."""
        return filter_nodes(state, self.words, faults_only=self.faults_only)

    def crumbs(self, here: Spans, context: RenderContext) -> Spans:
        """`here`, and what is left out."""
        words = context.sanitize_line(self.words.text, 60)
        return join_spans(
            (
                here,
                (*span("/", "ink-key"), *span(words, "ink-accent")) if words else (),
                span(context.sanitize_line(self.words.problem, 80), "severity-error"),
                span("faults only", "state-failed") if self.faults_only else (),
            )
        )
