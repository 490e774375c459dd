"""The options of a prompt in as many columns as fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from screens.render.glyphs import UNICODE_GLYPHS, Glyphs
from screens.render.layout import (
    GAP_CELLS,
    Span,
    Spans,
    fit_spans,
    plain_text,
    width_of,
)
from screens.views.decisions.prompt_choices import PROPOSED_MARK, PromptChoice
from screens.widgets.line_view import LineView

_KEY_WIDTH = 4
_COLUMN_CELLS = 38
ADVISED_WORD = " (model)"
"""Behind the label of what a model advises."""
_WIDE_CELLS, _HIGH_ROWS = 100, 32
"""From this size on each choice has a line of its own, with what it will do; below it only where rows are free."""
_LEAST_OUTCOME_CELLS = 70
"""In fewer cells too little of an outcome would stand behind its label."""
_KEY_NAMES = {"escape": "esc"}


class OptionColumns(LineView, can_focus=True):
    """A cursor among choices. It begins at the first, which does nothing; `enter` takes the one under it."""

    DEFAULT_CSS = """
    OptionColumns { background: $panel; scrollbar-gutter: auto; }
    """
    GROUND: ClassVar[str] = "panel"
    EXPORTED: ClassVar[bool] = False

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
        self.glyphs = glyphs
        self._choices: tuple[PromptChoice, ...] = ()
        self._cursor = 0
        self._moved = False
        """The cursor is shown once it was moved: until then the only mark is that of what is proposed."""
        self._has_free_rows = False

    def prepare(self, choices: Sequence[PromptChoice], *, afresh: bool, has_free_rows: bool) -> None:
        """Have these, to be measured and then shown; `afresh` puts the cursor back on the harmless one.
        `has_free_rows`: each has a row of its own, with what it will do.
        """
        self._has_free_rows = has_free_rows
        if afresh:
            self._cursor, self._moved = 0, False
        self._choices = tuple(choices)
        self._cursor = min(self._cursor, max(0, len(choices) - 1))

    def show(self) -> None:
        """Show what was prepared."""
        self.set_line_count(self.rows)
        self.repaint_changed()

    @dataclass
    class Marked(Message):
        """The cursor is on a choice."""

        choice: PromptChoice | None

    @property
    def choices(self) -> Sequence[PromptChoice]:
        """Those that were prepared last."""
        return self._choices

    @property
    def marked(self) -> PromptChoice | None:
        """The choice under the cursor."""
        return self._choices[self._cursor] if self._choices else None

    @property
    def says_outcomes(self) -> bool:
        """Whether each choice has a line of its own that says what it will do."""
        size = self.app.size
        width = self.visible_size.width
        roomy = width >= _WIDE_CELLS and size.height >= _HIGH_ROWS
        free = self._has_free_rows and width >= _LEAST_OUTCOME_CELLS
        return (roomy or free) and any(choice.outcome for choice in self._choices)

    def says_whole(self, choice: PromptChoice) -> bool:
        """Whether the row of a choice says in full what it will do."""
        return self.says_outcomes and width_of((Span(choice.outcome),)) <= self.outcome_cells

    @property
    def columns(self) -> int:
        if self.says_outcomes:
            return 1
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
                cell = self._cell(self._choices[at], marked=self._moved and at == self._cursor)
                found.extend(fit_spans(cell, width // columns - 1, ellipsis=self.glyphs.ellipsis))
                found.append(Span(" "))
        return (tuple(found), self.GROUND)

    def _cell(self, choice: PromptChoice, *, marked: bool) -> Spans:
        sign = self.glyphs.cursor if marked and self.has_focus else " "
        ink = "ink-muted" if choice.refused else "ink-strong" if marked else "ink"
        cell = self._head(choice, sign, ink, marked=marked)
        if choice.outcome and not choice.refused:
            if self.says_outcomes:
                room = max(1, self._label_cells + GAP_CELLS - width_of(tuple(cell)))
                cell += [Span(" " * room), Span(self.wording(choice), "ink" if marked else "ink-muted")]
            return tuple(cell)
        room = _COLUMN_CELLS - 1 - width_of(tuple(cell))
        hint = choice.refused or choice.hint
        if hint and (self.columns == 1 or len(hint) + 2 <= room):
            cell.append(Span(f"  {hint}", "ink-muted"))
        return tuple(cell)

    @property
    def outcome_cells(self) -> int:
        """Cells behind the labels of a row for what the choice will do."""
        return max(0, self.visible_size.width - 1 - self._label_cells - GAP_CELLS)

    def wording(self, choice: PromptChoice) -> str:
        """What a choice will do: the fullest sentence that its row has room for, else the shortest."""
        fitting = (each for each in choice.wordings if width_of((Span(each),)) <= self.outcome_cells)
        return next(fitting, choice.wordings[-1] if choice.wordings else "")

    @property
    def _label_cells(self) -> int:
        """Cells of the longest choice without its outcome."""
        heads = (self._head(each, " ", "ink", marked=False) for each in self._choices)
        return max((width_of(tuple(each)) for each in heads), default=0)

    def _head(self, choice: PromptChoice, sign: str, ink: str, *, marked: bool) -> list[Span]:
        """The key and the label of a choice."""
        key = _KEY_NAMES.get(choice.key, choice.key)
        star = PROPOSED_MARK if choice.starred else ""
        cell: list[Span] = [
            Span(sign, "line-focus"),
            Span(star, "ink-accent", bold=True),
            Span(f"{key:>{_KEY_WIDTH - 1 - len(star)}} ", "ink-key", bold=True),
            Span(choice.shown_label(self.glyphs.opens), ink, bold=marked),
        ]
        if choice.advised:
            cell.append(Span(ADVISED_WORD, "ink-accent"))
        return cell

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
            self._cursor, self._moved = index, True
            self.scroll_to(y=index % max(1, self.rows), animate=False)
            self.repaint_changed()
            self.post_message(self.Marked(self.marked))

    def action_take(self) -> None:
        if self._choices:
            self.post_message(self.Taken(self._choices[self._cursor]))

    def on_click(self, event: events.Click) -> None:
        """A click marks; one on what is marked is `enter`. The second click of a double click is not: it was aimed
        before the choice had explained itself.
        """
        line = self.line_under(event)
        column = min(self.columns - 1, event.x // max(1, self.visible_size.width // self.columns))
        if not 0 <= line < self.rows:
            return
        if column * self.rows + line != self._cursor:
            self._put(column * self.rows + line)
        elif event.chain == 1 and not self.press_brought_focus:
            self.action_take()

    def on_resize(self) -> None:
        self.set_line_count(self.rows)
