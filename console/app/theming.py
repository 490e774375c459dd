"""Themes of the app: built-in and user's, reload of an edited file, terminals without colours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.app import App
from textual.filter import LineFilter, Monochrome, NoColor
from textual.theme import Theme
from textual.timer import Timer

from console.app.messages import ShowMessage
from console.preferences.schema import Preferences
from console.preferences.state_file import save_theme
from screens.render.plain_filters import AsciiFilter, NoColorFilter
from themes.catalog import ThemeCatalog
from themes.choice import BUILTIN_NAMES, PLAINEST_THEME, ColorDepth, ThemeError

_DEPTHS: dict[str | None, ColorDepth] = {"standard": "16", "windows": "16", "256": "256"}
"""What Rich, which does the painting, calls a terminal that does not take each colour as it is."""
THEME_CHECK_S = 1.0
"""Seconds between two looks at the file of a theme of the user's own, while that one is shown."""


class ThemeController:
    """Knows the themes of a catalog, and shows one of them in the app that owns it.

    With `NO_COLOR` no colour is painted, and the theme is one that says what it has to say without. On a terminal of
    256 or 16 colours each theme is shown in the nearest of these.

    Made before the app is initialised, which asks for filters and themes at once; `begin` comes after that.

    Args:
        app: Its theme is set.
        catalog: The themes there are.
        ascii_only: Whether what is painted is cut down to ASCII.
        show: Says what is wrong with a file.
    """

    def __init__(self, app: App[Any], catalog: ThemeCatalog, *, ascii_only: bool, show: ShowMessage) -> None:
        self._app = app
        self._catalog = catalog
        self._show = show
        self._known: dict[str, Theme] = {}
        self._colourless = bool(os.environ.get("NO_COLOR"))
        self._filters: list[LineFilter] = [NoColorFilter()] * self._colourless + [AsciiFilter()] * ascii_only
        self._depth: ColorDepth = "truecolor"
        self._timer: Timer | None = None
        self._seen: tuple[int, int] | None = None

    def begin(self, name: str) -> None:
        """Show the first theme.

        Raises:
            ThemeError: it is not in the catalog, or its file cannot be used.
        """
        self._app.no_color = self._colourless  # Textual takes an empty variable for one that is set
        self._depth = _DEPTHS.get(self._app.console.color_system, "truecolor")
        if self._depth == "256":
            from console.app.palette_filter import PaletteFilter

            self._filters.insert(0, PaletteFilter())
        worn = self._catalog.theme(name)
        if self._colourless and not worn.ansi:
            worn = self._catalog.theme(PLAINEST_THEME)
        self._learn(worn)
        self._app.theme = worn.name

    def filters(self, usual: Sequence[LineFilter]) -> Sequence[LineFilter]:
        """Textual's, but for those that leave greys or say "default" where no colour is wanted; and ours."""
        return [*(each for each in usual if not isinstance(each, Monochrome | NoColor)), *self._filters]

    def available(self) -> dict[str, Theme]:
        """Ours and the user's: those of Textual have no colour for a state. Without colours those made for that."""
        if not self._colourless:  # as it is: Textual asks for each line that it paints
            return self._known
        return {name: theme for name, theme in self._known.items() if theme.ansi}

    @property
    def watching(self) -> bool:
        """Whether a file is looked at again and again."""
        return self._timer is not None

    def follow(self) -> None:
        """From now on know all themes, and follow the file of the one that is shown. For an app that is mounted."""
        self._app.call_after_refresh(self._learn_all)
        self._app.theme_changed_signal.subscribe(self._app, self._follow_file)
        self._follow_file(self._app.current_theme)

    def choose(self, name: str, preferences: Preferences) -> None:
        """Show a theme, and remember it."""
        self._app.theme = name
        words = f"theme {name}"
        try:
            save_theme(os.environ, name)
        except OSError as exc:
            self._show(f"{words}; it could not be saved for the next start: {exc}", "warning")
            return
        over = preferences.theme and f"; {preferences.source('console', 'theme')} sets another for the next start"
        self._show(f"{words}{over}", "info")

    def _learn(self, theme: Theme) -> None:
        if self._depth != "truecolor":
            from themes.color_depth import theme_for_depth  # knows all colours of a palette

            theme = theme_for_depth(theme, self._depth)
        self._known[theme.name] = theme
        self._app.register_theme(theme)

    def _learn_all(self) -> None:
        """Those that are not shown, once the first frame is there. A file that cannot be used is not offered; `themes`
        and `doctor` say what is wrong with it.
        """
        for name in self._catalog.names():
            if name not in self._known:
                try:
                    self._learn(self._catalog.theme(name))
                except ThemeError as exc:
                    self._app.log.warning(str(exc))

    def _follow_file(self, theme: Theme) -> None:
        """Look at the theme's file from now on, if it is a file of the user's."""
        if self._timer is not None:
            self._timer.stop()
        own = None if theme.name in BUILTIN_NAMES else self._catalog.own().get(theme.name)
        if own is None:
            self._timer = None
            return
        path = own.path
        self._seen = _stamp(path)
        self._timer = self._app.set_interval(THEME_CHECK_S, lambda: self._check_file(path))

    def _check_file(self, path: Path) -> None:
        seen = _stamp(path)
        if seen == self._seen:
            return
        self._seen = seen
        from themes.loader import load_theme  # for a file that is edited

        try:
            theme = load_theme(path)
        except ThemeError as exc:
            self._show(f"{exc}; the theme stays as it was", "error")
            return
        self._learn(theme)
        if theme.name != self._app.theme:
            self._app.theme = theme.name
        else:
            self._app.mutate_reactive(App.theme)


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file does; None if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
