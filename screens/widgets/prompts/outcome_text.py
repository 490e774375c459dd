"""The lines below the choices: what the marked one will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.binding import BindingType

from screens.render.layout import Span, Spans, span
from screens.views.decisions.prompt_choices import LATER_OPTION, PROPOSED_MARK, PromptChoice
from screens.views.decisions.prompt_lines import line_rows
from screens.views.decisions.prompt_rows import MAX_OUTCOME_ROWS
from screens.widgets.prompts.option_columns import OptionColumns
from screens.widgets.text_page import TextPage

_LEAST_SCREEN_ROWS: Final = 12
"""A screen with fewer rows has none for it."""
_HOW_TO_MARK: Final = "up and down mark an option; this line then says what it does; enter takes it."


class OutcomeText(TextPage, can_focus=False):
    """Explains a choice of `options`, as far as its own row does not."""

    GROUND: ClassVar[str] = "panel"
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, options: OptionColumns) -> None:
        super().__init__()
        self._options = options

    def explain(self, choice: PromptChoice) -> None:
        """Say what a choice will do."""
        self.show(self._sentences(choice), f"{choice.key} {choice.option}")

    @property
    def rows(self) -> int:
        """The rows that the longest of the choices needs: they stay while the cursor moves. None on a tiny screen."""
        if self.screen.size.height < _LEAST_SCREEN_ROWS:
            return 0
        found = (line_rows(self._sentences(each), self._text_width) for each in self._options.choices)
        return min(MAX_OUTCOME_ROWS, max(found, default=0))

    def _sentences(self, choice: PromptChoice) -> list[Spans]:
        """What the choice will do; beside that to decide later what the proposed one will do, else how to have an
        option explained: one that is not proposed must not look as if it were.
        """
        shown = [choice]
        if choice.option == LATER_OPTION:
            shown += [each for each in self._options.choices if each.starred][:1]
        said = [line for each in shown for line in self._outcome_of(each, beside=each is not choice)]
        if choice.option == LATER_OPTION and len(shown) == 1 and len(self._options.choices) > 1:
            said.append(span(_HOW_TO_MARK, "ink-muted"))
        return said if line_rows(said, self._text_width) <= MAX_OUTCOME_ROWS else said[-1:]

    def _outcome_of(self, choice: PromptChoice, *, beside: bool) -> Sequence[Spans]:
        """Nothing where the choice's own row says it whole. `beside`: another one is marked, this one is proposed."""
        if not choice.outcome or self._options.says_whole(choice):
            return ()
        key = "esc" if choice.key == "escape" else choice.key
        named = f"{PROPOSED_MARK} {key}" if beside else key
        return [(Span(f"{named:<5}", "ink-key"), Span(choice.outcome))]

    @property
    def _text_width(self) -> int:
        return self.screen.size.width - 2
