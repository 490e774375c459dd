"""Fewer rows: those that a pattern matches, each group with its heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from screens.layout import Row, plain


def matcher(text: str) -> Callable[[str], bool]:
    """Whether a line is meant by `text`: a regular expression, or what stands there if it is none; `!` turns it round.

    Small letters match capitals too, as long as all of them are small.
    """
    inverse, pattern = text.startswith("!"), text.removeprefix("!")
    flags = re.NOFLAG if pattern != pattern.lower() else re.IGNORECASE
    try:
        found = re.compile(pattern, flags)
    except re.error:
        found = re.compile(re.escape(pattern), flags)
    return lambda line: bool(found.search(line)) is not inverse


def filtered(rows: Sequence[Row], text: str) -> list[Row]:
    """The rows that `text` means. Headings, and the gaps between groups, stay where a row is left below them."""
    if not text.removeprefix("!"):
        return list(rows)
    means = matcher(text)
    kept: list[Row] = []
    above: list[Row] = []
    for row in rows:
        if row.heading:
            above = [*(found for found in above if not _says(found)), row] if _says(row) else [row]
        elif means(_says(row)):
            kept += above if kept else [found for found in above if _says(found)]
            above = []
            kept.append(row)
    return kept


def _says(row: Row) -> str:
    return "  ".join(plain(cell) for cell in row.cells).strip()
