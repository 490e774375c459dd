"""The sort of rows by one column within each group, and the header that shows it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from screens.render.glyphs import Glyphs
from screens.render.layout import (
    Column,
    Row,
    Span,
    Spans,
    fit_columns,
    plain_text,
    set_line,
)

LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Where what has no time yet is sorted."""


class RowSort(Struct, frozen=True):
    """By which column, and whether the other way round. No column: as the view has them."""

    column: str = ""
    reverse: bool = False

    def by_next_column(self, columns: Sequence[Column]) -> RowSort:
        """By the next column that has a name; after the last one, as the view has them."""
        names = ["", *(column.name for column in columns if column.name)]
        at = names.index(self.column) if self.column in names else 0
        return RowSort(names[(at + 1) % len(names)])

    def reversed_order(self) -> RowSort:
        return replace(self, reverse=not self.reverse)


def sorted_rows(rows: Sequence[Row], columns: Sequence[Column], sort: RowSort) -> list[Row]:
    """The rows of each group by `sort`; headings stay where they are, and rows under another follow it, sorted, too.
    Rows that are equal keep their order; those without a value come last, either way. A column is compared by
    `Row.values` where rows have them, else by what stands there.
    """
    at = next((index for index, column in enumerate(columns) if column.name and column.name == sort.column), -1)
    if at < 0 and not sort.reverse:
        return list(rows)
    under: dict[str, list[Row]] = {}
    for row in rows:
        if row.under:
            under.setdefault(row.under, []).append(row)
    found: list[Row] = []
    body: list[Row] = []

    def put() -> None:
        for above in _in_order(body, at, reverse=sort.reverse):
            found.append(above)
            found.extend(_in_order(under.get(above.key, []), at, reverse=sort.reverse))
        body.clear()

    for row in rows:
        if row.heading:
            put()
            found.append(row)
        elif not row.under:
            body.append(row)
    put()
    return found


def _in_order(rows: list[Row], at: int, *, reverse: bool) -> list[Row]:
    if at < 0:
        return rows[::-1]
    known = sorted(
        (row for row in rows if _value(row, at) is not None),
        key=lambda row: _comparable(_value(row, at)),
        reverse=reverse,
    )
    return [*known, *(row for row in rows if _value(row, at) is None)]


def _value(row: Row, at: int) -> Any:
    if row.values:
        return row.values[at]
    return plain_text(row.cells[at]).strip() or None


def _comparable(value: Any) -> tuple[int, Any]:
    """Numbers before words, so that a column may hold both."""
    return (1, value.casefold()) if isinstance(value, str) else (0, value)


def header_line(
    columns: Sequence[Column], width: int, sort: RowSort, glyphs: Glyphs, empty: Collection[int] = ()
) -> Spans:
    """The names of the columns above a list of `width` cells, with a mark at the one that it is sorted by. `empty`:
    where columns stand that have no room.
    """
    cells: list[Spans] = []
    for column in columns:
        chosen = column.name == sort.column and bool(column.name)
        mark = (glyphs.descending if sort.reverse else glyphs.ascending) if chosen else ""
        cells.append((Span(f"{column.name}{mark}", "ink-key" if chosen else "ink-muted"),))
    return set_line(columns, fit_columns(columns, width - 2, empty), cells, glyphs.ellipsis)
