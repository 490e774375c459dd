"""On a terminal of 256 colours: what is painted in a colour of its own gets the one that looks nearest."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as PaintedColor
from rich.style import Style

from screens.render.plain_filters import StyleFilter
from themes.color_depth import nearest_fixed


def _nearest(painted: PaintedColor | None) -> PaintedColor | None:
    """None for what is painted as it is: the terminal's own colours."""
    if painted is None or painted.triplet is None:
        return None
    return PaintedColor.from_ansi(nearest_fixed(*painted.triplet))


@lru_cache(maxsize=4096)
def _in_palette(style: Style) -> Style:
    return style + Style(color=_nearest(style.color), bgcolor=_nearest(style.bgcolor))


class PaletteFilter(StyleFilter):
    """Textual blends colours of a theme into new ones (a scroll bar, a dimmed text): these are in no theme."""

    restyle = staticmethod(_in_palette)
