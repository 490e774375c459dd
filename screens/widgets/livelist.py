"""A list of rows in columns that is fed ten times a second and repaints only the lines that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from screens.glyphs import UNICODE, Glyphs
from screens.layout import Column, Row, Spans, fit, set_line
from screens.widgets.livelines import LiveLines


class LiveList(LiveLines):
    """Rows with headings between them. Rows keep the order in which they are given; sorting is a view's business."""

    BINDING_GROUP_TITLE = "List"

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        empty: str = "",
        glyphs: Glyphs = UNICODE,
        id: str | None = None,  # noqa: A002 - Textual's name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(empty=empty, id=id, classes=classes)
        self._columns = tuple(columns)
        self._glyphs = glyphs
        self._rows: Mapping[str, Row] = {}
        self._widths: tuple[int, tuple[int, ...]] = (-1, ())

    def show(self, rows: Sequence[Row]) -> None:
        """Show these rows, whose keys differ from each other."""
        self._rows = {row.key: row for row in rows}
        self.replace_lines([row.key for row in rows])

    @property
    def cursor_row(self) -> Row | None:
        return self._rows.get(self.cursor_key)

    def selectable(self, index: int) -> bool:
        return super().selectable(index) and not self._rows[self.keys[index]].heading

    def spans_at(self, index: int, width: int) -> Spans:
        row = self._rows[self.keys[index]]
        if row.heading:
            return tuple(piece for cell in row.cells for piece in cell)
        if self._widths[0] != width:
            self._widths = (width, fit(self._columns, width - 2))
        return set_line(self._columns, self._widths[1], row.cells, self._glyphs.ellipsis, margin=1)
