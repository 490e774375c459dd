"""A tree that is fed ten times a second, folds what is finished, and repaints only the lines that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from screens.render.glyphs import UNICODE_GLYPHS, Glyphs
from screens.render.layout import (
    Column,
    Span,
    Spans,
    fit_columns,
    set_line,
    width_of,
)
from screens.render.tree_outline import (
    Branch,
    OutlineSource,
    ancestors,
    outline,
)
from screens.widgets.line_list import LineList


class NodeTree(LineList):
    """The first column carries rails and the sign of folding. What the user folded or unfolded stays so."""

    BINDING_GROUP_TITLE = "Tree"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Read on", id="tree.open"),
        Binding("right,l", "unfold", "Unfold", show=False, id="tree.unfold"),
        Binding("left,h", "fold", "Fold", show=False, id="tree.fold"),
        Binding("space", "toggle_fold", "Fold or unfold", show=False, id="tree.toggle"),
    ]

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        empty: str = "",
        glyphs: Glyphs = UNICODE_GLYPHS,
        id: str | None = None,  # noqa: A002 - Textual's name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(empty=empty, id=id, classes=classes)
        self._columns = tuple(columns)
        self._glyphs = glyphs
        self._tree: OutlineSource | None = None
        self._lines: dict[str, Branch] = {}
        self._chosen: dict[str, bool] = {}
        self._shape: object = None
        self._widths: tuple[int, tuple[int, ...]] = (-1, ())

    def show(self, tree: OutlineSource, columns: Sequence[Column] | None = None) -> None:
        """Show the tree as it is by now, in other columns if they are given. Its lines are worked out anew only if its
        shape is another.
        """
        self._tree = tree
        if columns is not None and tuple(columns) != self._columns:
            self._columns, self._widths = tuple(columns), (-1, ())
        shape = tree.shape()
        if shape != self._shape:
            self._shape = shape
            self._outline()
        else:
            self.repaint_changed()

    def width_of(self, columns: Sequence[Column], index: int) -> int:
        """The cells that one of `columns` would have here."""
        return fit_columns(columns, max(0, self.visible_size.width - 2))[index]

    def reveal(self, key: str) -> bool:
        """Unfold what hides `key` and put the cursor on it. False if the tree does not have it."""
        if self._tree is None:
            return False
        above = ancestors(self._tree, key)
        if key not in self._lines:
            self._chosen.update(dict.fromkeys(above, False))
            self._outline()
        return self.go_to(key)

    def _outline(self, cursor_key: str = "") -> None:
        tree = self._tree
        if tree is None:
            return
        here = cursor_key or self.cursor_key
        above = ancestors(tree, here) if here else []
        lines = outline(tree, self._chosen, glyphs=self._glyphs, keep_open=frozenset(above))
        self._lines = {line.key: line for line in lines}
        target = here if here in self._lines else next((key for key in above if key in self._lines), "")
        self.replace_lines([line.key for line in lines], target)

    def spans_at(self, index: int, width: int) -> Spans:
        key = self.keys[index]
        line = self._lines[key]
        if self._tree is None:
            return ()
        if self._widths[0] != width:
            self._widths = (width, fit_columns(self._columns, width - 2))
        cells = self._tree.row(key).cells
        cells = ((*self._before(line), *cells[0]), *cells[1:])
        mark = Span(self._glyphs.fresh, "ink-accent") if self._tree.fresh(key) else Span(" ")
        return (mark, *set_line(self._columns, self._widths[1], cells, self._glyphs.ellipsis))

    def _before(self, line: Branch) -> Spans:
        sign = (self._glyphs.folded if line.folded else self._glyphs.unfolded) if line.foldable else " "
        rails = (Span(line.rails, "line"),) if line.rails else ()
        return (*rails, Span(f"{sign} ", "ink-muted"))

    # -- folding ---------------------------------------------------------------------------------------------

    def action_unfold(self) -> None:
        """Unfold, or go to the first child."""
        line = self._lines.get(self.cursor_key)
        if line is None or not line.foldable:
            return
        if line.folded:
            self._choose_fold(line.key, folded=False)
        else:
            self.action_move(1)

    def action_fold(self) -> None:
        """Fold, or go to the parent."""
        line = self._lines.get(self.cursor_key)
        if line is None or self._tree is None:
            return
        if line.foldable and not line.folded:
            self._choose_fold(line.key, folded=True)
        elif parent := self._tree.parent(line.key):
            self.go_to(parent)

    def action_toggle_fold(self) -> None:
        line = self._lines.get(self.cursor_key)
        if line is not None and line.foldable:
            self._choose_fold(line.key, folded=not line.folded)

    def _choose_fold(self, key: str, *, folded: bool) -> None:
        self._chosen[key] = folded
        self._outline(key)

    def on_click(self, event: events.Click) -> None:
        """A click on the sign of folding folds."""
        index = self.line_under(event)
        if 0 <= index < len(self.keys):
            line = self._lines[self.keys[index]]
            sign = 1 + width_of((Span(line.rails),))
            if line.foldable and sign <= event.x <= sign + 1:
                event.prevent_default()
                self.go_to(line.key)
                self._choose_fold(line.key, folded=not line.folded)
