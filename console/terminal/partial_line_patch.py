"""Patch of Textual: only the changed part of a line is written to the terminal.

Textual 8.2.8 knows from which cell to which a line changed, and cuts what it sends behind that, but not before it
(`textual/_compositor.py`, `ChopsUpdate.render_segments`: "TODO: crop to x extents"). On a run at work every second
moves a clock at the right end of each row: cut on both sides, that is a tenth of the bytes. A test says whether
Textual still has the place that this is put in.
"""

from __future__ import annotations

from rich.console import Console
from rich.control import Control
from textual import _compositor


def install_partial_line_patch() -> None:
    """From now on the updates of this process are cut on both sides. Before the app is run."""
    _compositor.ChopsUpdate.render_segments = _render  # type: ignore[method-assign, assignment]


def _render(update: _compositor.ChopsUpdate, console: Console) -> str:
    """As the original, but for the cells before the change."""
    found: list[str] = []
    for y, first, last in update.spans:
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is None or x >= last or end <= first:
                continue
            start, stop = max(x, first), min(end, last)
            part = strip if (start, stop) == (x, end) else strip.crop(start - x, stop - x)
            found += (Control.move_to(start, y).segment.text, part.render(console))
    return "".join(found)
