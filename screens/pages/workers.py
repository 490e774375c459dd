"""The page of workers: processes that drive runs, and runs for which there is none, which can be moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtime.operations.requests.workers import ListWorkers, MoveRun
from screens.base.polling_list_screen import PollingListScreen
from screens.dialogs.batch_action import BatchActionScreen
from screens.render.formatting import pluralize
from screens.render.layout import Row, Spans
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenRun
from screens.views.decisions.batch_action import BatchItem, BatchOutcome
from screens.views.lists.runs import title_of
from screens.views.lists.workers import (
    UNSERVED_KEY_PREFIX,
    WORKER_COLUMNS,
    WORKER_KEY_PREFIX,
    HostWorkers,
    MoveTarget,
    move_target,
    worker_rows,
    workforce_words,
)
from screens.widgets.bar import Bar
from screens.widgets.line_list import LineList

ASK_EVERY_S: Final = 3.0
"""How often, in seconds, it is asked again: the journal tells nothing of heartbeats."""


class WorkersScreen(PollingListScreen):
    """Asked when something changed, and every few seconds while it is seen."""

    CSS_PATH = "workers.tcss"
    BINDING_GROUP_TITLE = "Workers"
    ACTS = frozenset({"move"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "m", "move", "Move", tooltip="Let the run, or those selected, go on with the newest code", id="workers.move"
        ),
    ]
    COLUMNS = WORKER_COLUMNS
    EMPTY = "No worker has been here lately: runs wait until one comes."

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__(session)
        self._told: dict[str, HostWorkers] = {}

    def on_mount(self) -> None:
        self.set_interval(ASK_EVERY_S, self._asker.poll_soon)

    def body(self) -> ComposeResult:
        yield Bar(id="workforce", ellipsis=self.session.glyphs.ellipsis)
        yield from super().body()

    async def fetch(self) -> None:
        for host in self.link.host_names:
            found = await self.link.ask(ListWorkers(), where=host)
            self._told[host] = HostWorkers(host, self.session.clock(), found)

    def crumbs(self) -> Spans:
        return self.trail("workers")

    def all_rows(self) -> Sequence[Row]:
        return worker_rows(self._told.values(), self.link.summaries, self.session.render_context())

    def draw(self) -> None:
        super().draw()
        words = workforce_words(self._told.values(), self.session.render_context())
        self.query_one("#workforce", Bar).show(words)

    # -- what is done ----------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Runs without a worker are moved."""
        if action == "move" and self.is_mounted and not self.why_withheld(action):
            return any(key.startswith(UNSERVED_KEY_PREFIX) for key in self.selected_keys)
        return super().check_action(action, parameters)

    def on_line_list_moved(self, _message: LineList.Moved) -> None:
        self.refresh_bindings()

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """To the run; of a worker, to the first that it drives."""
        if message.key.startswith(UNSERVED_KEY_PREFIX):
            self.post_message(OpenRun(message.key.partition("\n")[2], ""))
        elif message.key.startswith(WORKER_KEY_PREFIX):
            host, _, worker_id = message.key.removeprefix(WORKER_KEY_PREFIX).partition("\n")
            driving = [run for each in self._told[host].found.workers if each.id == worker_id for run in each.driving]
            if driving:
                self.post_message(OpenRun(driving[0], ""))
            else:
                self.show_message("This worker drives no run now.")

    def _target(self, key: str) -> MoveTarget | None:
        """Where the run of a row is moved to."""
        host, _, run_id = key.partition("\n")
        return move_target(self._told[host].found, run_id) if host in self._told else None

    def action_move(self) -> None:
        """Ask first: another program goes on with them."""
        if not self.may_act():
            return
        keys = [
            key.removeprefix(UNSERVED_KEY_PREFIX) for key in self.selected_keys if key.startswith(UNSERVED_KEY_PREFIX)
        ]
        targets = {key: self._target(key) for key in keys}
        if None in targets.values():
            self.show_message("No worker takes up runs now: start one first.", "error")
            return
        context, summaries = self.session.render_context(), self.link.summaries
        named = {key: summaries.get(key.partition("\n")[2]) for key in keys}
        items = [
            BatchItem(key, title_of(found, context) if found is not None else key.partition("\n")[2])
            for key, found in named.items()
        ]

        async def move(key: str) -> None:
            host, _, run_id = key.partition("\n")
            to = targets[key] or MoveTarget("", "")
            await self.link.ask(MoveRun(run_id=run_id, code=to.code, queue=to.queue), where=host)
            self._asker.poll_soon()

        places = "; ".join(sorted({context.sanitize_line(each.words, 120) for each in targets.values() if each}))
        question = f"Move {pluralize(len(items), 'run')} to {places}? Steps that are recorded are not done again."
        done = BatchOutcome("succeeded", "moved")
        self.app.push_screen(BatchActionScreen(self.session, "Move", items, move, done=done, question=question))
