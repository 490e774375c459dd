"""One line to type in, as all inputs of the console have it.

Textual 8.2.8 writes what was pasted as it is, and measures it as it is (docs/upstream/input-columns.md).
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from rich.cells import cell_len
from rich.highlighter import Highlighter
from rich.text import Text
from textual.widgets import Input

from screens.render.sanitize import show_hidden


class LineInput(Input):
    """Shows what a terminal would obey or hide; nothing blinks in it, since nothing moves while nothing happens.

    The cursor and clicks go by what is painted.
    """

    def __init__(self, value: str = "", **options: Any) -> None:
        super().__init__(value, highlighter=_ShowHidden(), **options)
        self.cursor_blink = False

    def _position_to_cell(self, position: int) -> int:
        return cell_len(_painted(self.value)[:position])

    def _cell_offset_to_index(self, offset: int) -> int:
        cell = offset + self.scroll_offset.x
        return sum(end <= cell for end in accumulate(map(cell_len, _painted(self.value))))


class _ShowHidden(Highlighter):
    def highlight(self, text: Text) -> None:
        text.plain = _painted(text.plain)


def _painted(value: str) -> str:
    return show_hidden(value).replace("\t", "␉")
