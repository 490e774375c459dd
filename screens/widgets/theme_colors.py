"""Colours of the theme's tokens, as Textual and Rich take them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.strip import Strip

from screens.render.layout import Span, Spans, width_of

_MARKS: Final[Mapping[str, dict[str, Any]]] = {"row-cursor": {"reverse": True}, "row-cursor-idle": {"underline": True}}
"""How the row under the cursor stands out where the theme leaves its ground to the terminal, as ANSI themes do."""


class ThemeColors:
    """Styles for the tokens of one theme. Cheap to ask, because every visible line asks for several."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        """`variables` as in `App.theme_variables`."""
        self._variables = variables
        self._styles: dict[tuple[str, bool, str], Style] = {}
        self._equal: dict[Style, Style] = {}
        """One of those that are equal: pieces of a line in the same style are joined."""

    def are_of(self, variables: Mapping[str, str]) -> bool:
        """Whether these are the colours of a theme with such variables."""
        return variables == self._variables

    def style(self, ink: str, ground: str, *, bold: bool = False) -> Style:
        """Text of `ink` on `ground`.

        Raises:
            KeyError: the theme has no such token.
        """
        found = self._styles.get((ink, bold, ground))
        if found is None:
            found = self._made(ink, ground, bold=bold)
            found = self._styles[ink, bold, ground] = self._equal.setdefault(found, found)
        return found

    def _made(self, ink: str, ground: str, *, bold: bool) -> Style:
        mark = _MARKS.get(ground, {}) if self._variables[ground] == self._variables["surface"] else {}
        if "reverse" in mark:  # in the colours of the whole row: a patchwork would not be a row
            ink = "ink"
        return Style(color=self._colour(ink), bgcolor=self._colour(ground), bold=bold, **mark)

    def _colour(self, token: str) -> RichColor:
        return Color.parse(self._variables[token]).rich_color

    def strip(self, spans: Spans, width: int, ground: str) -> Strip:
        """A line of exactly `width` cells."""
        texts: list[tuple[str, Style]] = []
        cells = width_of(spans)
        for text, ink, bold in (*spans, Span(" " * (width - cells))) if cells < width else spans:
            style = self.style(ink, ground, bold=bold)
            if texts and texts[-1][1] is style:
                texts[-1] = (texts[-1][0] + text, style)
            else:
                texts.append((text, style))
        strip = Strip(itertools.starmap(Segment, texts), max(cells, width))
        return strip if cells <= width else strip.adjust_cell_length(width)
