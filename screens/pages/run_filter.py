"""What the tree of the run page leaves out: nodes without certain words, and those that are not in trouble."""

from __future__ import annotations

from collections.abc import Callable

from runtime.record.state.durable_run import DurableRun
from screens.pages.run_panes import RunPanes
from screens.render.layout import Spans, join_spans, span
from screens.views.run.tree import filter_nodes
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter
from screens.widgets.pattern_input import PatternInput


class NodeFilter:
    """The pattern that an operator typed, and whether only faults are shown.

    Args:
        changed: is called when a pattern was typed.
        done: is called when the typing is over.
    """

    def __init__(self, changed: Callable[[], None], done: Callable[[], None]) -> None:
        self.faults_only = False
        self._words = RowFilter()
        self._changed, self._done = changed, done
        self._field: PatternInput | None = None
        self._only: frozenset[str] | None = None
        """The nodes that were drawn last; None: all of them."""

    @property
    def is_on(self) -> bool:
        """Whether something is left out, or is about to be: a pattern is being typed."""
        return bool(self._words.text or self.faults_only or self._field is not None)

    def draw(self, state: DurableRun, panes: RunPanes) -> None:
        """Show the nodes of the run that are not left out."""
        only = filter_nodes(state, self._words, faults_only=self.faults_only)
        if only != self._only:
            self._only = only
        panes.show_nodes(state, self._only)

    def hides(self, node_id: str) -> bool:
        """Whether this node was left out of what was drawn last."""
        return self._only is not None and node_id not in self._only

    def clear(self) -> None:
        """Nothing is left out any more."""
        self._words, self.faults_only = RowFilter(), False

    def begin_typing(self) -> PatternInput | None:
        """The field for a pattern, to be mounted; the one in force stands there to be changed. None: it is there."""
        if self._field is not None:
            return None
        self._field = PatternInput(self._words.text, self._narrow, self._done)
        return self._field

    def end_typing(self) -> None:
        """The field goes away; the pattern stays in force."""
        if self._field is not None:
            self._field.remove()
            self._field = None

    def _narrow(self, text: str) -> None:
        self._words = RowFilter(text)
        self._changed()

    def crumbs(self, here: Spans, context: RenderContext) -> Spans:
        """`here`, and what is left out."""
        words = context.sanitize_line(self._words.text, 60)
        return join_spans(
            (
                here,
                (*span("/", "ink-key"), *span(words, "ink-accent")) if words else (),
                span(context.sanitize_line(self._words.problem, 80), "severity-error"),
                span("faults only", "state-failed") if self.faults_only else (),
            )
        )
