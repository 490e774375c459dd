"""Themes of the app: built-in and user's, reload of an edited file, terminals without colours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App
from textual.filter import LineFilter, Monochrome, NoColor
from textual.theme import Theme
from textual.timer import Timer

from screens.render.plain_filters import AsciiFilter, NoColorFilter
from themes.catalog import ThemeCatalog
from themes.choice import BUILTIN_NAMES, PLAINEST_THEME, ThemeError

if TYPE_CHECKING:
    from textual.driver import Driver

THEME_CHECK_S = 1.0
"""Seconds between two looks at the file of a theme of the user's own, while that one is shown."""


class ThemedApp(App[None]):
    """Knows the themes of a shelf, and shows one of them.

    With `NO_COLOR` no colour is painted, and the theme is one that says what it has to say without.
    """

    def __init__(self, theme: str, shelf: ThemeCatalog, *, ascii_only: bool, driver: type[Driver] | None) -> None:
        """Raises ThemeError: the theme is not on the shelf, or its file cannot be used."""
        self._themes: dict[str, Theme] = {}
        self._shelf = shelf
        colourless = bool(os.environ.get("NO_COLOR"))
        self._nets: list[LineFilter] = [NoColorFilter()] * colourless + [AsciiFilter()] * ascii_only
        self._watch: Timer | None = None
        self._seen: tuple[int, int] | None = None
        super().__init__(driver_class=driver)
        self.no_color = colourless  # Textual takes an empty variable for one that is set
        worn = shelf.theme(theme)
        if colourless and not worn.ansi:
            worn = shelf.theme(PLAINEST_THEME)
        self._learn(worn)
        self.theme = worn.name

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, but for those that leave greys or say "default" where no colour is wanted; and ours."""
        usual = [found for found in super().get_line_filters() if not isinstance(found, Monochrome | NoColor)]
        return [*usual, *self._nets]

    @property
    def available_themes(self) -> dict[str, Theme]:
        """Ours and the user's: those of Textual have no colour for a state. Without colours those made for that."""
        known = {name: theme for name, theme in self._themes.items() if theme.ansi or not self.no_color}
        return known or super().available_themes

    def picture(self) -> str:
        """What is shown, as SVG. Blanks at the beginning of a text are kept: some renderers drop them, and then words
        stand at the wrong place.
        """
        return self.export_screenshot(title="orbiter-console").replace("<svg ", '<svg xml:space="preserve" ', 1)

    def _learn(self, theme: Theme) -> None:
        self._themes[theme.name] = theme
        self.register_theme(theme)

    def _learn_all(self) -> None:
        """Those that are not shown, once the first frame is there. A file that cannot be used is no choice; `themes`
        and `doctor` say what is wrong with it.
        """
        for name in self._shelf.names():
            if name not in self._themes:
                try:
                    self._learn(self._shelf.theme(name))
                except ThemeError as exc:
                    self.log.warning(str(exc))

    # -- a file that is edited while it is shown -------------------------------------------------------------

    def on_mount(self) -> None:
        self.call_after_refresh(self._learn_all)
        self.theme_changed_signal.subscribe(self, self._follow_file)
        self._follow_file(self.current_theme)

    def _follow_file(self, theme: Theme) -> None:
        """Look at the theme's file from now on, if it is a file of the user's."""
        if self._watch is not None:
            self._watch.stop()
        own = None if theme.name in BUILTIN_NAMES else self._shelf.own().get(theme.name)
        if own is None:
            self._watch = None
            return
        path = own.path
        self._seen = _stamp(path)
        self._watch = self.set_interval(THEME_CHECK_S, lambda: self._check_file(path))

    def _check_file(self, path: Path) -> None:
        seen = _stamp(path)
        if seen == self._seen:
            return
        self._seen = seen
        from themes.loader import load_theme  # for a file that is edited

        try:
            theme = load_theme(path)
        except ThemeError as exc:
            self._show_message(f"{exc}; what is shown is the theme as it was", "error")
            return
        self._learn(theme)
        if theme.name != self.theme:
            self.theme = theme.name
        else:
            self.mutate_reactive(App.theme)

    def _show_message(self, text: str, severity: str) -> None:
        from screens.base.runtime_screen import RuntimeScreen

        for screen in reversed(self.screen_stack):
            if isinstance(screen, RuntimeScreen):
                screen.show_message(text, severity)
                return


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file does; None if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
