"""The cache of rows that were made already.

A list of 10,000 runs is looked at ten times a second; a row is made again only when what it tells of is another, or
when it would say something else by now.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from screens.render.layout import Row
from screens.views.shared.list_state import StableOrder

_Source = TypeVar("_Source")


class RowCache:
    """Rows by key, each with what it was made from and until when it holds; and the order in which they stood."""

    def __init__(self) -> None:
        self.order = StableOrder()
        self._rows: dict[str, tuple[object, datetime, Row]] = {}

    def row(self, key: str, source: _Source, now: datetime, make: Callable[[_Source], tuple[Row, datetime]]) -> Row:
        """The row of `key` as it was made from this `source`, if it still holds; else what `make` makes of it."""
        known = self._rows.get(key)
        if known is not None and now < known[1] and (known[0] is source or known[0] == source):
            return known[2]
        row, until = make(source)
        self._rows[key] = (source, until, row)
        return row

    def forget(self, kept: int) -> None:
        """Let go of what was not asked for lately, if there is more than twice of what is needed."""
        if len(self._rows) > 2 * max(1000, kept):
            self._rows.clear()
