"""The graph of a swarm beside its tree, or above it. A click on a member goes to it."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.message import Message

from screens.render.layout import Span, Spans
from screens.views.run.graph import SwarmGraph
from screens.widgets.line_view import LineView


class GraphView(LineView, can_focus=False):
    """As high as its graph, and not there without one."""

    DEFAULT_CSS = """
    GraphView { box-sizing: content-box; scrollbar-gutter: auto; padding: 0 1; display: none; }
    """

    @dataclass
    class Chosen(Message):
        """A click on a member that has begun."""

        node_id: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._graph = SwarmGraph()

    def show(self, graph: SwarmGraph) -> None:
        """Show a graph, or go where it is empty."""
        if not (graph.lines or self._graph.lines):
            return
        self._graph = graph
        self.display = bool(graph.lines)
        self.styles.height = len(graph.lines)
        self.set_line_count(len(graph.lines))
        self.repaint_changed()

    def line_at(self, index: int, width: int) -> tuple[Spans, str]:
        """A row of the graph, in the middle of the width."""
        lines = self._graph.lines
        before = Span(" " * self._before(width))
        return ((before, *lines[index]) if index < len(lines) else (), self.GROUND)

    def _before(self, width: int) -> int:
        return max(0, width - self._graph.width) // 2

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None:
            return
        node_id = self._graph.node_at(self.line_under(event), at.x - self._before(self.visible_size.width))
        if node_id:
            self.post_message(self.Chosen(node_id))
