"""The text of a text area, whose lines are wrapped, scrolled and painted as they are shown."""

from __future__ import annotations

from typing import overload

from textual.widgets.text_area import Document, EditResult, Location

from screens.render.sanitize import show_hidden


class PaintedDocument(Document):
    """Its lines are what is painted: each character that is hidden has a visible one in its place, so a place in a line
    is a place in the text. What is edited, copied and sent is the text itself.

    Textual's measures the text (8.2.8): characters without width would hide what stands behind them.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._painted = list(map(show_hidden, super().lines))

    @property
    def lines(self) -> list[str]:
        return self._painted

    @overload
    def __getitem__(self, line_index: int) -> str: ...

    @overload
    def __getitem__(self, line_index: slice) -> list[str]: ...

    def __getitem__(self, line_index: int | slice) -> str | list[str]:
        return self._painted[line_index]

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        result = super().replace_range(start, end, text)
        first, last = sorted((start[0], end[0]))
        self._painted[first : last + 1] = map(show_hidden, super().lines[first : result.end_location[0] + 1])
        return result
