"""The two panes of the run page: the nodes, as a tree or as bars over time, and the page of one of them;
above the page stands the graph of the swarm.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message

from runtime.link.client.streamed_text import StreamedText
from runtime.record.state.durable_run import DurableRun, Node
from screens.pages.run_detail import DetailPage
from screens.pages.run_graph import GraphView
from screens.render.layout import join_spans, span
from screens.render.tree_outline import OutlineSource
from screens.shell.context import ConsoleContext
from screens.views.run import timeline
from screens.views.run.graph import SwarmGraph, swarm_graph
from screens.views.run.tree import NODE_COLUMNS, RunTree, node_columns
from screens.widgets.node_tree import NodeTree
from screens.widgets.text_page import TextPage

_ZOOMS = ("", "-tree", "-page")
_PAGE_ROWS: Final = 12
"""Rows that a graph leaves to the page below it, its title included: as many as the head of a report has."""


class Side(Vertical):
    """The column beside the nodes."""

    def on_resize(self) -> None:
        self.post_message(RunPanes.SideResized())


class RunPanes(Container):
    """Knows which pane is shown, and who moved the cursor: the operator, or what is shown."""

    class SideResized(Message):
        """The column beside the nodes has another size."""

    def __init__(self, session: ConsoleContext) -> None:
        nodes = NodeTree(NODE_COLUMNS, empty="Asking for the run", glyphs=session.glyphs, id="tree")
        nodes.border_title = "Nodes"
        page = TextPage(links=True, id="page")
        graph = GraphView(id="graph")
        graph.border_title = "Swarm"
        side = Side(graph, page, id="side")
        super().__init__(nodes, side, id="panes")
        self._side, self._graph = side, graph
        self.nodes = nodes
        self.page = page
        self._session = session
        self._since: datetime | None = None
        self._shown: tuple[object, ...] = ()
        """Where the run stood that was shown last, but for its nodes out of sight."""
        self._last_seq = 0
        self._nodes_in_sight: tuple[Node, ...] = ()
        """The nodes that were in sight then, and the one under the cursor. Another one with the same id comes only with
        another standing.
        """

    # -- what is shown ---------------------------------------------------------------------------------------

    def show_nodes(self, state: DurableRun, only: frozenset[str] | None) -> None:
        """Show the nodes of a run: all of them, or `only` these."""
        context, nodes = self._session.render_context(), self.nodes
        if self._since is None:
            self._since = context.now
        nodes.empty = context.nothing_matches() if only is not None else "Nothing has run yet"
        title = span("Nodes", "")
        shown: OutlineSource = RunTree(state, context, only, self._since, self._texts_of(state.id))
        columns = node_columns(state)
        if self.has_class("-timeline"):
            columns = timeline.TIMELINE_COLUMNS
            scale = timeline.scale_of(state, context.now, nodes.width_of(columns, timeline.BAR))
            shown = timeline.Timeline(state, context, only, self._since, scale=scale)
            title = join_spans((span("Timeline", ""), scale.words(context)))
        nodes.show(shown, columns)
        words = Content("".join(piece.text for piece in title))
        if nodes.border_title != words.markup:
            nodes.border_title = words
        self._shown, self._last_seq = _standing(state), state.last_seq
        sight = nodes.lines_in_sight
        keys = (nodes.cursor_key, *nodes.keys[sight.start : sight.stop])
        self._nodes_in_sight = tuple(state.nodes[key] for key in keys if key in state.nodes)

    @property
    def in_sight(self) -> tuple[str, ...]:
        """The ids of the nodes that were in sight when they were shown, and of the one under the cursor."""
        return tuple(node.id for node in self._nodes_in_sight)

    def as_shown(self, state: DurableRun) -> bool:
        """Whether nothing has changed in a run, since its nodes were shown, but nodes that were out of sight then."""
        if _standing(state) != self._shown:
            return False
        last, text = self._last_seq, self._session.link.text
        return not any(node.changed_seq > last or text(state.id, node.id) for node in self._nodes_in_sight)

    def _texts_of(self, run_id: str) -> Callable[[str], StreamedText | None]:
        return lambda node_id: self._session.link.text(run_id, node_id)

    def show_graph(self, state: DurableRun) -> bool:
        """Show the graph of the swarm beside the nodes, where it fits into the page and leaves its rows to it.

        Returns:
            Whether there is a page beside the nodes, and not as many cells in it as the graph has.
        """
        side, gutter = self._side.size, self._graph.gutter
        beside = (
            self.screen.has_class("-wide") and self._side.display and side.width > 0 and not self.has_class("-page")
        )
        found = (
            swarm_graph(state, self._session.render_context(), side.width - gutter.width) if beside else SwarmGraph()
        )
        fits = side.height - len(found.lines) - gutter.height >= _PAGE_ROWS
        self._graph.show(found if fits else SwarmGraph())
        return beside and not found.lines

    def show_page(self, shown: DetailPage) -> None:
        self.page.show(shown.lines, shown.name, at_end=shown.at_end)
        self._title_page(shown.title)

    def on_text_page_seen(self, _message: TextPage.Seen) -> None:
        self._title_page()

    def _title_page(self, title: str = "") -> None:
        page = self.page
        title = title or str(page.border_title or "").partition("  ")[0]
        more = f"  {self._session.glyphs.more} {page.lines_below} more" if page.lines_below else ""
        if page.border_title != title + more:
            page.border_title = Content(title + more)

    # -- the cursor ------------------------------------------------------------------------------------------

    def move_cursor(self, node_id: str) -> None:
        """Put the cursor somewhere on behalf of what is shown: what is shown does not follow it."""
        if self.nodes.cursor_key != node_id:
            self.nodes.reveal(node_id, by_operator=False)

    # -- which pane ------------------------------------------------------------------------------------------

    def show_beside(self) -> None:
        """Bring the page back where the nodes stand alone."""
        self.remove_class("-timeline", "-tree")

    def show_page_alone(self) -> None:
        """The page in place of the nodes."""
        self.remove_class("-timeline", "-tree")
        self.add_class("-page")
        self.page.focus()

    def leave_page(self) -> None:
        """From the page to the nodes."""
        self.remove_class("-page")
        self.nodes.focus()

    def toggle_timeline(self) -> None:
        """Bars over time beside the nodes, in place of the page; and back."""
        self.remove_class(*_ZOOMS[1:])
        self.toggle_class("-timeline")
        self.nodes.focus()

    def zoom(self) -> None:
        """Both panes; the tree alone; the page alone."""
        self.remove_class("-timeline")
        now = next((zoom for zoom in _ZOOMS[1:] if self.has_class(zoom)), "")
        zooms = _ZOOMS if not self.has_class("-told") else ("", "-page")  # there the tree stands alone already
        following = zooms[(zooms.index(now) + 1) % len(zooms)] if now in zooms else ""
        for zoom in _ZOOMS[1:]:
            self.set_class(zoom == following, zoom)
        if following:
            self.query_one(f"#{following[1:]}").focus()


def _standing(state: DurableRun) -> tuple[object, ...]:
    """Equal as long as at most single nodes of a run have changed."""
    return id(state), state.changed_seq, len(state.nodes)
