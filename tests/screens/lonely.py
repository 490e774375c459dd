"""One screen on an app of its own: what it shows, and what it asks the console for, without the rest of the console."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.binding import Binding
from textual.pilot import Pilot

from console.app.theming import ThemedApp
from screens.base.runtime_screen import RuntimeScreen
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.key_names import key_in_words
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenRun
from tests.screens.desk import Desk
from tests.screens.stories import Story
from tests.screens.waiting import drawn
from tests.screens.widgets.test_live_widgets import screen_text
from themes.catalog import ThemeCatalog


class Lonely(ThemedApp):
    """Shows a screen; keeps which runs were to be opened. `begin` is called first, as part of the app."""

    def __init__(
        self, screen: RuntimeScreen, theme: str = "orbiter-dark", *, begin: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(theme, ThemeCatalog(), ascii_only=screen.session.glyphs.name == "ascii", driver=None)
        self.shown = screen
        self.begin = begin
        self.opened: list[OpenRun] = []

    def on_mount(self) -> None:
        self.begin()
        self.push_screen(self.shown)

    def get_key_display(self, binding: Binding) -> str:
        """As the console says it."""
        return binding.key_display or key_in_words(binding.key)

    def on_open_run(self, message: OpenRun) -> None:
        self.opened.append(message)


def lonely(
    made: Callable[[ConsoleContext], RuntimeScreen],
    *stories: Story,
    ascii_only: bool = False,
    theme: str = "orbiter-dark",
) -> tuple[Lonely, Desk]:
    """An app that shows the screen over these stories."""
    desk = Desk(*stories)
    session = ConsoleContext(
        desk, glyphs=ASCII_GLYPHS if ascii_only else UNICODE_GLYPHS, clock=lambda: desk.now, arm_after=0.0
    )
    return Lonely(made(session), theme), desk


@asynccontextmanager
async def showing(
    made: Callable[[ConsoleContext], RuntimeScreen],
    *stories: Story,
    size: tuple[int, int] = (100, 30),
    ascii_only: bool = False,
) -> AsyncIterator[tuple[Pilot[None], Desk]]:
    """The screen at work."""
    app, desk = lonely(made, *stories, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        await drawn(pilot)
        yield pilot, desk


async def until(pilot: Pilot[Any], true: Callable[[], bool]) -> None:
    """Wait for a fact, not for a time."""
    async with asyncio.timeout(60):
        while not true():
            await pilot.pause(0.01)


def text_of(pilot: Pilot[Any]) -> str:
    return "\n".join(screen_text(pilot.app))


def line_with(pilot: Pilot[Any], words: str) -> str:
    """The line of the screen that has these words; empty if none does."""
    return next((line for line in screen_text(pilot.app) if words in line), "")
