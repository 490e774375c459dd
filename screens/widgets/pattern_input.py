"""The input of a pattern, to filter or to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual.widgets import Input

from screens.widgets.line_input import LineInput

FILTER_HINT: Final = "words, or a regular expression; ! hides what matches"


class PatternInput(LineInput):
    """One line, from the text that was in force.

    Args:
        text: what stands there at first.
        typed: is told of every text that stands there.
        done: is called at `enter`.
        hint: what stands there while it is empty.
        id: of the widget.
    """

    def __init__(
        self,
        text: str,
        typed: Callable[[str], None],
        done: Callable[[], None],
        *,
        hint: str = FILTER_HINT,
        id: str = "filter",  # noqa: A002 - Textual's name for it
    ) -> None:
        super().__init__(text, placeholder=hint, compact=True, id=id)
        self._typed = typed
        self._done = done

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()
        self._typed(message.value)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self._done()
