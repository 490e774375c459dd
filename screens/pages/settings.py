"""The settings page: each value and where it comes from.

A theme can be chosen here; the rest is for reading, and says where it is set.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from screens.base.runtime_screen import RuntimeScreen
from screens.render.layout import Spans, plain_text
from screens.shell.messages import ChooseTheme, EditSettings, ReadSettings
from screens.views.lists.settings import SETTING_COLUMNS, THEME_KEY_PREFIX, settings_rows
from screens.widgets.line_list import LineList
from screens.widgets.row_list import RowList


class SettingsScreen(RuntimeScreen):
    """One list."""

    CSS_PATH = "settings.tcss"
    BINDING_GROUP_TITLE = "Settings"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "e", "edit", "Edit", tooltip="Edit the file in which this is set, and read it again", id="settings.edit"
        ),
        Binding("R", "read", "Read again", tooltip="Read orbiter.toml again", id="settings.read"),
        Binding("t", "next_theme", "Next theme", tooltip="Show the next theme, and keep it", id="settings.next_theme"),
    ]

    def body(self) -> ComposeResult:
        yield RowList(SETTING_COLUMNS, glyphs=self.session.glyphs, id="settings")

    def on_mount(self) -> None:
        """The list marks the theme that is shown."""
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self.pace.request())

    def crumbs(self) -> Spans:
        return self.trail("settings")

    def draw(self) -> None:
        self.query_one("#settings", RowList).show(settings_rows(self.session.settings(), self.session.render_context()))

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        if message.key.startswith(THEME_KEY_PREFIX):
            self.post_message(ChooseTheme(message.key.removeprefix(THEME_KEY_PREFIX)))
        else:
            context = self.session.render_context()
            edit = context.hints((context.key("settings.edit", "e"), "opens the file, which then holds at once."))
            self.show_message(f"This is set where the last column says. {edit}".rstrip())

    def action_edit(self) -> None:
        row = self.query_one("#settings", RowList).cursor_row
        self.post_message(EditSettings(plain_text(row.cells[-1]) if row is not None else ""))

    def action_read(self) -> None:
        self.post_message(ReadSettings())

    def action_next_theme(self) -> None:
        names = list(self.app.available_themes)
        here = names.index(self.app.theme) if self.app.theme in names else -1
        self.post_message(ChooseTheme(names[(here + 1) % len(names)]))
