"""The inbox, the first page: what needs a decision, what runs, what is done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from screens.base.run_list_screen import RunListScreen
from screens.render.layout import Row, Spans
from screens.shell.background_load import load_in_background
from screens.shell.context import ConsoleContext
from screens.shell.messages import BeginHere, OpenRun
from screens.views.decisions.incident_groups import GROUP_KEY_PREFIX, OpenDecision, group_members
from screens.views.lists.inbox import MAX_DONE_SHOWN, inbox_rows
from screens.views.lists.runs import RUN_COLUMNS
from screens.views.run.preview import decisions_loaded, load_decisions, preview_lines
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_cache import RowCache
from screens.widgets.line_list import LineList

_ALL: Final = 1_000_000


def first_use_text(context: RenderContext) -> str:
    """What to do where no run was ever started."""
    swarms, start = context.key("app.swarms", "2"), context.key("swarms.start", "s")
    begin = context.key("home.begin_here", "i")
    lines = ["No runs yet. A run is one task for a swarm. It stops here when it needs you.", ""]
    if begin:
        lines.append(f"{begin:<6} finds swarms here and writes what a first run needs; asks first")
    if swarms and start:
        lines.append(f"{f'{swarms} {start}':<6} starts a run")
    return "\n".join([*lines, "", "In a shell: orbiter-console demo (a tour), orbiter-console run FILE:NAME"])


class InboxScreen(RunListScreen):
    """Decisions, then runs, in one list."""

    BINDING_GROUP_TITLE = "Inbox"
    ACTS = RunListScreen.ACTS | {"answer_alike", "begin_here"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "B",
            "answer_alike",
            "Answer all",
            tooltip="Answer one of those that are alike, and when that worked, the rest",
            id="home.answer_alike",
        ),
        Binding(
            "i",
            "begin_here",
            "Begin here",
            tooltip="Write the settings, and an example where there is no swarm; it asks first",
            id="home.begin_here",
        ),
    ]
    COLUMNS = RUN_COLUMNS

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__(session)
        self._memory = RowCache()
        self._loading = False

    def crumbs(self) -> Spans:
        return self.trail("inbox")

    def empty_message(self, context: RenderContext) -> str:
        return first_use_text(context)

    def all_rows(self) -> Sequence[Row]:
        return inbox_rows(
            self.link.summaries,
            self.session.decisions(),
            self.session.render_context(),
            self.link.host_of,
            self._memory,
            most_done=_ALL if self.listing.filter.active else MAX_DONE_SHOWN,
        )

    def renew_order(self) -> None:
        self.session.order.renew()

    def preview(self, key: str) -> list[Spans]:
        alike = (
            group_members(key, self.link.incidents.values(), self.link.host_of)
            if key.startswith(GROUP_KEY_PREFIX)
            else ()
        )
        if not decisions_loaded() and (found := alike[0] if alike else self._decision_at(key)) is not None:
            self._load_decisions(found)
            return []
        return preview_lines(
            key,
            self.link.summaries,
            self.link.incidents,
            self.session.render_context(),
            alike=alike,
            brief=self.shows_briefly,
            may_act=all(map(self.session.may_act, self.runs_of(key))),
        )

    def _decision_at(self, key: str) -> OpenDecision | None:
        kind, _, name = key.partition(":")
        return self.link.incidents.get(name) if kind == "incident" else None

    def _load_decisions(self, found: OpenDecision) -> None:
        """The preview of the first decision takes long: keys do not wait for it."""

        async def load() -> None:
            try:
                await load_in_background(partial(load_decisions, found))
            finally:
                self._loading = False
            self.pace.request()

        if not self._loading:
            self._loading = True
            self.run_worker(load(), group="load", exit_on_error=False)

    # -- what is done ----------------------------------------------------------------------------------------

    def unbound_key_text(self, key: str) -> str:
        """A key of a decision does nothing here: which one is meant would not be seen. So say where it counts; the same
        for the key that starts a run.
        """
        alike, letters = self._alike(), self.session.letters
        found = alike[0] if alike else self._decision_at(self.row_list.cursor_key)
        context = self.session.render_context()
        if found is None:
            swarms, start = context.key("app.swarms", "2"), context.key("swarms.start", "s")
            return f"{swarms} opens the runs: {start} starts one there." if swarms and key == start else ""
        if key not in letters.values():
            return ""
        if not self.session.may_act(found.run_id):
            return "this login may only look"
        there = dict.fromkeys(letters[each.id] for each in found.opened.options if each.id in letters)
        answers = f"{key} answers" if key in there else f"{' '.join(there)} answer"
        opens, all_of_them = context.key("list.open", "enter"), context.key("home.answer_alike", "B")
        also = f"; {all_of_them} answers all that are alike" if alike and all_of_them else ""
        return f"{opens} opens the decision first: {answers} there{also}."

    def runs_of(self, key: str) -> Sequence[str]:
        kind, _, name = key.partition(":")
        if kind == "run":
            return (name,)
        if key.startswith(GROUP_KEY_PREFIX):
            return [found.run_id for found in group_members(key, self.link.incidents.values(), self.link.host_of)]
        found = self.link.incidents.get(name)
        return (found.run_id,) if found is not None else ()

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """Open a run, or a decision; of those that are the same, the oldest."""
        kind, _, name = message.key.partition(":")
        if kind == "run":
            self.post_message(OpenRun(name))
            return
        found = group_members(message.key, self.link.incidents.values(), self.link.host_of)
        first = next((each for each in found if each.opened.incident_id == name), found[0] if found else None)
        if first is not None:
            self.post_message(OpenRun(first.run_id, first.opened.incident_id))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What is like no other is answered by itself."""
        if action == "answer_alike" and not self.why_withheld(action):
            return self.is_mounted and bool(self._alike())
        if action == "begin_here" and not self.why_withheld(action):
            return self.link.status.phase == "connected" and not self.link.summaries
        return super().check_action(action, parameters)

    def action_answer_alike(self) -> None:
        """One answer for those that are the same as what is under the cursor."""
        from screens.dialogs.bulk_answer import (
            BulkAnswerScreen,  # with the editor that it needs: not before the first inbox is painted
        )

        if self.may_act() and self.all_told():
            self.app.push_screen(BulkAnswerScreen(self.session, self._alike()))

    def action_begin_here(self) -> None:
        """What the verb `init` does, offered where no run was ever started."""
        self.post_message(BeginHere())

    def _alike(self) -> Sequence[OpenDecision]:
        """The decisions that are the same as what is under the cursor; none where there is one only that is."""
        key = self.row_list.cursor_key
        row = self.row_list.cursor_row
        if row is None or not (row.under or key.startswith(GROUP_KEY_PREFIX)):
            return ()
        return group_members(key, self.link.incidents.values(), self.link.host_of)
