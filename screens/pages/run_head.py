"""The head of the run page: the run in one line, what holds all of it, what the tour says, and a graph that is too
wide for the page.
"""

from __future__ import annotations

from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical

from runtime.record.state.durable_run import DurableRun
from screens.pages.run_graph import GraphView
from screens.render.layout import span
from screens.shell.context import ConsoleContext
from screens.views.lists.runs import head_line
from screens.views.run.graph import SwarmGraph, swarm_graph
from screens.views.run.status import status_line
from screens.widgets.bar import Bar, MessageBar

_GRAPH_FROM: Final = (150, 40)
"""Cells and rows of a screen from which on a graph that is too wide for the page stands above tree and page."""

_ROWS_BESIDE_GUIDE: Final = 14
"""Rows of a screen that stay free of what the tour says."""


class RunHead(Vertical):
    """As high as what it has to say."""

    DEFAULT_CSS = """
    RunHead {
        height: auto;
        #head, #status { background: $surface; }
        #status, #guide { display: none; }
        #guide { background: $panel; padding: 0 1; }
        #guide.-shown, #status.-shown { display: block; }
        GraphView { margin: 1 0 0 0; }
    }
    """

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__()
        self._session = session

    def compose(self) -> ComposeResult:
        ellipsis = self._session.glyphs.ellipsis
        yield Bar(id="head", ellipsis=ellipsis)
        yield Bar(id="status", ellipsis=ellipsis)
        yield MessageBar(id="guide", ellipsis=ellipsis)
        yield GraphView(id="wide-graph")

    def show(self, state: DurableRun, incident_id: str, *, has_graph: bool) -> None:
        """Show the head of a run whose prompt has this incident. `has_graph`: its graph is too wide for the page."""
        context = self._session.render_context()
        self.query_one("#head", Bar).show(head_line(state, context))
        words = status_line(state, context)
        status = self.query_one("#status", Bar)
        status.show(words)
        status.set_class(bool(words), "-shown")
        self._show_guide(state, incident_id)
        size = self.screen.size
        roomy = has_graph and size.width >= _GRAPH_FROM[0] and size.height >= _GRAPH_FROM[1]
        self.query_one(GraphView).show(swarm_graph(state, context, size.width - 2) if roomy else SwarmGraph())

    @property
    def extra_rows(self) -> int:
        """Rows beyond the line of the run: what holds all of it, and what the tour says."""
        guide, status = self.query_one("#guide", MessageBar), self.query_one("#status", Bar)
        rows = guide.rows_in(self.screen.size.width) if guide.has_class("-shown") else 0
        return min(rows, self._guide_rows) + status.has_class("-shown")

    @property
    def _guide_rows(self) -> int:
        """The most rows that the tour gets: on a low screen the decision comes first."""
        return max(1, self.screen.size.height - _ROWS_BESIDE_GUIDE)

    def _show_guide(self, state: DurableRun, incident_id: str) -> None:
        guide, session = self.query_one("#guide", MessageBar), self._session
        words = session.guide(state, incident_id) if session.guide is not None and not session.guide_hidden else ""
        guide.set_class(bool(words), "-shown")
        if words:
            guide.styles.max_height = self._guide_rows
            guide.show(span(words, "ink-accent"))
