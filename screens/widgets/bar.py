"""A bar: one line with something left and something right."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from screens.render.layout import (
    GAP_CELLS,
    Span,
    Spans,
    cut_spans,
    width_of,
)
from screens.render.wrapping import wrap_spans
from screens.widgets.theme_colors import ThemeColors

MARGIN_CELLS: Final = 2
"""Cells of a line that stay empty, at both ends together."""


class Bar(Widget):
    """Repaints only if what it shows is another; the right side stays whole, the left side is cut."""

    DEFAULT_CSS = """
    Bar { height: 1; background: $panel; }
    """

    GROUND: ClassVar[str] = "panel"

    def __init__(self, *, ellipsis: str = "…", id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._ellipsis = ellipsis
        self._left: Spans = ()
        self._right: Spans = ()
        self._inks: ThemeColors | None = None
        self._first: Callable[[], tuple[Spans, Spans]] | None = None

    def show(self, left: Spans, right: Spans = ()) -> None:
        """Show these pieces, which are clean."""
        self._first = None
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.refresh()

    def show_when_painted(self, both: Callable[[], tuple[Spans, Spans]]) -> None:
        """Show what `both` gives when the first frame is painted: how much room there is, is not known before."""
        self._first = both

    @property
    def shown(self) -> Spans:
        """Both sides, for those who print or test."""
        return (*self._left, *self._right)

    def render_line(self, y: int) -> Strip:
        """The line, as Textual's line API wants it."""
        if self._first is not None:
            (self._left, self._right), self._first = self._first(), None
        if self._inks is None:
            self._inks = ThemeColors(self.app.theme_variables)
        width = self.size.width
        right = cut_spans(self._right, max(0, width - MARGIN_CELLS), self._ellipsis)
        room = width - MARGIN_CELLS - width_of(right) - (GAP_CELLS if right else 0)
        left = cut_spans(self._left, max(0, room), self._ellipsis)
        gap = width - MARGIN_CELLS - width_of(left) - width_of(right)
        spans = (Span(" "), *left, Span(" " * max(0, gap)), *right, Span(" "))
        return self._inks.strip(spans, width, self.GROUND)

    def notify_style_update(self) -> None:
        """Perhaps the theme changed."""
        self._inks = None
        super().notify_style_update()


class MessageBar(Bar):
    """Wrapped into as many lines as it needs, up to `MOST`: a remedy that is cut off is of no help."""

    DEFAULT_CSS = """
    MessageBar { height: auto; }
    """
    MAX_LINES: ClassVar[int] = 4

    def show(self, left: Spans, right: Spans = ()) -> None:
        """Show `left`; there is no right side."""
        changed = left != self._left
        super().show(left, right)
        if changed:
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the text needs."""
        return self.rows_in(width)

    def rows_in(self, width: int) -> int:
        """Rows that the text needs in so many cells, as far as it gets them."""
        return min(self.MAX_LINES, max(1, len(wrap_spans(self._left, max(1, width - 2)))))

    def render_line(self, y: int) -> Strip:
        """One of the lines; the last one has what did not fit, cut."""
        if self._inks is None:
            self._inks = ThemeColors(self.app.theme_variables)
        width = max(1, self.size.width - 2)
        rest = wrap_spans(self._left, width)[y:]
        if y == self.size.height - 1 and len(rest) > 1:
            line = cut_spans(tuple(piece for part in rest for piece in (*part, Span(" "))), width, self._ellipsis)
        else:
            line = rest[0] if rest else ()
        return self._inks.strip((Span(" "), *line), self.size.width, self.GROUND)
