"""Where the keys of the run page take the cursor: to what a node waits for, to an event's node, to the next fault."""

from __future__ import annotations

from runtime.judgement.reports.wait_graph import wait_chain
from runtime.link.client.client import LinkError
from runtime.operations.requests.reports import ReadEvents
from runtime.record.state.durable_run import DurableRun
from screens.base.runtime_screen import RuntimeScreen
from screens.pages.run_decision import RunDecision
from screens.pages.run_detail import DetailPages
from screens.pages.run_filter import NodeFilter
from screens.pages.run_panes import RunPanes


class RunJumps:
    """Moves the cursor of `panes`, with the page and the decision that belong there. What is left out by the filter is
    shown again first.
    """

    def __init__(
        self, screen: RuntimeScreen, panes: RunPanes, pages: DetailPages, decision: RunDecision, shown: NodeFilter
    ) -> None:
        self._screen = screen
        self._panes, self._pages = panes, pages
        self._decision, self._shown = decision, shown

    @property
    def _state(self) -> DurableRun | None:
        return self._screen.link.run(self._screen.run_here)

    def show_all(self) -> None:
        """Nothing is left out any more, at once."""
        self._shown.clear()
        if (state := self._state) is not None:
            self._shown.draw(state, self._panes)

    def to_node(self, node_id: str) -> None:
        """To this node, as a click in the tree."""
        self._widen_for(node_id)
        self._panes.nodes.reveal(node_id)

    def to_waits(self) -> None:
        """What the node under the cursor waits for; the cursor goes to what holds it up. Again: back to the page."""
        if (state := self._state) is None:
            return
        if self._pages.asks_waits:
            self._pages.follow_cursor()
        else:
            asked = self._panes.nodes.cursor_key
            self._pages.ask_waits(asked)
            found = wait_chain(state, asked)
            if found.node_id:
                self._move(found.node_id)
            if found.incident_id:
                self._decision.wanted = found.incident_id
        self._panes.show_beside()

    def to_fault(self) -> None:
        """To the node that the decision is about; to the next one, if the cursor is there already."""
        run_id, screen = self._screen.run_here, self._screen
        waiting = [found for found in screen.session.decisions() if found.run_id == run_id and found.opened.node_id]
        if self._state is None or not waiting:
            screen.show_message("Nothing waits for a decision in this run.")
            return
        tree = self._panes.nodes
        nodes = [found.opened.node_id for found in waiting]
        at = nodes.index(tree.cursor_key) + 1 if tree.cursor_key in nodes else 0
        self.to_node(nodes[at % len(nodes)])

    async def to_event(self, seq: int) -> None:
        """Show the event of this number, and the node that it is about."""
        screen = self._screen
        try:
            found = await screen.link.ask(ReadEvents(run_id=screen.run_here, after=seq - 1, limit=1))
        except LinkError as exc:
            screen.show_message(str(exc), "error")
            return
        if not found:
            screen.show_message(f"This run has no event {seq}.", "warning")
            return
        self._pages.show_event(found[0])
        if node_id := found[0].node_id:
            self._move(node_id)
        screen.pace.request()

    def _move(self, node_id: str) -> None:
        self._widen_for(node_id)
        self._panes.move_cursor(node_id)

    def _widen_for(self, node_id: str) -> None:
        """What is to be shown must not be left out."""
        if self._shown.hides(node_id):
            self.show_all()
