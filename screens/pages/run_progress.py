"""What a run's page says by itself as the run goes on: what came of an answer, and where the result is."""

from __future__ import annotations

from typing import Final, NamedTuple

from runtime.judgement.recovery.option_table import effect_of
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.events import IncidentOpened
from screens.base.runtime_screen import RuntimeScreen
from screens.pages.run_panes import RunPanes
from screens.render.glyphs import state_word

AT_REST_S: Final = 10.0
"""Seconds for which the cursor must not have moved before the end of a run takes it to the result."""
_CALLS_AGAIN: Final = frozenset({"retry", "wait_retry", "switch_model", "edit", "grant"})
"""Effects of answers after which a call succeeds or fails."""
_BECAME: Final = frozenset({"succeeded", "degraded", "failed", "timed_out"})
"""Ends of a step that its answer led to; what was left out or cancelled says so in its row."""
_WITH_RESULT: Final = frozenset({"completed", "degraded"})


class _Answered(NamedTuple):
    incident_id: str
    node_id: str
    label: str


class RunProgress:
    """Watches one run for its screen."""

    def __init__(self, screen: RuntimeScreen) -> None:
        self._screen = screen
        self._answered: _Answered | None = None
        self._went_on = False
        """Whether the run was seen before its end, and what it came to is still to be shown."""
        self._moved_at = float("-inf")

    def cursor_moved(self) -> None:
        """The operator moved the cursor."""
        self._moved_at = self._screen.session.monotonic()

    def answer_taken(self, opened: IncidentOpened, option: str, label: str) -> None:
        """An answer was taken: what comes of it is told, where it calls again or lets a call through."""
        if effect_of(option) in _CALLS_AGAIN and opened.node_id:
            self._answered = _Answered(opened.incident_id, opened.node_id, label)

    def tell(self, state: DurableRun, panes: RunPanes) -> None:
        """Say what is new since the last look."""
        self._tell_answer(state)
        if not state.terminal:
            self._went_on = True
        elif self._went_on and state.phase in _WITH_RESULT and state.roots:
            self._show_result(state, panes)

    def _tell_answer(self, state: DurableRun) -> None:
        answered = self._answered
        asked = state.incidents.get(answered.incident_id) if answered is not None else None
        if answered is None or (asked is not None and asked.open):
            return
        node = state.nodes.get(answered.node_id)
        if node is None:
            self._answered = None
            return
        again = [key for key in node.incidents if key != answered.incident_id and state.incidents[key].open]
        if not again and not node.terminal:
            return
        self._answered = None
        context = self._screen.session.render_context()
        name = context.sanitize_line(node.name, 60)
        if again:
            key = context.key("run.find_fault", "f")
            how = f"; {key} goes there" if key else ""
            self._screen.show_message(f"{name}: failed again after your {answered.label}{how}", "warning")
        elif node.phase in _BECAME:
            became = "worked" if node.phase == "succeeded" else state_word(node.phase)
            self._screen.show_message(f"{name}: {became} after your {answered.label}")

    def _show_result(self, state: DurableRun, panes: RunPanes) -> None:
        """Put the cursor on the run, whose page is the result; not under the hands of an operator who looks around."""
        self._went_on = False
        root, screen = state.roots[0], self._screen
        rests = screen.session.monotonic() - self._moved_at >= AT_REST_S
        if rests and not panes.page.has_focus:
            panes.move_cursor(root)
        elif panes.nodes.cursor_key != root:
            key = screen.session.render_context().key("list.first", "home")
            title = screen.session.render_context().sanitize_line(state.shown_title, 60)
            screen.show_message(f"{title}: {state_word(state.phase)}; {key} goes to the result")
