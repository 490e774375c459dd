"""A theme on terminals of 256 or 16 colours: each token gets the nearest colour of the palette that can be read.

Near is what looks near: distances are measured in OKLab (Björn Ottosson, "A perceptual color space for image
processing", 2020). Rich rounds each channel instead, which makes the grounds of the default theme black.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import permutations
from math import dist, hypot
from typing import Final

from textual.color import Color
from textual.theme import Theme

from themes.builtin_themes import make_theme
from themes.choice import ColorDepth
from themes.contrast import MIN_READABLE_RATIO, TERMINAL_PALETTES, contrast_ratio, linear_channels
from themes.tokens import SECTIONS, css_variable

FIRST_FIXED: Final = 16
"""The first of the 256 colours that is the same in every terminal: those below are the user's."""
MIN_LINE_RATIO: Final = 3.0
"""WCAG 2 AA, for parts of the interface that are no text."""
ENHANCED_RATIO: Final = 7.0
"""WCAG 2 AAA: a theme that has it keeps it."""
_GREY: Final = 0.045
"""Chroma in OKLab below which a colour is a shade of grey."""
_TOLD_APART: Final = ("state-failed", "state-waiting", "state-succeeded", "state-running")
"""What an eye looks for first: two of them never share a colour, unless they do so in the theme."""

_STEPS: Final = (0, 95, 135, 175, 215, 255)
FIXED_PALETTE: Final = (
    *(Color(red, green, blue) for red in _STEPS for green in _STEPS for blue in _STEPS),
    *(Color(step, step, step) for step in range(8, 248, 10)),
)
"""The colours 16 to 255 as xterm and all that follow it have them: a cube of six steps, and 24 greys."""
_NAMES: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_HUES: Final = tuple(
    f"ansi_{bright}{name}" for bright in ("", "bright_") for name in _NAMES if name not in {"black", "white"}
)
"""Those of the 16 colours that are no grey."""


def theme_for_depth(theme: Theme, depth: ColorDepth) -> Theme:
    """A theme as a terminal of that depth shows it. One in the terminal's own colours is the same at each depth."""
    if theme.ansi or depth not in {"256", "16"}:
        return theme
    colours = _fixed_colours(theme) if depth == "256" else _terminal_colours(theme)
    return make_theme(theme.name, theme.dark, colours, ansi=depth == "16")


@lru_cache(maxsize=4096)
def nearest_fixed(red: int, green: int, blue: int) -> int:
    """The number, from 16 to 255, of the colour that looks nearest."""
    return FIRST_FIXED + FIXED_PALETTE.index(_nearest(Color(red, green, blue), FIXED_PALETTE))


def _fixed_colours(theme: Theme) -> dict[str, str]:
    """Grounds first, each a colour of its own; then what stands on them, as readable as the theme has it."""
    wanted = {token: Color.parse(theme.variables[token]) for token in _tokens(*SECTIONS)}
    found: dict[str, Color] = {}
    for token in _tokens("grounds"):
        taken = {colour for other, colour in found.items() if wanted[other] != wanted[token]}
        found[token] = _nearest(wanted[token], (each for each in FIXED_PALETTE if each not in taken))
    least = dict.fromkeys([*_TOLD_APART, *_tokens("inks", "states", "severities")], MIN_READABLE_RATIO)
    least |= dict.fromkeys(_tokens("lines"), MIN_LINE_RATIO)
    told: dict[Color, Color] = {}
    for token, ratio in least.items():
        colour = wanted[token]
        own = min(contrast_ratio(colour, wanted[ground]) for ground in _tokens("grounds"))
        needed = ENHANCED_RATIO if own >= ENHANCED_RATIO else min(own, ratio)
        among = _readable(tuple(found[ground] for ground in _tokens("grounds")), needed)
        free = [each for each in among if each not in told.values()] if token in _TOLD_APART else among
        found[token] = told.get(colour) or _nearest(colour, free)
        if token in _TOLD_APART:
            told[colour] = found[token]
    return {token: colour.hex.lower() for token, colour in found.items()}


@lru_cache(maxsize=64)
def _readable(grounds: tuple[Color, ...], needed: float) -> list[Color]:
    """What has that contrast on each of the grounds; if nothing has, what comes nearest to it."""
    ratios = {colour: min(contrast_ratio(colour, ground) for ground in grounds) for colour in FIXED_PALETTE}
    return [colour for colour, ratio in ratios.items() if ratio >= min(needed, max(ratios.values()))]


def _terminal_colours(theme: Theme) -> dict[str, str]:
    """The grounds are the terminal's own. Greys are its ordinary text; all else keeps its hue."""
    found = dict.fromkeys(_tokens(*SECTIONS), "ansi_default") | {
        "line": "ansi_bright_black" if theme.dark else "ansi_white"
    }
    wanted = {token: Color.parse(theme.variables[token]) for token in found if token not in _tokens("grounds")}
    del wanted["line"]
    hued = {token: colour for token, colour in wanted.items() if _chroma(colour) >= _GREY}
    names = [name for name in _HUES if _is_readable(name, dark=theme.dark)]
    apart = list(dict.fromkeys(hued[token] for token in _TOLD_APART if token in hued))
    best = min(
        permutations(names, min(len(apart), len(names))),
        key=lambda chosen: sum(_hue_distance(name, colour) for name, colour in zip(chosen, apart, strict=False)),
    )
    told = dict(zip(apart, best, strict=False))
    return found | {
        token: told.get(colour) or min(names, key=lambda name: _hue_distance(name, colour))
        for token, colour in hued.items()
    }


def _is_readable(name: str, *, dark: bool) -> bool:
    return all(
        contrast_ratio(colour, palette[0 if dark else 15]) >= MIN_READABLE_RATIO
        for palette, colour in zip(TERMINAL_PALETTES, _as_painted(name), strict=True)
    )


@lru_cache(maxsize=1024)
def _hue_distance(name: str, colour: Color) -> float:
    """How far a colour of the terminal is from the wanted one in hue and, less, in lightness: no theme is as garish as
    the 16 colours, so that its greys and pastels are all nearest to white.
    """
    wanted = _oklab(colour)
    painted = [_oklab(each) for each in _as_painted(name)]
    return sum(dist(_hue(each), _hue(wanted)) + 0.5 * abs(each[0] - wanted[0]) for each in painted)


def _as_painted(name: str) -> list[Color]:
    """A colour of the terminal as each palette that is measured in has it."""
    number = Color.parse(name).ansi
    return [palette[number or 0] for palette in TERMINAL_PALETTES]


def _nearest(wanted: Color, among: Iterable[Color]) -> Color:
    place = _oklab(wanted)
    return min(among, key=lambda each: dist(_oklab(each), place))


def _chroma(colour: Color) -> float:
    _, green_red, blue_yellow = _oklab(colour)
    return hypot(green_red, blue_yellow)


def _hue(place: tuple[float, float, float]) -> tuple[float, float]:
    """The hue as a place on the circle of all hues."""
    _, green_red, blue_yellow = place
    chroma = hypot(green_red, blue_yellow) or 1.0
    return green_red / chroma, blue_yellow / chroma


@lru_cache(maxsize=1024)
def _oklab(colour: Color) -> tuple[float, float, float]:
    """Lightness from 0 to 1, green to red, blue to yellow."""
    red, green, blue = linear_channels(colour)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def _tokens(*sections: str) -> list[str]:
    return [css_variable(section, token) for section in sections for token in SECTIONS[section]]
