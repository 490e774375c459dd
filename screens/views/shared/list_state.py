"""The state of a list: filter, order, selection, folds.

Pure, but that it remembers: rows keep their places until some come or go, or until another order is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, field

from screens.render.layout import (
    Column,
    Row,
    Spans,
    join_spans,
    span,
)
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter, filter_rows, matching_rows
from screens.views.shared.row_sort import RowSort, sorted_rows

FRESH_S = timedelta(seconds=60)
"""How long a row that came is marked as new."""


class StableOrder:
    """Keys in an order that is worked out again only if keys came or went, or `renew` was called: what is looked at
    does not move because a number in it changed.
    """

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._known: frozenset[str] = frozenset()
        self._stale = True

    def renew(self) -> None:
        """Sort again at the next look."""
        self._stale = True

    def order(self, keys: Collection[str], ranked: Callable[[], Iterable[str]], *, partial: bool = False) -> list[str]:
        """These keys, as `ranked` had them when it was last asked. `partial`: more are to come; until all are there,
        they stand as they came.
        """
        if partial:
            self._stale = True
            self._keys = [*filter(keys.__contains__, self._keys), *(key for key in keys if key not in self._known)]
            self._known = frozenset(self._keys)
        elif self._stale or len(keys) != len(self._known) or not self._known.issuperset(keys):
            self._keys = list(ranked())
            self._known = frozenset(self._keys)
            self._stale = False
        return self._keys


class ListState(Struct):
    """See the module. `columns` are those that it can be sorted by."""

    columns: Sequence[Column]
    filter: RowFilter = field(default_factory=RowFilter)
    last_filter: str = ""
    """The last one that was in force, to be typed again."""
    sort: RowSort = field(default_factory=RowSort)
    faults_only: bool = False
    selected: set[str] = set()
    found_elsewhere: Callable[[Row], bool] | None = None
    """Whether what a row stands for has the words of the filter where the row does not show it."""
    left_out: int = 0
    """Rows that the filter, or `faults_only`, leaves out."""
    shown: tuple[str, ...] = ()
    """Keys of the rows that are left and stand for one thing each."""
    _folds: dict[str, bool] = {}
    _places: dict[str, int] = {}
    _seen: dict[str, datetime] | None = None

    # -- what is asked of it ---------------------------------------------------------------------------------

    def narrow(self, text: str) -> None:
        """Leave out what this pattern does not mean."""
        if text != self.filter.text:
            self.found_elsewhere = None
        self.filter = RowFilter(text)
        if self.filter.active:
            self.last_filter = text

    def sort_by_next(self) -> None:
        self.sort = self.sort.by_next_column(self.columns)
        self._places.clear()

    def turn(self) -> None:
        self.sort = self.sort.reversed_order()
        self._places.clear()

    def toggle(self, key: str) -> None:
        """Select a row, or no longer."""
        self.selected ^= {key}

    def select_shown(self) -> None:
        """All rows that are shown; none, if all are selected."""
        self.selected = set() if self.selected >= set(self.shown) else set(self.shown)

    def fold(self, key: str, *, folded: bool) -> None:
        self._folds[key] = folded

    def widen(self) -> bool:
        """Take back one thing: the selection, else the filter and `faults_only`. False if there was nothing."""
        if self.selected:
            self.selected = set()
        elif self.filter.text or self.faults_only:
            self.filter, self.faults_only, self.found_elsewhere = RowFilter(), False, None
        else:
            return False
        return True

    @property
    def narrowed(self) -> bool:
        """Whether there is something to take back."""
        return bool(self.selected or self.filter.text or self.faults_only)

    # -- what is shown ---------------------------------------------------------------------------------------

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        """What is left of all rows, in order. What is not there any more is not selected any more either."""
        if self.selected:
            self.selected &= {row.key for row in rows}
        left = matching_rows(rows, lambda row: row.fault) if self.faults_only else list(rows)
        left = filter_rows(left, self.filter, self.found_elsewhere)
        self.left_out = 0 if len(left) == len(rows) else _count_rows(rows) - _count_rows(left)
        left = self._in_places(left)
        self.shown = tuple(row.key for row in left if not row.heading and row.fold is None)
        return self._folded(left)

    def _in_places(self, rows: list[Row]) -> list[Row]:
        """In the chosen order as it was when rows last came or went."""
        if self.sort == RowSort():
            return rows
        if len(rows) != len(self._places) or any(row.key not in self._places for row in rows):
            rows = sorted_rows(rows, self.columns, self.sort)
            self._places = {row.key: place for place, row in enumerate(rows)}
            return rows
        return sorted(rows, key=lambda row: self._places[row.key])

    def _folded(self, rows: list[Row]) -> list[Row]:
        folds = {row.key: self._folds.get(row.key, row.fold) for row in rows if row.fold is not None}
        if not folds:
            return rows
        return [
            row._replace(fold=folds[row.key]) if row.key in folds and folds[row.key] != row.fold else row
            for row in rows
            if not row.under or not folds.get(row.under, False)
        ]

    def fresh(self, rows: Sequence[Row], now: datetime) -> Collection[str]:
        """Keys of the rows that came within `FRESH_SPAN`, but for those that were there at the first look."""
        keys = [row.key for row in rows if not row.heading]
        seen = self._seen
        if seen is None:
            self._seen = dict.fromkeys(keys, datetime.min.replace(tzinfo=now.tzinfo))
        else:
            self._seen = {key: seen.get(key, now) for key in keys}
        end = now - FRESH_S
        return {key for key, since in self._seen.items() if since > end}

    def words(self, context: RenderContext) -> Spans:
        """The filter, what it leaves out, and what is selected, in one line; nothing where nothing is."""
        text = context.sanitize_line(self.filter.text, 60)
        parts = (
            (*span("/", "ink-key"), *span(text, "ink-accent")) if text else (),
            span(context.sanitize_line(self.filter.problem, 120), "severity-error"),
            span("faults only", "state-failed") if self.faults_only else (),
            span(f"{context.count(self.left_out)} left out", "ink-muted")
            if self.faults_only or (text and not self.filter.problem)
            else (),
            span(f"{len(self.selected)} selected", "ink-strong", bold=True) if self.selected else (),
        )
        return join_spans(parts, context.glyphs.dot)


def _count_rows(rows: Iterable[Row]) -> int:
    return sum(not row.heading and row.fold is None for row in rows)


def selected_rows(listing: ListState, cursor: str) -> tuple[str, ...]:
    """What an action is about: what is selected, in the order in which it stands; else what is under the cursor."""
    if listing.selected:
        shown = [key for key in listing.shown if key in listing.selected]
        return (*shown, *sorted(listing.selected.difference(shown)))
    return (cursor,) if cursor else ()
