"""Patch of Textual: only widgets with a changed line are painted, and of these only the lines from the first changed
one to the last.

Where two lines of a screen changed, Textual 8.2.8 asks each widget between them, and each that lies below one, for all
of its lines, and drops those that did not change (`textual/_compositor.py`, `Compositor.render_partial_update`,
`_get_renders`). On the page of a run that is a second's clock in the tree and a bar at the top, and all between them.
A test says whether Textual still has the place that this is put in.
"""

from __future__ import annotations

from textual import _compositor
from textual.geometry import Region
from textual.strip import Strip


def install_partial_paint_patch() -> None:
    """From now on unchanged lines are not painted. Before the app is run; more than once does no harm."""
    _compositor.Compositor.render_partial_update = _render_partial_update  # type: ignore[method-assign]


def _render_partial_update(compositor: _compositor.Compositor) -> _compositor.ChopsUpdate | None:
    """As the original, from front to back: a cell belongs to the first widget that has it."""
    screen = compositor.size.region
    dirty = [changed for each in compositor._dirty_regions if (changed := each.intersection(screen))]
    compositor._dirty_regions.clear()
    if not dirty:
        return None
    spans = list(compositor._regions_to_spans(dirty))
    chops: list[dict[int, Strip | None]] = [dict.fromkeys(cuts[:-1]) for cuts in compositor.cuts]
    changed_lines = {y for y, _, _ in spans}
    for widget, (region, clip) in compositor.visible_widgets.items():
        shown = region.intersection(clip)
        changed = [part for each in dirty if (part := each.intersection(shown))]
        if not changed:
            continue
        rows = Region.from_union(changed)
        painted = Region(shown.x, rows.y, shown.width, rows.height)
        strips = widget.render_lines(painted.translate(-region.offset))
        for y, strip in zip(painted.line_range, strips, strict=False):
            if y in changed_lines:
                _fill(chops[y], compositor.cuts[y], shown, strip)
    return _compositor.ChopsUpdate(chops, spans, [cuts[1:] for cuts in compositor.cuts])  # type: ignore[arg-type]


def _fill(line: dict[int, Strip | None], cuts: list[int], shown: Region, strip: Strip) -> None:
    """Put a widget's line where nothing before it stands."""
    own = [cut for cut in cuts if shown.x <= cut <= shown.right]
    for cut, piece in zip(own, strip.divide([cut - shown.x for cut in own[1:]]), strict=False):
        if line[cut] is None:
            line[cut] = piece
