"""One screen on an app of its own: what it shows, and what it asks the console for, without the rest of the console."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App
from textual.binding import Binding
from textual.filter import LineFilter
from textual.pilot import Pilot
from textual.theme import Theme

from console.app.screen_export import screen_picture
from console.app.theming import ThemeController
from console.terminal.stylesheet_patch import ParsedOnceStylesheet
from screens.base.runtime_screen import RuntimeScreen
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.key_names import key_in_words
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenRun
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import Story
from tests.screens.waiting import drawn
from tests.screens.widgets.test_live_widgets import screen_text
from themes.catalog import ThemeCatalog


class Lonely(App[None]):
    """Shows a screen; keeps which runs were to be opened. `begin` is called first, as part of the app."""

    def __init__(
        self, screen: RuntimeScreen, theme: str = "orbiter-dark", *, begin: Callable[[], None] = lambda: None
    ) -> None:
        ascii_only = screen.session.glyphs.name == "ascii"
        self.themes = ThemeController(self, ThemeCatalog(), ascii_only=ascii_only, show=lambda *_: None)
        super().__init__()
        self.stylesheet = ParsedOnceStylesheet(variables=self.stylesheet._variables)  # as the console's own
        self.themes.begin(theme)
        self.shown = screen
        self.begin = begin
        self.opened: list[OpenRun] = []

    def on_mount(self) -> None:
        self.begin()
        self.push_screen(self.shown)
        self.themes.follow()

    def get_line_filters(self) -> Sequence[LineFilter]:
        return self.themes.filters(super().get_line_filters())

    @property
    def available_themes(self) -> dict[str, Theme]:
        return self.themes.available() or super().available_themes

    def picture(self) -> str:
        return screen_picture(self)

    def get_key_display(self, binding: Binding) -> str:
        """As the console says it."""
        return binding.key_display or key_in_words(binding.key)

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        """As the console's own."""
        done = await super()._check_bindings(key, priority)
        if not (done or priority):
            self.shown.key_unused(key)
        return done

    def on_open_run(self, message: OpenRun) -> None:
        self.opened.append(message)


def lonely(
    made: Callable[[ConsoleContext], RuntimeScreen],
    *stories: Story,
    ascii_only: bool = False,
    theme: str = "orbiter-dark",
) -> tuple[Lonely, MemoryLink]:
    """An app that shows the screen over these stories."""
    link = MemoryLink(*stories)
    session = ConsoleContext(
        link, glyphs=ASCII_GLYPHS if ascii_only else UNICODE_GLYPHS, clock=lambda: link.now, arm_after=0.0
    )
    return Lonely(made(session), theme), link


@asynccontextmanager
async def showing(
    made: Callable[[ConsoleContext], RuntimeScreen],
    *stories: Story,
    size: tuple[int, int] = (100, 30),
    ascii_only: bool = False,
) -> AsyncIterator[tuple[Pilot[None], MemoryLink]]:
    """The screen at work."""
    app, link = lonely(made, *stories, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        await drawn(pilot)
        yield pilot, link


def text_of(pilot: Pilot[Any]) -> str:
    return "\n".join(screen_text(pilot.app))


def line_with(pilot: Pilot[Any], words: str) -> str:
    """The line of the screen that has these words; empty if none does."""
    return next((line for line in screen_text(pilot.app) if words in line), "")
