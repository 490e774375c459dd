"""The lines below the choices: what the marked one will do."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.binding import BindingType

from screens.render.layout import Span, Spans, span
from screens.views.decisions.prompt_choices import LATER_OPTION, PROPOSED_MARK, PromptChoice
from screens.views.decisions.prompt_hint import mark_words
from screens.views.decisions.prompt_lines import line_rows
from screens.views.decisions.prompt_rows import MAX_OUTCOME_ROWS
from screens.widgets.prompts.option_columns import OptionColumns
from screens.widgets.text_page import TextPage

_LEAST_SCREEN_ROWS: Final = 12
"""A screen with fewer rows has none for it."""


class OutcomeText(TextPage, can_focus=False):
    """Explains a choice of `options`, as far as its own row does not."""

    GROUND: ClassVar[str] = "panel"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, options: OptionColumns, send_key: str) -> None:
        """`send_key`: what sends a form of several lines."""
        super().__init__()
        self._options = options
        self._send_key = send_key

    def explain(self, choice: PromptChoice) -> None:
        """Say what a choice will do."""
        self.show(self._sentences(choice), f"{choice.key} {choice.option}")

    @property
    def rows(self) -> int:
        """The rows that the longest of the choices needs: they stay while the cursor moves. None on a tiny screen."""
        if self.screen.size.height < _LEAST_SCREEN_ROWS:
            return 0
        return min(
            MAX_OUTCOME_ROWS, max((self._rows_of(self._needed(each)) for each in self._options.choices), default=0)
        )

    def _sentences(self, choice: PromptChoice) -> list[Spans]:
        """What is needed, and, of the choice to decide later, where rows are free what the proposed one will do."""
        needed = self._needed(choice)
        if choice.option != LATER_OPTION:
            return needed
        free = self.rows - self._rows_of(needed)
        proposed = [each for each in self._options.choices if each.starred and not self._options.says_whole(each)]
        said = [line for each in proposed[:1] for line in self._outcome_of(each, mark=f"{PROPOSED_MARK} ")]
        if said and self._options.says_outcomes and self._rows_of(said) <= free:
            return [*said, *needed]
        more = span("up, down: more on one option.", "ink-muted")
        return [*needed, more] if free > 0 and not said else needed

    def _needed(self, choice: PromptChoice) -> list[Spans]:
        """What the choice will do, as far as its own row does not say it. Of the one to decide later, which is where
        the mark begins: what the marks mean, and, where rows do not say what they do, what the proposed one will do.
        """
        if choice.option != LATER_OPTION:
            return [] if self._options.says_whole(choice) else self._outcome_of(choice)
        choices = self._options.choices
        proposed = [each for each in choices if each.starred and not self._options.says_outcomes]
        said = [line for each in proposed[:1] for line in self._outcome_of(each, mark=f"{PROPOSED_MARK} ")]
        marks = mark_words(choices, self._options.glyphs, ("enter", self._send_key))
        whole = [*said, marks] if marks else said
        return whole if self._rows_of(whole) <= MAX_OUTCOME_ROWS else said

    def _rows_of(self, lines: list[Spans]) -> int:
        return line_rows(lines, self._text_width)

    @staticmethod
    def _outcome_of(choice: PromptChoice, mark: str = "") -> list[Spans]:
        return [(Span(f"{mark}{choice.key}".ljust(5), "ink-key"), Span(choice.outcome))] if choice.outcome else []

    @property
    def _text_width(self) -> int:
        return self.screen.size.width - 2
