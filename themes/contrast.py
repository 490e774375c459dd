"""Contrast of a theme's text: the ratio of WCAG 2.

The colours of an ANSI theme are whatever the terminal makes of them; they are measured in the two palettes that most
others descend from, on black or on white, and the worse of both counts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from textual.color import Color
from textual.theme import Theme

from themes.tokens import GROUNDS, SECTIONS, css_variable

MIN_READABLE_RATIO: Final = 4.5
"""WCAG 2 AA, for text of ordinary size."""

_VGA: Final = (
    "000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa 555555 ff5555 55ff55 ffff55 5555ff ff55ff 55ffff ffffff"
)
_XTERM: Final = (
    "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff"
)
TERMINAL_PALETTES: Final = tuple(
    tuple(Color.parse(f"#{each}") for each in palette.split()) for palette in (_VGA, _XTERM)
)
"""The 16 colours of the VGA and of xterm, by their numbers."""


class Pair(NamedTuple):
    """A token of text on a token of ground, both as variables are called."""

    ink: str
    ground: str
    ratio: float


def contrast_ratio(one: Color, other: Color) -> float:
    """1 for the same colour, 21 for black on white (WCAG 2.2, "contrast ratio")."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def contrast_pairs(theme: Theme) -> list[Pair]:
    """Every text of a theme on every ground: each of them occurs."""
    inks = [css_variable(name, token) for name in ("inks", "states", "severities") for token in SECTIONS[name]]
    grounds = [css_variable("grounds", token) for token in GROUNDS]
    return [Pair(ink, ground, contrast_of(theme, ink, ground)) for ink in inks for ground in grounds]


def weak_pairs(theme: Theme) -> list[Pair]:
    """Those that are harder to read than they should be, the hardest first."""
    return sorted(
        (pair for pair in contrast_pairs(theme) if pair.ratio < MIN_READABLE_RATIO), key=lambda pair: pair.ratio
    )


def contrast_of(theme: Theme, ink: str, ground: str) -> float:
    """How well one variable of a theme can be read on another."""
    text, under = (Color.parse(theme.variables[token]) for token in (ink, ground))
    if not theme.ansi:
        return contrast_ratio(text, under)
    return min(
        contrast_ratio(
            _palette_color(text, palette, theme, text=True), _palette_color(under, palette, theme, text=False)
        )
        for palette in TERMINAL_PALETTES
    )


def _palette_color(colour: Color, palette: tuple[Color, ...], theme: Theme, *, text: bool) -> Color:
    """A colour of the terminal as a palette has it: its own text is light on black, or black on white."""
    if colour.ansi is None or colour.ansi < 0:
        number = (7 if theme.dark else 0) if text else (0 if theme.dark else 15)
    else:
        number = colour.ansi
    return palette[number]


def linear_channels(colour: Color) -> tuple[float, float, float]:
    """Red, green and blue as shares of light, without the curve of sRGB."""
    red, green, blue = (_linear(part / 255) for part in colour.rgb)
    return red, green, blue


@lru_cache(maxsize=1024)
def _luminance(colour: Color) -> float:
    red, green, blue = linear_channels(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(share: float) -> float:
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)
