"""Opens the palette over the screen that is shown, and carries out the command that was chosen."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

from textual.app import App

from screens.base.runtime_screen import RuntimeScreen
from screens.dialogs.palette import PaletteScreen
from screens.dialogs.palette_commands import palette_commands
from screens.shell.context import ConsoleContext
from screens.views.lists.commands import Command


def open_palette(app: App[Any], session: ConsoleContext) -> None:
    """Show everything that can be done on the screen that is shown, by name."""

    async def act(command: Command | None) -> None:
        if command is not None and isawaitable(found := command.act()):
            await found

    screen = app.screen
    if isinstance(screen, RuntimeScreen):
        app.push_screen(PaletteScreen(session, palette_commands(screen)), act)
