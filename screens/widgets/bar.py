"""One line of a screen: something on the left, something on the right."""

from __future__ import annotations

from typing import ClassVar

from textual.strip import Strip
from textual.widget import Widget

from screens.layout import Span, Spans, cut, width_of
from screens.widgets.inks import Inks


class Bar(Widget):
    """Repaints only if what it shows is another; the right side stays whole, the left side is cut."""

    DEFAULT_CSS = """
    Bar { height: 1; background: $panel; }
    """

    GROUND: ClassVar[str] = "panel"

    def __init__(self, *, ellipsis: str = "…", id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._ellipsis = ellipsis
        self._left: Spans = ()
        self._right: Spans = ()
        self._inks: Inks | None = None

    def show(self, left: Spans, right: Spans = ()) -> None:
        """Show these pieces, which are clean."""
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.refresh()

    @property
    def shown(self) -> Spans:
        """Both sides, for those who print or test."""
        return (*self._left, *self._right)

    def render_line(self, y: int) -> Strip:
        """The line, as Textual's line API wants it."""
        if self._inks is None:
            self._inks = Inks(self.app.theme_variables)
        width = self.size.width
        right = cut(self._right, max(0, width - 2), self._ellipsis)
        left = cut(self._left, max(0, width - 2 - width_of(right) - (2 if right else 0)), self._ellipsis)
        gap = width - 2 - width_of(left) - width_of(right)
        spans = (Span(" "), *left, Span(" " * max(0, gap)), *right, Span(" "))
        return self._inks.strip(spans, width, self.GROUND)

    def notify_style_update(self) -> None:
        """Perhaps the theme changed."""
        self._inks = None
        super().notify_style_update()
