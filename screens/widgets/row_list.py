"""A list of rows in columns that is fed ten times a second and repaints only the lines that changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from screens.render.layout import Row, Span, Spans
from screens.widgets.line_list import ColumnList


class RowList(ColumnList):
    """Rows with headings between them. Rows keep the order in which they are given; sorting is a view's business, and
    so is what is hidden: the list only says which row is to be folded.
    """

    BINDING_GROUP_TITLE = "List"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "fold(False)", "Unfold", show=False, id="list.unfold"),
        Binding("left,h", "fold(True)", "Fold", show=False, id="list.fold"),
    ]

    class Folded(Message):
        """A row is to hide what is under it, or to show it again."""

        def __init__(self, lines: RowList, key: str, folded: bool) -> None:
            super().__init__()
            self.lines = lines
            self.key = key
            self.folded = folded

        @property
        def control(self) -> RowList:
            return self.lines

    _rows: Mapping[str, Row] = MappingProxyType({})
    _selected: Collection[str] = ()
    _fresh: Collection[str] = ()

    def show(
        self,
        rows: Sequence[Row],
        *,
        selected: Collection[str] = (),
        fresh: Collection[str] = (),
        cursor_key: str = "",
    ) -> None:
        """Show these rows, whose keys differ from each other; with a mark those that are selected, or new. The cursor
        goes to `cursor_key`, if that is there.
        """
        self._rows = {row.key: row for row in rows}
        self._selected, self._fresh = frozenset(selected), frozenset(fresh)
        self.replace_lines([row.key for row in rows], cursor_key)

    @property
    def cursor_row(self) -> Row | None:
        return self._rows.get(self.cursor_key)

    def selectable(self, index: int) -> bool:
        return super().selectable(index) and not self._rows[self.keys[index]].heading

    def spans_at(self, index: int, width: int) -> Spans:
        row = self._rows[self.keys[index]]
        if row.heading:
            return tuple(piece for cell in row.cells for piece in cell)
        return self.line_of(self._mark(row.key), (self._before(row) + row.cells[0], *row.cells[1:]), width)

    def _mark(self, key: str) -> Span:
        if key in self._selected:
            return Span(self._glyphs.chosen, "ink-accent", bold=True)
        return Span(self._glyphs.fresh, "ink-accent") if key in self._fresh else Span(" ")

    def _before(self, row: Row) -> Spans:
        if row.fold is not None:
            return (Span(f"{self._glyphs.folded if row.fold else self._glyphs.unfolded} ", "ink-muted"),)
        return (Span("  "),) if row.under else ()

    # -- folding ---------------------------------------------------------------------------------------------

    def action_fold(self, folded: bool) -> None:
        """Fold or unfold the row under the cursor; from what is under it, folding goes to the row above."""
        row = self.cursor_row
        if row is None:
            return
        if folded and row.under:
            self.go_to(row.under)
        elif row.fold is not None and row.fold is not folded:
            self.post_message(self.Folded(self, row.key, folded))
        elif row.fold is False:
            self.action_move(1)

    def toggle_fold(self) -> None:
        """Fold or unfold the row under the cursor, if others are under it."""
        row = self.cursor_row
        if row is not None and row.fold is not None:
            self.post_message(self.Folded(self, row.key, not row.fold))

    def on_click(self, event: events.Click) -> None:
        """A click on the sign of folding folds."""
        index = self.line_under(event)
        row = self._rows.get(self.keys[index]) if 0 <= index < len(self.keys) else None
        if row is not None and row.fold is not None and event.x in (1, 2):
            event.prevent_default()
            self.go_to(row.key)
            self.post_message(self.Folded(self, row.key, not row.fold))
