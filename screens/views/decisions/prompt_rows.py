"""How a prompt shares the rows of the screen: what one decides from, the choices, what the marked one will do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from screens.render.layout import Spans
from screens.views.decisions.prompt_block import Block
from screens.views.decisions.prompt_call import FOLDED_ROWS
from screens.views.decisions.prompt_lines import fitting_lines, rows_of, without_model, without_origin

MAX_OUTCOME_ROWS: Final = 3
"""Rows below the choices that say what the marked one will do."""
_FRAME_ROWS: Final = 6
"""Rows of a run's screen beside its panes, the text and the choices: crumbs, head, rule, hint, notice, keys."""
_TREE_ROWS: Final = 6
"""Rows of the panes above, with their rule, while the model's line is shown."""
_LEAST_TREE_ROWS: Final = 2
"""Rows of the panes above, with their rule, in any case; one more while there is no notice."""


class PromptSpace(NamedTuple):
    """What stands around a prompt on its screen.

    Attributes:
        explained: whether the prompt has the explanation; not where a page in place of the nodes has it.
        beside: whether a page with the full report stands beside the nodes.
        head_rows: rows of the screen that its head has beyond its line: of the tour, or of a graph.
    """

    explained: bool = True
    beside: bool = False
    head_rows: int = 0


class PromptRows(Struct, frozen=True):
    """The rows of one prompt on one screen.

    Attributes:
        screen_rows: the height of the screen, without what its head has beyond its line.
        text_width: cells of a line of what one decides from.
        choice_rows: lines that all choices need.
        outcome_rows: lines below them that say what the marked one will do.
        chooses: whether a choice is made: nothing is typed or confirmed.
        beside: whether a page stands beside the panes above, which keeps its rows.
    """

    screen_rows: int
    text_width: int
    choice_rows: int
    outcome_rows: int
    chooses: bool
    beside: bool

    @property
    def for_choices(self) -> int:
        """Rows that the choices get; the rest is scrolled to."""
        return min(max(1, self.choice_rows), max(2, self.screen_rows // 3))

    @property
    def for_text(self) -> int:
        """Rows that are left for what one decides from while the panes above have as few as may be."""
        return self._left_beside(_LEAST_TREE_ROWS)

    def _left_beside(self, tree: int) -> int:
        if not self.chooses:
            return self.screen_rows // 4 + 1
        left = self.screen_rows - _FRAME_ROWS - tree - self.for_choices - self.outcome_rows
        return max(1, min(left, self.screen_rows // 3) if self.beside else left)

    def has_room(self, blocks: Sequence[Block]) -> bool:
        """Whether all choices, and the blocks that one decides from, are in sight."""
        needed = rows_of(without_origin(blocks), self.text_width)
        return self.choice_rows <= self.for_choices and needed <= self.for_text

    def spare(self, blocks: Sequence[Block]) -> int:
        """Rows that are left beside the blocks without the model's line; below 0: that are missing."""
        return self.for_text - rows_of(without_model(blocks), self.text_width)

    def fitting(self, blocks: Sequence[Block]) -> list[Spans]:
        """The lines that are shown. What is least needed is left out before anything has to be scrolled to: the model's
        line before the tree beside the prompt gets smaller, the rest after that.
        """
        if rows_of(blocks, self.text_width) > self._left_beside(_TREE_ROWS):
            blocks = without_model(blocks)
        return fitting_lines(blocks, self.text_width, self.for_text)

    def more_fold_rows(self, blocks: Sequence[Block], blocks_with: Callable[[int], Sequence[Block]]) -> int:
        """How many more rows each long argument can have. Each try costs: it is bisected.

        Args:
            blocks: what is shown while each has `FOLDED_ROWS`.
            blocks_with: the blocks with so many rows for each.
        """
        fits, too_many = 0, self.spare(blocks) // sum(each.folds for each in blocks) + 1
        more = too_many - 1  # mostly there is room for all of it
        while fits < more:
            if self.spare(blocks_with(FOLDED_ROWS + more)) >= 0:
                fits = more
            else:
                too_many = more
            more = (fits + too_many) // 2
        return fits


class FoldRoom:
    """Remembers how many more rows each long argument has: that holds as long as there is as much room."""

    def __init__(self) -> None:
        self._room: object = None
        self._more = 0

    def more_rows(
        self, shown: str, rows: PromptRows, blocks: Sequence[Block], blocks_with: Callable[[int], Sequence[Block]]
    ) -> int:
        """`PromptRows.more_fold_rows` of what is shown under the name `shown`."""
        room = (shown, rows.text_width, rows.spare(blocks))
        if self._room != room:
            self._room, self._more = room, rows.more_fold_rows(blocks, blocks_with)
        return self._more
