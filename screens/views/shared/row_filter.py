"""The filter of rows: those that match a pattern, each group with its heading.

A pattern is words, all of which a row must have, in any order; or, where it holds one of the signs of regular
expressions that no word has, one regular expression. `!` at its beginning turns it round. Small letters match capitals
too, as long as all of them are small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct

from screens.render.layout import Row, plain_text

_REGEX_SIGNS: Final = frozenset("\\^$*+?{}[]|()")
"""What makes a pattern a regular expression. A dot alone does not: names of files have dots."""


class RowFilter(Struct, frozen=True, dict=True):
    """A pattern as it was typed. One that cannot be read leaves nothing out, and `problem` says why."""

    text: str = ""

    @property
    def inverse(self) -> bool:
        return self.text.startswith("!")

    @property
    def words(self) -> str:
        """The pattern, where it is words only: such can be looked for in what rows do not show. Else empty."""
        text = self.text.strip()
        return "" if self.inverse or _REGEX_SIGNS.intersection(text) else text

    @property
    def active(self) -> bool:
        """Whether it can leave anything out."""
        return self._matcher is not None

    @property
    def problem(self) -> str:
        """Why the pattern is not valid; empty if it is."""
        found = self._compiled
        return found if isinstance(found, str) else ""

    def matches(self, line: str) -> bool:
        """Whether a line is meant; all lines are where the filter is not active."""
        return self._matcher is None or self._matcher(line)

    def find_spans(self, line: str) -> list[tuple[int, int]]:
        """Where in a line it is found, from left to right, none within another; nowhere, if it is turned round."""
        found = self._compiled
        if isinstance(found, str) or self.inverse:
            return []
        spots = sorted((match.start(), match.end()) for each in found for match in each.finditer(line))
        kept: list[tuple[int, int]] = []
        for start, end in spots:
            if end > start and (not kept or start >= kept[-1][1]):
                kept.append((start, end))
        return kept

    @cached_property
    def _compiled(self) -> list[re.Pattern[str]] | str:
        """Expressions all of which have to be found, or why there are none."""
        text = self.text.removeprefix("!").strip()
        flags = re.NOFLAG if text != text.lower() else re.IGNORECASE
        if not _REGEX_SIGNS.intersection(text):
            return [re.compile(re.escape(word), flags) for word in text.split()]
        try:
            return [re.compile(text, flags)]
        except (re.error, OverflowError, RecursionError) as exc:
            return f"not a valid regular expression: {exc}"

    @cached_property
    def _matcher(self) -> Callable[[str], bool] | None:
        found = self._compiled
        if isinstance(found, str) or not found:
            return None
        inverse = self.inverse
        return lambda line: all(each.search(line) for each in found) is not inverse


def filter_rows(
    rows: Sequence[Row], pattern: RowFilter | str, elsewhere: Callable[[Row], bool] | None = None
) -> list[Row]:
    """The rows that a pattern means. What is under another row is also found by that row's key. `elsewhere`: whether
    a row is meant for what it does not show.
    """
    chosen = RowFilter(pattern) if isinstance(pattern, str) else pattern
    if not chosen.active:
        return list(rows)
    if elsewhere is None:
        return matching_rows(rows, lambda row: chosen.matches(searchable_text(row)))
    return matching_rows(rows, lambda row: chosen.matches(searchable_text(row)) or elsewhere(row))


def matching_rows(rows: Sequence[Row], wanted: Callable[[Row], bool]) -> list[Row]:
    """The rows that are wanted. Headings, and the gaps between groups, stay where a row is left below them; so does a
    row that others are under, whatever it says itself.
    """
    chosen = [row.heading or (row.fold is None and wanted(row)) for row in rows]
    above_them = {row.under for row, stays in zip(rows, chosen, strict=True) if stays and row.under}
    found: list[Row] = []
    above: list[Row] = []
    for row, stays in zip(rows, chosen, strict=True):
        if row.heading:
            above = [*(each for each in above if not searchable_text(each)), row] if searchable_text(row) else [row]
        elif stays or row.key in above_them:
            found += above if found else [each for each in above if searchable_text(each)]
            above = []
            found.append(row)
    return found


def searchable_text(row: Row) -> str:
    """What a row is searched for: what stands on it, and the name of what it is under."""
    return "  ".join((*(plain_text(cell) for cell in row.cells), row.under)).strip()
