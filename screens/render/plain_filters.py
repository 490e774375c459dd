"""Filters for plain terminals: no colours where `NO_COLOR` is set, ASCII only where it must be.

Both work on finished lines of whatever widget, Textual's own included, so nothing can be forgotten: no border, no
scroll bar, no cursor. Views choose ASCII signs by themselves (`screens.render.glyphs`); this is the net below them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_SIGNS: Final = dict(zip("▁▂▃▄▅▆▇█░▒▓…·•×→←↑↓▲▼▸▾›‹✓✗", "_.:-=+*#.:#~.*x><^v^v>v><+!", strict=True))
"""What stands for characters that have a likeness; lines and blocks go by their names."""


class StyleFilter(LineFilter):
    """Shows the same text in other styles; what a style becomes is said once for each."""

    restyle: Callable[[Style], Style]

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same text in the styles that `restyle` makes of its own."""
        return [
            segment if segment.style is None else Segment(segment.text, self.restyle(segment.style), segment.control)
            for segment in segments
        ]


@lru_cache(maxsize=1024)
def _without_color(style: Style) -> Style:
    ground = style.bgcolor
    stands_out = ground is not None and not ground.is_default
    plain = style.without_color + Style(meta=style.meta)  # what a click means is in there
    return plain + Style(reverse=True) if stands_out and not style.reverse else plain


class NoColorFilter(StyleFilter):
    """Takes all colours away. What stood on a ground of its own is reversed, so that a cursor can still be seen;
    bold, underline and reverse stay. Meant for ANSI themes, whose ordinary grounds are the terminal's.
    """

    restyle = staticmethod(_without_color)


class AsciiFilter(LineFilter):
    """Shows every character in ASCII, in as many cells as it had."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same lines in ASCII."""
        return [
            segment if segment.text.isascii() else segment._replace(text="".join(map(_ascii, segment.text)))
            for segment in segments
        ]


@lru_cache(maxsize=4096)
def _ascii(char: str) -> str:
    if char.isascii():
        return char
    return _SIGNS.get(char) or _by_name(unicodedata.name(char, "")) or "?" * cell_len(char)


def _by_name(name: str) -> str:
    """For box drawings and blocks, one cell each; empty for what is neither."""
    if name.startswith("BOX DRAWINGS"):
        words = set(name.split())
        across, down = words & {"HORIZONTAL", "LEFT", "RIGHT"}, words & {"VERTICAL", "UP", "DOWN"}
        return "-" if across and not down else "|" if down and not across else "+"
    if "BLOCK" not in name and not name.startswith("QUADRANT"):
        return ""
    where = name.partition(" ")[0]
    return {"LOWER": "_", "UPPER": "-", "LEFT": "|", "RIGHT": "|"}.get(where, "#")
