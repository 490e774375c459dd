"""A tree that is fed ten times a second, folds what is finished, and repaints only the lines that changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType

from screens.render.layout import (
    Column,
    Span,
    Spans,
    width_of,
)
from screens.render.tree_outline import (
    Branch,
    OutlineSource,
    added_line,
    ancestors,
    no_longer_last,
    outline,
)
from screens.widgets.line_list import ColumnList

_MOST_ADDED: Final = 200
"""Nodes that are put among the lines one by one; where more came, all lines are worked out again."""

_MOST_MADE: Final = 400
"""Lines that are kept: more than a screen has."""


class NodeTree(ColumnList):
    """The first column carries rails and the sign of folding. What the user folded or unfolded stays so."""

    BINDING_GROUP_TITLE = "Tree"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Read on", id="tree.open"),
        Binding("right,l", "unfold", "Unfold", show=False, id="tree.unfold"),
        Binding("left,h", "fold", "Fold", show=False, id="tree.fold"),
        Binding("space", "toggle_fold", "Fold or unfold", show=False, id="tree.toggle"),
    ]

    _tree: OutlineSource | None = None
    _lines: dict[str, Branch]
    _chosen: Mapping[str, bool] = MappingProxyType({})
    """What the user folded (True) or unfolded."""
    _shape: object = None
    _shown_whole: OutlineSource | None = None
    """The tree as it was when all lines in sight were last compared with what is painted."""
    _kept_open: frozenset[str] = frozenset()
    """What did not fold by itself when all lines were worked out: the cursor stood in it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lines = {}
        self._made: dict[str, tuple[object, Spans]] = {}
        """Lines as they were last, each with all that it was made of."""

    def show(self, tree: OutlineSource, columns: Sequence[Column] | None = None) -> None:
        """Show the tree as it is by now, in other columns if they are given. Its lines are worked out again only if its
        shape is another.
        """
        self._tree = tree
        if columns is not None and self.set_columns(columns):
            self._shown_whole = None
        shape = tree.shape()
        changed = tree.changed_since(self._shown_whole) if shape == self._shape else None
        if changed is not None:
            self.repaint_changed(index for index in self.lines_in_sight if changed(self.keys[index]))
            return
        self._shown_whole = tree
        if shape == self._shape:
            self.repaint_changed()
            return
        added = tree.added_since(self._shape) if self._lines else None
        self._shape = shape
        if added is None or len(added) > _MOST_ADDED or self._open_by_cursor(tree) != self._kept_open:
            self._outline()
        else:
            self.insert_lines(self._added_lines(tree, added))

    def reveal(self, key: str, *, by_operator: bool = True) -> bool:
        """Unfold what hides `key` and put the cursor on it. False if the tree does not have it."""
        if self._tree is None:
            return False
        above = ancestors(self._tree, key)
        if key not in self._lines:
            self._chosen = {**self._chosen, **dict.fromkeys(above, False)}
            self._outline()
        return self.go_to(key, by_operator=by_operator)

    def _outline(self, cursor_key: str = "") -> None:
        tree = self._tree
        if tree is None:
            return
        here = cursor_key or self.cursor_key
        above = ancestors(tree, here) if here else []
        self._kept_open = frozenset(above)
        lines = outline(tree, self._chosen, glyphs=self._glyphs, keep_open=self._kept_open)
        self._lines = {line.key: line for line in lines}
        target = here if here in self._lines else next((key for key in above if key in self._lines), "")
        self.replace_lines([line.key for line in lines], target)

    def _open_by_cursor(self, tree: OutlineSource) -> frozenset[str]:
        return frozenset(ancestors(tree, self.cursor_key) if self.cursor_key else ())

    def _added_lines(self, tree: OutlineSource, added: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Where nodes that came have their lines; those in folded parts have none."""
        for key in added:
            above, before = tree.parent(key), tree.sibling_before(key)
            parent = self._lines.get(above)
            if above and (parent is None or self._folded(tree, parent)):
                continue
            index = self._end_of(before) if before else self.index_of(above) + 1
            self._lines[key] = added_line(self._lines.get(above), key, self._glyphs)
            yield index, key

    def _folded(self, tree: OutlineSource, line: Branch) -> bool:
        """Whether a line that has a child more is folded; it is foldable now."""
        if not line.foldable:
            folded = self._chosen.get(line.key, line.key not in self._kept_open and tree.folded_at_first(line.key))
            self._lines[line.key] = line = line._replace(foldable=True, folded=folded)
        return line.folded

    def _end_of(self, key: str) -> int:
        """The index behind a line and all below it, which get the rails of one that is not the last."""
        first = self.index_of(key)
        depth = self._lines[key].depth
        index = first
        while index < len(self.keys) and (index == first or self._lines[self.keys[index]].depth > depth):
            self._lines[self.keys[index]] = no_longer_last(self._lines[self.keys[index]], depth, self._glyphs)
            index += 1
        return index

    def spans_at(self, index: int, width: int) -> Spans:
        if self._tree is None:
            return ()
        key = self.keys[index]
        line, fresh = self._lines[key], self._tree.fresh(key)
        facts = (self._tree.facts(key), line, fresh, width, self._columns)
        made = self._made.get(key)
        if made is None or made[0] != facts:
            if len(self._made) > _MOST_MADE:
                self._made.clear()
            cells = self._tree.row(key, facts[0]).cells
            cells = ((*self._before(line), *cells[0]), *cells[1:])
            mark = Span(self._glyphs.fresh, "ink-accent") if fresh else Span(" ")
            made = self._made[key] = (facts, self.line_of(mark, cells, width))
        return made[1]

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
        self._chosen = {**self._chosen, key: folded}
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
