"""Which of the built-in themes is shown. Imports no Textual: what is asked for is checked before a screen is opened."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

DEFAULT: Final = "orbiter-dark"
PLAINEST: Final = "orbiter-contrast-dark"
"""What `NO_COLOR` gets: its greys lie farthest apart when the colour is gone."""

BUILT_IN: Final = {
    DEFAULT: "the default, for dark terminals",
    "orbiter-light": "for light terminals",
    PLAINEST: "high contrast on black: all text at least 7:1",
    "orbiter-contrast-light": "high contrast on white: all text at least 7:1",
    "orbiter-colourblind-dark": "blue and orange instead of green and red, on dark",
    "orbiter-colourblind-light": "blue and orange instead of green and red, on light",
}
"""The themes that come with the program, the default first, each with what it is for."""

VARIABLE: Final = "ORBITER_THEME"


class UnknownTheme(Exception):
    """No theme has that name. The message says who asked for it, and which name is nearest."""


def chosen(environment: Mapping[str, str], asked: str | None = None) -> str:
    """The name of the theme to show: the one asked for with `--theme`, or `$ORBITER_THEME`, or the plainest if
    `$NO_COLOR` is set to anything but nothing (https://no-color.org), or the default.

    Raises:
        UnknownTheme: the one that was asked for is not among `BUILT_IN`.
    """
    source, name = ("--theme", asked) if asked is not None else (VARIABLE, environment.get(VARIABLE, ""))
    if asked is None and not name:
        return PLAINEST if environment.get("NO_COLOR") else DEFAULT
    if name in BUILT_IN:
        return name
    near = get_close_matches(name.lower(), BUILT_IN, n=1, cutoff=0.4)
    meant = f"did you mean {near[0]}? " if near else ""
    raise UnknownTheme(f"{source}: there is no theme {name!r}; {meant}there are {', '.join(BUILT_IN)}")
