"""The dialog of one action on several things: confirmation, then a result for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from runtime.link.client.client import LinkError
from screens.base.armed_screen import ArmedScreen
from screens.base.runtime_screen import RuntimeScreen
from screens.dialogs.help import HelpPage
from screens.render.layout import Spans, span
from screens.shell.context import ConsoleContext
from screens.views.decisions.batch_action import (
    BatchItem,
    BatchOutcome,
    item_lines,
    outcome_summary,
)
from screens.widgets.link_line import LinkLine


class BatchActionScreen(ArmedScreen[None]):
    """A page over the screen that asked for it. Closing it stops nothing."""

    CSS_PATH = "batch_action.tcss"
    AUTO_FOCUS: ClassVar[str | None] = "HelpPage"
    ACTS = frozenset({"do"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "do", "Yes, do it", id="batch.do"),
        Binding("escape,n,q", "close", "Close", key_display="esc", tooltip="Leave it; what has begun goes on",
                id="batch.close"),
    ]  # fmt: skip

    def __init__(
        self,
        session: ConsoleContext,
        title: str,
        items: Sequence[BatchItem],
        act: Callable[[str], Awaitable[None]],
        *,
        done: BatchOutcome,
        question: str,
    ) -> None:
        """`act` is called with the key of each item and raises `LinkError` where it cannot be; `done` is what an item
        came to that it went well with. Nothing begins before the `question` is answered with `y`.
        """
        super().__init__(session)
        self._title = title
        self._items = tuple(items)
        self._act = act
        self._done = done
        self._question = question
        self._outcomes: dict[str, BatchOutcome] = {}
        self._began = False

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = Content(self._hints())
            yield HelpPage()
            yield LinkLine(self._session)

    def on_mount(self) -> None:
        self._show()
        self.arming.ask(tuple(self._lines()), second=True)

    def laid_out(self) -> bool:
        return self.query_one(HelpPage).is_shown("batch")

    def show_armed(self) -> None:
        self.query_one("#box").border_subtitle = Content(self._hints())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Once is enough."""
        return not self._began if action == "do" else True

    def action_do(self) -> None:
        """Begin; not without a runtime."""
        if not self._session.is_connected:
            return
        self._began = True
        self.show_armed()
        self.refresh_bindings()
        # Of the app, not of this page: it goes on when the page is closed.
        self.app.run_worker(self._carry_out(self.app), group="batch", exit_on_error=False)

    def _hints(self) -> str:
        context = self._session.render_context()
        close = context.key("batch.close", "esc")
        if not self._began:
            return self.hints_of((context.key("batch.do", "y"), "does it"), (close, "leaves it"))
        return context.hints((close, "closes"))

    def action_close(self) -> None:
        self.dismiss()

    async def _carry_out(self, app: App[Any]) -> None:
        for item in self._items:
            self._outcomes[item.key] = BatchOutcome("running", "under way")
            self._show()
            try:
                await self._act(item.key)
            except LinkError as exc:
                self._outcomes[item.key] = BatchOutcome("failed", "refused", str(exc))
            else:
                self._outcomes[item.key] = self._done
            self._show()
        if not self.is_attached and isinstance(app.screen, RuntimeScreen):
            app.screen.show_message(f"{self._title}: {outcome_summary(self._items, self._outcomes)}")

    def _show(self) -> None:
        if self.is_attached:
            self.query_one(HelpPage).show(self._lines(), "batch")

    def _lines(self) -> list[Spans]:
        context = self._session.render_context()
        if not self._began:
            head = span(self._question, "severity-warning", bold=True)
            return [head, (), *(span(item.title) for item in self._items)]
        return [
            span(outcome_summary(self._items, self._outcomes)),
            (),
            *item_lines(self._items, self._outcomes, context),
        ]
