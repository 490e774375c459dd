"""The themes that can be chosen: those that come with the program, and the user's own, which are files. Imports no
Textual before a theme is asked for.

A user's files lie in `$XDG_CONFIG_HOME/orbiter-console/themes` (`~/.config/…`, for all workspaces) and in the `themes`
directory of a workspace's state (`.orbiter/themes`, for this one alone, and sooner than one of the same name).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from themes.choice import BUILTIN_NAMES, ThemeError
from themes.theme_file import SUFFIXES, read_theme_file

if TYPE_CHECKING:
    from textual.theme import Theme


class ThemePlace(NamedTuple):
    """A theme file, or a directory of them, and whose it is: the `workspace`'s or the `user`'s."""

    path: Path
    source: str


def theme_places(config_home: Path, state: Path) -> list[ThemePlace]:
    """Where themes are looked for, the first the most particular: in the workspace's state directory, then in the
    directory of the user's configurations.
    """
    return [ThemePlace(state / "themes", "workspace"), ThemePlace(config_home / "orbiter-console" / "themes", "user")]


class ThemeCatalog:
    """Finds themes by name. Nothing is read before the first look-up."""

    def __init__(self, where: Sequence[ThemePlace] = ()) -> None:
        self._places = where

    def own(self) -> dict[str, ThemePlace]:
        """The user's theme files by the name that each gives itself, or else has as a file."""
        found: dict[str, ThemePlace] = {}
        for place in self._places:
            paths = sorted(place.path.iterdir()) if place.path.is_dir() else ()
            for path in (path for path in paths if path.suffix in SUFFIXES):
                found.setdefault(_name(path), ThemePlace(path, place.source))
        return found

    def names(self) -> list[str]:
        """All that can be chosen, those that are built in first."""
        return [*BUILTIN_NAMES, *(name for name in self.own() if name not in BUILTIN_NAMES)]

    def theme(self, name: str) -> Theme:
        """The theme of this name.

        Raises:
            ThemeError: there is none, or its file cannot be used.
        """
        if name in BUILTIN_NAMES:
            from themes.builtin_themes import builtin_theme  # with Textual, as what follows

            return builtin_theme(name)
        from themes.loader import load_theme

        found = self.own().get(name)
        if found is None:
            raise ThemeError(f"unknown theme {name!r}; the themes are {', '.join(self.names())}")
        return load_theme(found.path)


def _name(path: Path) -> str:
    """What a file calls itself; that of the file where it says nothing, or nothing that can be read."""
    try:
        name = read_theme_file(path).values.get("name")
    except ThemeError:
        return path.stem  # what is wrong with it is said when it is chosen, or listed
    return name if isinstance(name, str) and name.strip() and name.isprintable() else path.stem
