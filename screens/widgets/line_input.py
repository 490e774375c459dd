"""One line to type in, as all inputs of the console have it."""

from __future__ import annotations

from typing import Any

from rich.text import Text
from textual.widgets import Input

from screens.render.sanitize import show_hidden


class LineInput(Input):
    """Shows what a terminal would obey or hide; nothing blinks in it, since nothing moves while nothing happens.

    Textual's writes what was pasted as it is (8.2.8, `Input._value`).
    """

    def __init__(self, value: str = "", **options: Any) -> None:
        super().__init__(value, **options)
        self.cursor_blink = False

    @property
    def _value(self) -> Text:
        text = super()._value
        text.plain = show_hidden(text.plain)
        return text
