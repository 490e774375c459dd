"""Lines made of pieces, and columns that fit a width. Pure: what a pane paints, before it is painted.

All text in here has passed the gate of `screens.render.sanitize` already.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, overload

from rich.cells import cell_len, set_cell_size

T = TypeVar("T")


class Span(NamedTuple):
    """A piece of a line. `ink` is a token of the theme (`themes.tokens`), as its variable is called."""

    text: str
    ink: str = "ink"
    bold: bool = False


Spans = tuple[Span, ...]

LINK_INK = "ink-key"
"""The ink of what `enter` follows on a page that has links."""
GAP_CELLS = 2
"""Cells between two columns."""
_BOTH_ENDS = 8
"""In less than so many cells two ends are of no use."""


class Column(NamedTuple):
    """One column. `width` is what it needs, in cells; with `grow` it also takes its share of what is left.

    Where there is no room for all, the columns with the highest `drop` go first; those with 0 stay, and shrink. What is
    too long loses its end; with `both_ends` its middle, for an id without its end is not an id; with `ending` what is
    before its last piece loses its end, if that piece is muted: the end of an id, which tells two of one name apart.
    With `optional` it goes where it would be empty in each row.
    """

    name: str
    width: int
    grow: int = 0
    right: bool = False
    drop: int = 0
    both_ends: bool = False
    ending: bool = False
    optional: bool = False


class Deferred(Sequence[T]):
    """What `make` makes of `given`, when it is first looked at: what a list has out of sight costs little."""

    __slots__ = ("_given", "_items", "_make")

    def __init__(self, make: Callable[..., tuple[T, ...]], *given: Any) -> None:
        self._make, self._given = make, given
        self._items: tuple[T, ...] | None = None

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._made()[index]

    def __len__(self) -> int:
        return len(self._made())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._made() == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def _made(self) -> tuple[T, ...]:
        if self._items is None:
            self._items = self._make(*self._given)
        return self._items


class Row(NamedTuple):
    """A row of a list. `key` names what it stands for; a heading cannot be selected.

    `values` are what its columns are sorted by, one each; without them, what stands there is compared. `fault`: it is
    among what is left when only faults are shown. `fold`: whether it hides (True) or shows (False) the rows that are
    `under` its key; None: it has no rows under it. `blank`: which optional columns have nothing here; None: as the
    cells say. It is said where the cells are made for rows in sight only.
    """

    key: str
    cells: Sequence[Spans]
    heading: bool = False
    values: Sequence[Any] = ()
    fault: bool = False
    under: str = ""
    fold: bool | None = None
    blank: frozenset[int] | None = None

    def has(self, index: int) -> bool:
        """Whether something stands in a column."""
        return (
            index not in self.blank if self.blank is not None else len(self.cells) > index and bool(self.cells[index])
        )


class Part(NamedTuple):
    """Rows under one heading, which says how many there are: `how_many`, else as many as are listed."""

    title: str
    ink: str
    rows: Sequence[Row]
    how_many: str = ""


def with_headings(parts: Iterable[Part]) -> list[Row]:
    """Each part under its heading, a gap between two, without those that are empty."""
    rows: list[Row] = []
    for title, ink, found, how_many in parts:
        if not found:
            continue
        if rows:
            rows.append(Row(f"gap:{title}", ((),), heading=True))
        words = (span(f" {title}", ink, bold=True), span(f"  {how_many or len(found)}", "ink-muted"))
        rows += [Row(f"heading:{title}", words, heading=True), *found]
    return rows


def plain_text(spans: Iterable[Span]) -> str:
    """The text alone: what the linear mode prints, what a copy takes along."""
    return "".join(span.text for span in spans)


def span(text: str, ink: str = "ink", *, bold: bool = False) -> Spans:
    """One piece as a whole cell; no pieces for no text."""
    return (Span(text, ink, bold),) if text else ()


def join_spans(parts: Iterable[Spans], between: str = "  ") -> Spans:
    """The parts that are not empty, with `between` between them."""
    found: list[Span] = []
    for part in parts:
        if part:
            if found:
                found.append(Span(between, "ink-muted"))
            found.extend(part)
    return tuple(found)


def width_of(spans: Iterable[Span]) -> int:
    """In cells. Most text is ASCII: each line in sight is measured several times for a frame."""
    return sum([len(piece.text) if piece.text.isascii() else cell_len(piece.text) for piece in spans])


def empty_columns(columns: Sequence[Column], rows: Sequence[Row]) -> frozenset[int]:
    """Where the columns stand that may go because no row has anything in them."""
    optional = [index for index, column in enumerate(columns) if column.optional]
    return frozenset(index for index in optional if not any(row.has(index) for row in rows))


def fit_columns(columns: Sequence[Column], width: int, empty: Collection[int] = ()) -> tuple[int, ...]:
    """The width of each column in `width` cells; 0 for those that had to go, and for those that are `empty`."""
    kept = [index for index in range(len(columns)) if index not in empty]
    while len(kept) > 1 and _cells_needed(columns, kept) > width:
        droppable = [index for index in kept if columns[index].drop]
        if not droppable:
            break
        kept.remove(max(droppable, key=lambda index: (columns[index].drop, index)))
    widths = [columns[index].width if index in kept else 0 for index in range(len(columns))]
    left = width - _cells_needed(columns, kept)
    growing = [index for index in kept if columns[index].grow]
    shares = sum(columns[index].grow for index in growing)
    if left > 0 and growing:
        for index in growing:
            extra = left * columns[index].grow // shares
            widths[index] += extra
        widths[growing[0]] += left - sum(left * columns[index].grow // shares for index in growing)
    for _ in range(-left):  # the widest gives, so that none is lost while another has room
        widest = max(kept, key=lambda index: widths[index])
        widths[widest] = max(1, widths[widest] - 1)
    return tuple(widths)


def _cells_needed(columns: Sequence[Column], kept: Sequence[int]) -> int:
    return sum(columns[index].width for index in kept) + GAP_CELLS * (len(kept) - 1)


def set_line(
    columns: Sequence[Column], widths: Sequence[int], cells: Sequence[Spans], ellipsis: str = "…", *, margin: int = 0
) -> Spans:
    """One line with every cell in its column, after `margin` blanks."""
    line: list[Span] = []
    between = margin
    for column, width, cell in zip(columns, widths, cells, strict=True):
        if not width:
            continue
        if between:
            line.append(Span(" " * between))
        spare = width - width_of(cell)
        if spare < 0:
            shown = cut_middle(cell, width, ellipsis) if column.both_ends else cell
            shown = cut_before(cell, width, ellipsis) if column.ending else shown
            line.extend(fit_spans(shown, width, right=column.right, ellipsis=ellipsis))
        elif spare:
            blank = Span(" " * spare)
            line.extend((blank, *cell) if column.right else (*cell, blank))
        else:
            line.extend(cell)
        between = GAP_CELLS
    return tuple(line)


def fit_spans(spans: Spans, width: int, *, right: bool = False, ellipsis: str = "…") -> Spans:
    """Exactly `width` cells: cut with an ellipsis, or filled with blanks."""
    spare = width - width_of(spans)
    if spare < 0:
        return cut_spans(spans, width, ellipsis)
    if not spare:
        return spans
    blank = Span(" " * spare)
    return (blank, *spans) if right else (*spans, blank)


def cut_spans(spans: Spans, width: int, ellipsis: str = "…") -> Spans:
    """Not more than `width` cells, the loss marked; filled up by a blank where half of a wide character had to go."""
    if width_of(spans) <= width:
        return spans
    if width <= 0:
        return ()
    kept: list[Span] = []
    room = width - 1
    for piece in spans:
        length = cell_len(piece.text)
        if length > room:
            kept.append(piece._replace(text=set_cell_size(piece.text, room) + ellipsis))
            return tuple(kept)
        kept.append(piece)
        room -= length
    return tuple(kept)


def cut_middle(spans: Spans, width: int, ellipsis: str = "…") -> Spans:
    """Not more than `width` cells, by a cut in the middle of the last piece, whose beginning and end stay. As it is
    where that piece would get too little room for two ends.
    """
    width -= width_of(spans[:-1])
    if not spans or width_of(spans[-1:]) <= width or width < _BOTH_ENDS:
        return spans
    *before, piece = spans
    ending = width // 2
    tail = piece.text[-ending:]
    while cell_len(tail) > ending:
        tail = tail[1:]
    head = set_cell_size(piece.text, width - 1 - cell_len(tail))
    return (*before, piece._replace(text=f"{head}{ellipsis}{tail}"))


def cut_before(spans: Spans, width: int, ellipsis: str = "…") -> Spans:
    """Not more than `width` cells, by a cut before the last piece. As it is where that piece is not muted, or
    would leave less than half of the room to what is before it.
    """
    ending = spans[-1:]
    room = width - width_of(ending)
    if len(spans) < 2 or ending[0].ink != "ink-muted" or room < width / 2:
        return spans
    return (*cut_spans(spans[:-1], room, ellipsis), *ending)
