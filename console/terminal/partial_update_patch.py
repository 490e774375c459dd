"""Patch of Textual: only what changed is painted, and only that is written to the terminal.

Textual 8.2.8 has each widget paint all of its lines that lies between two changed lines of the screen, or below one
that does (`textual/_compositor.py`, `Compositor.render_partial_update`, `_get_renders`). Of each changed line it sends
the cells before the change, too (`ChopsUpdate.render_segments`: "TODO: crop to x extents"). On a run at work every
second moves a clock at the right end of each row: cut on both sides, that is a tenth of the bytes. A test says whether
Textual still has the place that this is put in.
"""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console
from rich.control import Control
from textual import _compositor
from textual.geometry import Region
from textual.strip import Strip


class Piece(NamedTuple):
    """Cells that changed, from `x` on."""

    y: int
    x: int
    strip: Strip


class PartialUpdate(_compositor.CompositorUpdate):
    """What goes to the terminal."""

    def __init__(self, pieces: list[Piece]) -> None:
        self.pieces = pieces

    def render_segments(self, console: Console) -> str:
        """The bytes, as text."""
        return "".join(Control.move_to(x, y).segment.text + strip.render(console) for y, x, strip in self.pieces)


def install_partial_update_patch() -> None:
    """From now on the updates of this process are partial in this sense. Before the app is run."""
    _compositor.Compositor.render_partial_update = _render  # type: ignore[method-assign, assignment]


def _render(compositor: _compositor.Compositor) -> PartialUpdate | None:
    """Widgets from front to back: each cell that changed is that of the first that has it."""
    screen = compositor.size.region
    changed = [part for region in compositor._dirty_regions if (part := region.intersection(screen))]
    compositor._dirty_regions.clear()
    spans: dict[int, list[tuple[int, int]]] = {}
    for y, first, last in compositor._regions_to_spans(changed):
        spans.setdefault(y, []).append((first, last))
    found: list[Piece] = []
    for widget, (region, clip) in compositor.visible_widgets.items():
        shown = region.intersection(clip)
        lines = [y for y in spans if shown.y <= y < shown.bottom and _touches(spans[y], shown)]
        if not lines:
            continue
        painted = Region(shown.x, lines[0], shown.width, lines[-1] + 1 - lines[0])
        strips = widget.render_lines(painted.translate(-region.offset))
        for y in lines:
            found += _take(spans, y, shown, strips[y - lines[0]])
        if not spans:
            break
    return PartialUpdate(sorted(found, key=lambda piece: piece[:2])) if changed else None


def _touches(spans: list[tuple[int, int]], shown: Region) -> bool:
    return any(first < shown.right and shown.x < last for first, last in spans)


def _take(spans: dict[int, list[tuple[int, int]]], y: int, shown: Region, strip: Strip) -> list[Piece]:
    """What a widget has of the spans of a line. They are left without it."""
    found: list[Piece] = []
    left: list[tuple[int, int]] = []
    for first, last in spans[y]:
        start, stop = max(first, shown.x), min(last, shown.right)
        if start >= stop:
            left.append((first, last))
            continue
        found.append(Piece(y, start, strip.crop(start - shown.x, stop - shown.x)))
        left += [(since, until) for since, until in ((first, start), (stop, last)) if since < until]
    if left:
        spans[y] = left
    else:
        del spans[y]
    return found
