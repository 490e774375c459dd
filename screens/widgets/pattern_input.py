"""The input of a pattern, to filter or to find."""

from __future__ import annotations

from typing import Final

from textual.widgets import Input

FILTER_HINT: Final = "words, or a regular expression; ! hides what matches"


class PatternInput(Input):
    """One line, from the text that was in force; nothing blinks in it."""

    def __init__(self, text: str, *, hint: str = FILTER_HINT, id: str) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(text, placeholder=hint, compact=True, id=id)
        self.cursor_blink = False
