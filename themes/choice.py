"""The choice of the theme: setting, terminal, default.

Imports no Textual: what is asked for is checked before a screen is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from orbiter.parsing.near_names import did_you_mean

DEFAULT_THEME: Final = "orbiter-dark"
PLAINEST_THEME: Final = "orbiter-ansi-dark"
"""For `NO_COLOR` and terminals of 16 colours: it names the terminal's own colours, and leaves the ground to it."""
_PLAINEST_LIGHT: Final = "orbiter-ansi-light"

BUILTIN_NAMES: Final = {
    DEFAULT_THEME: "the default, for dark terminals",
    "orbiter-light": "for light terminals",
    "orbiter-contrast-dark": "high contrast on black: all text at least 7:1",
    "orbiter-contrast-light": "high contrast on white: all text at least 7:1",
    "orbiter-colourblind-dark": "blue and orange instead of green and red, on dark",
    "orbiter-colourblind-light": "blue and orange instead of green and red, on light",
    PLAINEST_THEME: "the terminal's own 16 colours, on its dark ground",
    _PLAINEST_LIGHT: "the terminal's own 16 colours, on its light ground",
}
"""The themes that come with the program, the default first, each with what it is for."""

THEME_ENV: Final = "ORBITER_THEME"

ColorDepth = Literal["none", "16", "256", "truecolor"]


class ThemeError(Exception):
    """A theme cannot be shown. The message says what, where, and what to do instead."""


class UnknownTheme(ThemeError):
    """No theme has that name. The message says who asked for it, and which name is nearest."""


def color_depth(environment: Mapping[str, str]) -> ColorDepth:
    """How many colours the terminal is painted with, by what it says of itself; none if `$NO_COLOR` is set to
    anything but nothing (https://no-color.org). The rules are those of Rich, which does the painting.
    """
    if environment.get("NO_COLOR"):
        return "none"
    if environment.get("COLORTERM", "").strip().lower() in {"truecolor", "24bit"}:
        return "truecolor"
    term = environment.get("TERM", "").strip().lower()
    return "256" if term.rpartition("-")[2] in {"256color", "kitty"} else "16" if term else "none"


def choose_theme(
    environment: Mapping[str, str], asked: str | None = None, own: Callable[[], Iterable[str]] | None = None
) -> str:
    """The name of the theme to show: the one asked for with `--theme`, or `$ORBITER_THEME`, or one in the terminal's
    own colours where there are no more than those, or the default. `own` gives the names of the user's themes; it is
    asked only for a name that is not among `BUILTIN_NAMES`.

    Raises:
        UnknownTheme: the one that was asked for is neither built in nor among the user's own.
    """
    source, name = ("--theme", asked) if asked is not None else (THEME_ENV, environment.get(THEME_ENV, ""))
    if asked is None and not name:
        return _theme_for_background(environment)
    if name in BUILTIN_NAMES:
        return name
    known = [*BUILTIN_NAMES, *(own() if own is not None else ())]
    if name in known:
        return name
    meant = did_you_mean(name, known)
    raise UnknownTheme(f"{source}: unknown theme {name!r}; {meant}the themes are {', '.join(known)}")


def _theme_for_background(environment: Mapping[str, str]) -> str:
    """`$COLORFGBG`, where a terminal sets it, ends in the number of its ground's colour: 7 and 15 are light."""
    if not environment.get("TERM") and not environment.get("NO_COLOR"):
        return DEFAULT_THEME  # no terminal answers: the usual theme is what is asked for
    if color_depth(environment) in {"256", "truecolor"}:
        return DEFAULT_THEME
    light = environment.get("COLORFGBG", "").rpartition(";")[2] in {"7", "15"}
    return _PLAINEST_LIGHT if light else PLAINEST_THEME
