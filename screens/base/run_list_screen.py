"""The base of lists of runs: the actions on selected runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtime.link.client.client import LinkError
from runtime.record.state.summary import Summary
from screens.base.list_screen import ListScreen
from screens.render.formatting import pluralize
from screens.render.layout import Spans
from screens.shell.messages import OpenComparison
from screens.views.lists.runs import is_done, title_of
from screens.widgets.line_list import LineList
from screens.widgets.text_page import TextPage

_SEARCH_FROM: Final = 2
"""Letters of a filter from which on the runtime is asked, too."""
_MOST_FOUND: Final = 2_000
_BRIEF_ROWS: Final = 8
"""Rows of a low screen that are free below the list before what is known of a row stands there."""
_ONE_RUN: Final = ("run:", "incident:")
"""What the keys of rows begin with that stand for one run; the others stand for all that are below them."""
_TWO: Final = 2
"""Runs that are compared."""


class RunListScreen(ListScreen):
    """Below or beside the list, where there is room, stands what is known of the row under the cursor. Says which runs
    its rows stand for; freezes, thaws and aborts them.
    """

    CSS_PATH = str(Path(__file__).with_name("run_list_screen.tcss"))  # of this folder, also for screens of others
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide"), (160, "-vast")]  # noqa: RUF012 - Textual's own
    ACTS = frozenset({"pause", "abort"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "p",
            "pause",
            "Freeze",
            tooltip="Freeze the run or those selected (no new step begins), or let them go on",
            id="runs.freeze",
        ),
        Binding("A", "abort", "Abort", show=False, tooltip="Abort the run, or those selected", id="runs.abort"),
        Binding("C", "compare", "Compare", tooltip="Where the two selected runs differ", id="runs.compare"),
    ]

    _alive = False
    """Whether something can be done to what is chosen, as last drawn: a run may end under the cursor."""

    def side_panes(self) -> ComposeResult:
        preview = TextPage(id="preview")
        preview.can_focus = False
        yield preview

    def preview(self, key: str) -> list[Spans]:
        """What is known of a row."""
        raise NotImplementedError

    def draw(self) -> None:
        super().draw()
        if self.is_mounted:  # before that it has no size, and nothing of it is in the first frame
            self._draw_preview()
        if (alive := bool(self._chosen_runs())) is not self._alive:
            self._alive = alive
            self.refresh_bindings()

    # -- the filter looks through inputs, outputs and errors, too -----------------------------------------------

    def narrow(self, text: str) -> None:
        super().narrow(text)
        if len(self.listing.filter.words) >= _SEARCH_FROM:
            self.run_worker(self._search(text), group="search", exclusive=True, exit_on_error=False)

    async def _search(self, typed: str) -> None:
        """Ask the runtime which runs have the words; their rows stay."""
        from runtime.operations.requests.runs import SearchRuns  # not before the first list is painted

        try:
            matches = await self.link.ask(SearchRuns(text=self.listing.filter.words, limit=_MOST_FOUND))
        except LinkError as exc:
            self.show_message(f"Only what is shown is searched: {exc}")
            return
        if self.is_mounted and self.listing.filter.text == typed:
            ids = {match.id for match in matches}
            self.listing.found_elsewhere = lambda row: not ids.isdisjoint(self.runs_of(row.key))
            self.pace.request()

    @property
    def shows_briefly(self) -> bool:
        """Whether there is room for a few lines only below the list."""
        return self.has_class("-low")

    def _draw_preview(self) -> None:
        room = self.query_one("#panes").size.height - self.row_list.virtual_size.height
        self.set_class(self.shows_briefly and room >= _BRIEF_ROWS and bool(self.row_list.keys), "-room")
        preview = self.query_one("#preview", TextPage)
        if preview.display:
            key = self.row_list.cursor_key
            preview.show(self.preview(key), key)

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        self._draw_preview()
        self._alive = bool(self._chosen_runs())
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what has not ended can be frozen or aborted."""
        if action in ("pause", "abort") and not self.why_withheld(action):
            return self.is_mounted and (bool(self._chosen_runs()) or None)
        if action == "compare":
            return self.is_mounted and (bool(self._compared_runs()) or None)
        return super().check_action(action, parameters)

    def why_not(self, action: str) -> str:
        why = super().why_not(action)
        if action == "compare" and not why and not self._compared_runs():
            select = self.session.render_context().key("list.select", "space")
            return f"it takes two runs: {select} selects one".rstrip()
        if why or action not in ("pause", "abort") or self._chosen_runs():
            return why
        return "what is selected or under the cursor has ended" if self.selected_keys else "no run is listed"

    # -- what is done to runs --------------------------------------------------------------------------------

    def runs_of(self, key: str) -> Sequence[str]:
        """The runs that a row stands for."""
        raise NotImplementedError

    def _chosen_runs(self) -> list[Summary]:
        """Each once, without those that have ended."""
        return [summary for summary in self._meant_runs() if not is_done(summary)]

    def _meant_runs(self) -> list[Summary]:
        """Those that are selected, or under the cursor, each once."""
        ids = dict.fromkeys(run_id for key in self.selected_keys for run_id in self.runs_of(key))
        found = (self.link.summaries.get(run_id) for run_id in ids)
        return [summary for summary in found if summary is not None]

    def _compared_runs(self) -> list[Summary]:
        """The two runs that are selected, the earlier one first; nothing where it is not two."""
        runs = self._meant_runs() if self.listing.selected else []
        return sorted(runs, key=_beginning) if len(runs) == _TWO else []

    def action_compare(self) -> None:
        left, right = self._compared_runs()
        self.post_message(OpenComparison(left.id, right.id))

    def action_pause(self) -> None:
        """Freeze what is not frozen; where all is frozen, thaw it."""
        runs = self._chosen_runs()
        going = [found for found in runs if found.state != "frozen"]
        if runs and not going:
            self._confirm_verb("thaw", runs)
        else:
            self._confirm_verb("freeze", going)

    def action_abort(self) -> None:
        self._confirm_verb("abort", self._chosen_runs())

    def _runs_text(self, runs: Sequence[Summary]) -> str:
        return (
            pluralize(len(runs), "run")
            if len(runs) != 1
            else f"the run {title_of(runs[0], self.session.render_context())}"
        )

    def _confirm_verb(self, verb: str, runs: Sequence[Summary]) -> None:
        """Say a verb of one run for each of these, on a page that asks first."""
        from screens.dialogs.batch_action import BatchActionScreen  # not before the first list is painted
        from screens.views.decisions.batch_action import ORDER_OUTCOMES, ORDERS, BatchItem, order_question

        one_each = all(key.startswith(_ONE_RUN) for key in self.selected_keys)
        if not self.may_act() or not (one_each or self.all_told()):
            return
        if not runs:
            self.show_message("This needs a run that has not ended, under the cursor or selected.")
            return
        context = self.session.render_context()
        items = [
            BatchItem(run.id, f"{title_of(run, context)}{context.glyphs.dot}{context.sanitize_line(run.id, 40)}")
            for run in runs
        ]

        async def act(run_id: str) -> None:
            await self.link.ask(ORDERS[verb](run_id=run_id))

        title, question = (
            f"{verb.capitalize()} {pluralize(len(runs), 'run')}",
            order_question(verb, self._runs_text(runs)),
        )
        done = ORDER_OUTCOMES[verb]
        self.app.push_screen(BatchActionScreen(self.session, title, items, act, done=done, question=question))


def _beginning(run: Summary) -> tuple[float, str]:
    return run.created_at.timestamp() if run.created_at is not None else 0.0, run.id
