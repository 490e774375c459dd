"""The dialog that asks before the files of a first run are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from screens.base.armed_screen import ArmedScreen
from screens.dialogs.help import HelpPage
from screens.render.layout import Spans, span
from screens.shell.context import ConsoleContext
from screens.widgets.bar import Bar


class FirstFilesScreen(ArmedScreen[bool]):
    """What was found, and which files will be written. It gives whether they are to be."""

    CSS_PATH = "confirm_action.tcss"
    AUTO_FOCUS: ClassVar[str | None] = None
    ACTS = frozenset({"yes"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "Yes, write them", id="ask.yes"),
        Binding("escape", "leave", "Leave it", key_display="esc", id="ask.leave"),
    ]

    def __init__(self, session: ConsoleContext, lines: Sequence[Spans]) -> None:
        super().__init__(session)
        self._lines = lines

    def compose(self) -> ComposeResult:
        with Vertical(id="act") as box:
            box.border_title = Content("Begin here")
            yield HelpPage()
            yield Bar(id="hint", ellipsis=self._session.glyphs.ellipsis)

    def on_mount(self) -> None:
        page = self.query_one(HelpPage)
        page.show(self._lines, "act")
        page.focus()
        self.arming.ask(tuple(self._lines), second=True)

    def laid_out(self) -> bool:
        return self.query_one(HelpPage).is_shown("act")

    def show_armed(self) -> None:
        context = self._session.render_context()
        keys = ((context.key("ask.yes", "y"), "writes them,"), (context.key("ask.leave", "esc"), "leaves it"))
        self.query_one("#hint", Bar).show(span(self.hints_of(*keys), "ink-muted"))

    def action_yes(self) -> None:
        self.dismiss(True)

    def action_leave(self) -> None:
        self.dismiss(False)
