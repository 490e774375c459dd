"""One line to type in, as all inputs of the console have it."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from rich.cells import cell_len
from rich.text import Text
from textual.widgets import Input

from screens.render.sanitize import show_hidden


class LineInput(Input):
    """Shows what a terminal would obey or hide; nothing blinks in it, since nothing moves while nothing happens.

    Textual's writes what was pasted as it is, and measures it as it is (8.2.8): here the cursor and clicks go by what
    is painted.
    """

    def __init__(self, value: str = "", **options: Any) -> None:
        super().__init__(value, **options)
        self.cursor_blink = False

    @property
    def _painted(self) -> str:
        return show_hidden(self.value).replace("\t", "␉")

    @property
    def _value(self) -> Text:
        text = super()._value
        text.plain = self._painted
        return text

    def _position_to_cell(self, position: int) -> int:
        return cell_len(self._painted[:position])

    def _cell_offset_to_index(self, offset: int) -> int:
        cell = offset + self.scroll_offset.x
        return sum(end <= cell for end in accumulate(map(cell_len, self._painted)))
