"""On a terminal of 256 colours: what is painted in a colour of its own gets the one that looks nearest."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as PaintedColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from themes.color_depth import nearest_fixed


class PaletteFilter(LineFilter):
    """Textual blends colours of a theme into new ones (a scroll bar, a dimmed text): these are in no theme."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same text in colours of the palette."""
        return [
            segment if segment.style is None else Segment(segment.text, _in_palette(segment.style), segment.control)
            for segment in segments
        ]


@lru_cache(maxsize=4096)
def _in_palette(style: Style) -> Style:
    return style + Style(color=_nearest(style.color), bgcolor=_nearest(style.bgcolor))


def _nearest(painted: PaintedColor | None) -> PaintedColor | None:
    """None for what is painted as it is: the terminal's own colours."""
    if painted is None or painted.triplet is None:
        return None
    return PaintedColor.from_ansi(nearest_fixed(*painted.triplet))
