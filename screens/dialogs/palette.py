"""The command palette: everything that can be done here, by name. Textual's own shows its texts as markup, and paints
itself whole for every letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from screens.render.layout import Spans, span
from screens.shell.context import ConsoleContext
from screens.views.lists.commands import (
    MAX_SHOWN_COMMANDS,
    PALETTE_COLUMNS,
    Command,
    command_rows,
    matching_commands,
    nearest_command,
)
from screens.widgets.bar import Bar
from screens.widgets.line_input import LineInput
from screens.widgets.line_list import LineList
from screens.widgets.row_list import RowList


class PaletteList(RowList):
    """A list on the ground of a dialog, moved through from the line above it, which has the focus."""

    GROUND: ClassVar[str] = "panel"

    def line_at(self, index: int, width: int) -> tuple[Spans, str]:
        """The line under the cursor as if the focus were here: it is what enter does."""
        spans, ground = super().line_at(index, width)
        return spans, "row-cursor" if ground == "row-cursor-idle" else ground


class PaletteScreen(ModalScreen[Command | None]):
    """Takes a name and gives the command that is meant; None if it is left."""

    CSS_PATH = "palette.tcss"
    AUTO_FOCUS: ClassVar[str | None] = "Input"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (32, "-high")]  # noqa: RUF012 - Textual's own, no ClassVar
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", "Next", show=False, id="palette.down"),
        Binding("up,ctrl+p", "move(-1)", "Previous", show=False, id="palette.up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="palette.page_down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="palette.page_up"),
        Binding("tab", "complete", "Complete", tooltip="Write the name under the cursor out", id="palette.complete"),
        Binding("escape", "close", "Close", key_display="esc", id="palette.close"),
    ]

    def __init__(self, session: ConsoleContext, commands: Sequence[Command], typed: str = "") -> None:
        super().__init__()
        self._session = session
        self._commands = tuple(commands)
        self._found: list[Command] = []
        self._typed = typed

    def compose(self) -> ComposeResult:
        glyphs = self._session.glyphs
        with Vertical(id="palette") as box:
            box.border_title = "Commands"
            context = self._session.render_context()
            box.border_subtitle = Content(
                context.hints(("enter", "does it"), (context.key("palette.close", "esc"), "closes"))
            )
            yield LineInput(self._typed, placeholder="a command, a place, a run, a theme", compact=True)
            found = PaletteList(PALETTE_COLUMNS, empty="No command has this name.", glyphs=glyphs)
            found.can_focus = False
            yield found
            yield Bar(id="said", ellipsis=glyphs.ellipsis)

    def on_mount(self) -> None:
        self._show()

    def on_input_changed(self, message: Input.Changed) -> None:
        self._typed = message.value
        self._show()

    def _show(self) -> None:
        self._found = matching_commands(self._commands, self._typed)
        listed = self.query_one(PaletteList)
        listed.show(command_rows(self._found))
        listed.action_edge(-1)
        more = len(self._found) - MAX_SHOWN_COMMANDS
        self.query_one("#said", Bar).show(span(f"{more} more; type on" if more > 0 else "", "ink-muted"))

    def on_input_submitted(self, _message: Input.Submitted) -> None:
        self._take(self.query_one(PaletteList).cursor_key)

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        self._take(message.key)

    def _take(self, key: str) -> None:
        if not key:
            near = nearest_command(self._commands, self._typed)
            meant = f": did you mean {near}?" if near else "."
            self._show_message(
                f"No command is called {self._session.render_context().sanitize_line(self._typed, 60)!r}{meant}"
            )
            return
        command = self._found[int(key)]
        if command.why_not:
            self._show_message(f"{command.name} cannot be done now: {command.why_not}")
        else:
            self.dismiss(command)

    def _show_message(self, text: str) -> None:
        self.query_one("#said", Bar).show(span(text, "severity-warning"))

    def action_move(self, step: int) -> None:
        self.query_one(PaletteList).action_move(step)

    def action_page(self, direction: int) -> None:
        self.query_one(PaletteList).action_page(direction)

    def action_complete(self) -> None:
        key = self.query_one(PaletteList).cursor_key
        if key:
            field = self.query_one(Input)
            field.value = self._found[int(key)].name
            field.cursor_position = len(field.value)

    def action_close(self) -> None:
        self.dismiss(None)
