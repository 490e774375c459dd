"""The limits page: breakers and budgets, reset and extend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtime.operations.requests.limits import ListBreakers, ListBudgets, ResetBreaker
from screens.base.polling_list_screen import PollingListScreen
from screens.dialogs.batch_action import BatchActionScreen
from screens.render.formatting import pluralize
from screens.render.layout import Row, Spans
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenRun
from screens.views.decisions.batch_action import BatchItem, BatchOutcome
from screens.views.lists.limits import (
    BREAKER_KEY_PREFIX,
    LIMIT_COLUMNS,
    LIMIT_KEY_PREFIX,
    HostLimits,
    kind_and_name,
    limit_rows,
    workspace_words,
)
from screens.widgets.bar import Bar
from screens.widgets.line_list import LineList


class LimitsScreen(PollingListScreen):
    """What it shows is asked for when something changed; only what counts down goes on by itself."""

    CSS_PATH = "limits.tcss"
    BINDING_GROUP_TITLE = "Limits"
    ACTS = frozenset({"reset"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "reset", "Reset", tooltip="Close the breaker, or those selected", id="limits.reset"),
        Binding(
            "e", "extend", "Extend", tooltip="Go to the decision that waits for more of this budget", id="limits.extend"
        ),
    ]
    COLUMNS = LIMIT_COLUMNS
    EMPTY = "No breaker has counted a failure, and no unfinished run has a budget."

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__(session)
        self._told: dict[str, HostLimits] = {}

    def body(self) -> ComposeResult:
        yield Bar(id="workspace", ellipsis=self.session.glyphs.ellipsis)
        yield from super().body()

    async def fetch(self) -> None:
        for host in self.link.host_names:
            breakers = await self.link.ask(ListBreakers(every=True), where=host)
            budgets = await self.link.ask(ListBudgets(), where=host)
            self._told[host] = HostLimits(host, self.session.clock(), breakers, budgets)

    def crumbs(self) -> Spans:
        return self.trail("limits")

    def all_rows(self) -> Sequence[Row]:
        told, link = self._told.values(), self.link
        return limit_rows(told, link.summaries, link.incidents.values(), self.session.render_context())

    def draw(self) -> None:
        super().draw()
        words = workspace_words(self.link.summaries, self._told.values(), self.session.render_context())
        self.query_one("#workspace", Bar).show(words)

    # -- what is done ----------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Breakers are reset, budgets extended."""
        if action == "reset" and self.is_mounted and not self.why_withheld(action):
            return any(key.startswith(BREAKER_KEY_PREFIX) for key in self.selected_keys)
        if action == "extend" and self.is_mounted:
            return self.row_list.cursor_key.startswith(LIMIT_KEY_PREFIX)
        return super().check_action(action, parameters)

    def on_line_list_moved(self, _message: LineList.Moved) -> None:
        self.refresh_bindings()

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """From a limit to its run, at the decision that waits for more; of a breaker, the run that waits for it."""
        if message.key.startswith(LIMIT_KEY_PREFIX):
            run_id, incident_id = message.key.removeprefix(LIMIT_KEY_PREFIX).split(":")[:2]
            self.post_message(OpenRun(run_id, incident_id))
        elif message.key.startswith(BREAKER_KEY_PREFIX):
            name = message.key.partition("\n")[2]
            waiting = [found for found in self.session.decisions() if found.opened.action.get("breaker") == name]
            if waiting:
                self.post_message(OpenRun(waiting[0].run_id, waiting[0].opened.incident_id))
            else:
                self.show_message(f"No run waits for this breaker. {self._last_error(name)}".rstrip())

    def _last_error(self, name: str) -> str:
        rows = (row for told in self._told.values() for row in told.breakers if row.id == name and row.error)
        return next((f"The last failure: {row.error}" for row in rows), "")

    def action_extend(self) -> None:
        """Open the decision that waits, if one does: the answer is given there, as every other."""
        run_id, incident_id = self.row_list.cursor_key.removeprefix(LIMIT_KEY_PREFIX).split(":")[:2]
        if incident_id:
            self.post_message(OpenRun(run_id, incident_id))
        else:
            self.show_message("Nothing waits for more of this budget: it can be extended when the run asks.")

    def action_reset(self) -> None:
        """Ask first: calls go out again at once."""
        if not self.may_act():
            return
        context = self.session.render_context()
        keys = [
            key.removeprefix(BREAKER_KEY_PREFIX) for key in self.selected_keys if key.startswith(BREAKER_KEY_PREFIX)
        ]
        items = [BatchItem(key, context.sanitize_line(kind_and_name(key.partition("\n")[2]), 120)) for key in keys]

        async def reset(key: str) -> None:
            host, _, name = key.partition("\n")
            await self.link.ask(ResetBreaker(key=name), where=host)
            self._asker.poll_soon()

        question = f"Close {pluralize(len(items), 'breaker')}? Calls go out again at once."
        done = BatchOutcome("succeeded", "closed")
        self.app.push_screen(BatchActionScreen(self.session, "Reset", items, reset, done=done, question=question))
