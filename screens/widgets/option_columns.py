"""The options of a prompt in as many columns as fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from screens.render.glyphs import UNICODE_GLYPHS, Glyphs
from screens.render.layout import (
    Span,
    Spans,
    fit_spans,
    plain_text,
    width_of,
)
from screens.widgets.line_view import LineView

if TYPE_CHECKING:
    from screens.views.decisions.prompt import PromptChoice

_KEY_WIDTH = 4
_COLUMN_CELLS = 38
ADVISED_MARK = "*"
"""The mark of what a model advises; the prompt's hint says what it means."""
_KEY_NAMES = {"escape": "esc"}


class Choices(LineView, can_focus=True):
    """A cursor among choices. It begins at the first, which does nothing; `enter` takes the one under it."""

    DEFAULT_CSS = """
    Choices { background: $panel; scrollbar-gutter: auto; }
    """
    GROUND: ClassVar[str] = "panel"

    BINDING_GROUP_TITLE = "Prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "move(1)", "Next choice", show=False, id="prompt.right"),
        Binding("left", "move(-1)", "Previous choice", show=False, id="prompt.left"),
        Binding("down,j", "row(1)", "Choice below", show=False, id="prompt.down"),
        Binding("up,k", "row(-1)", "Choice above", show=False, id="prompt.up"),
        Binding("enter", "take", "Take the marked choice", show=False, id="prompt.take"),
    ]

    @dataclass
    class Taken(Message):
        """Enter on a choice."""

        choice: PromptChoice

    def __init__(self, glyphs: Glyphs = UNICODE_GLYPHS, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._glyphs = glyphs
        self._choices: tuple[PromptChoice, ...] = ()
        self._cursor = 0

    def show(self, choices: Sequence[PromptChoice], *, afresh: bool) -> None:
        """Show these; `afresh` puts the cursor back on the harmless one."""
        if afresh:
            self._cursor = 0
        self._choices = tuple(choices)
        self._cursor = min(self._cursor, max(0, len(choices) - 1))
        self.set_line_count(self.rows)
        self.repaint_changed()

    @property
    def columns(self) -> int:
        return max(1, min(3, self.visible_size.width // _COLUMN_CELLS))

    @property
    def rows(self) -> int:
        """Lines that all choices need at this width."""
        return -(-len(self._choices) // self.columns)

    def line_at(self, index: int, width: int) -> tuple[Spans, str]:
        """The choices of one line; the hint of the marked one stands behind it where there is one column only."""
        rows, columns = self.rows, self.columns
        found: list[Span] = []
        for column in range(columns):
            at = column * rows + index
            if at < len(self._choices) and index < rows:
                cell = self._cell(self._choices[at], marked=at == self._cursor)
                found.extend(fit_spans(cell, width // columns - 1, ellipsis=self._glyphs.ellipsis))
                found.append(Span(" "))
        return (tuple(found), self.GROUND)

    def _cell(self, choice: PromptChoice, *, marked: bool) -> Spans:
        key = _KEY_NAMES.get(choice.key, choice.key)
        sign = self._glyphs.cursor if marked and self.has_focus else " "
        ink = "ink-muted" if choice.refused else "ink-strong" if marked else "ink"
        cell: list[Span] = [
            Span(sign, "line-focus"),
            Span(f"{key:>{_KEY_WIDTH - 1}}", "ink-key", bold=True),
            Span(ADVISED_MARK, "ink-accent", bold=True) if choice.advised else Span(" "),
            Span(choice.label, ink, bold=marked),
        ]
        room = _COLUMN_CELLS - 1 - width_of(tuple(cell))
        hint = choice.refused or choice.hint
        if hint and (self.columns == 1 or len(hint) + 2 <= room):
            cell.append(Span(f"  {hint}", "ink-muted"))
        return tuple(cell)

    @property
    def text(self) -> str:
        """All choices as text, for tests and for the linear mode."""
        return "\n".join(plain_text(self._cell(choice, marked=False)) for choice in self._choices)

    def action_move(self, step: int) -> None:
        self._put(self._cursor + step)

    def action_row(self, step: int) -> None:
        self._put(self._cursor + step)

    def _put(self, index: int) -> None:
        if 0 <= index < len(self._choices):
            self._cursor = index
            self.scroll_to(y=index % max(1, self.rows), animate=False)
            self.repaint_changed()

    def action_take(self) -> None:
        if self._choices:
            self.post_message(self.Taken(self._choices[self._cursor]))

    def on_click(self, event: events.Click) -> None:
        """A click marks; only keys decide."""
        column = min(self.columns - 1, event.x // max(1, self.visible_size.width // self.columns))
        if event.y < self.rows:
            self._put(column * self.rows + event.y + self.scroll_offset.y)

    def on_resize(self) -> None:
        self.set_line_count(self.rows)
