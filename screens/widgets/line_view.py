"""A pane of lines that repaints only the lines that changed.

Textual's own DataTable and OptionList repaint themselves whole for one changed cell, which is too much for a terminal
at the far end of a slow line. This one compares what it would paint with what it painted, line by line, and only for
lines in sight; so the number of lines does not matter, and nothing is sent when nothing changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from screens.render.layout import Spans, plain_text, width_of
from screens.widgets.theme_colors import ThemeColors


class LineView(ScrollView, inherit_bindings=False):
    """What is on a line, and on which ground, is for those who inherit from this to say (`line_at`)."""

    EXPORTED: ClassVar[bool] = True
    """Whether its text is what a screen copies and exports."""

    DEFAULT_CSS = """
    LineView {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        background: $surface;
    }
    """

    GROUND: ClassVar[str] = "surface"
    """The token of what lines are written on; the `background` of the style sheet, under its name as a token."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._painted: dict[int, tuple[Spans, str]] = {}
        self._compared: dict[tuple[int, int], tuple[Spans, str]] = {}
        """Lines that a comparison found to have changed, by index and width, until they are painted."""
        self._inks: ThemeColors | None = None
        self._sight = (0, 0)
        """The first line in sight and the width of all, as they are painted."""
        self._focus_is_new = False
        self.press_brought_focus = False
        """Whether the last click was the one that the focus came with: it moves a cursor, and opens nothing."""

    def line_at(self, index: int, width: int) -> tuple[Spans, str]:
        """What stands on a line of `width` cells, and the token of its ground. Also asked for lines after the last."""
        raise NotImplementedError

    @property
    def line_count(self) -> int:
        """How many lines there are, in sight or not."""
        return int(self.virtual_size.height)

    @property
    def cursor_line(self) -> int:
        """The line that the reader points at: the one under the cursor, or the first in sight where there is none."""
        return int(self.scroll_offset.y)

    def plain_lines(self) -> Iterator[str]:
        """All lines as text, as wide as they are shown: what is copied and exported. Where there are none, what stands
        in their place.
        """
        return (self.plain_line(index) for index in range(self.line_count or self.visible_size.height))

    def plain_line(self, index: int) -> str:
        return plain_text(self.line_at(index, self.visible_size.width)[0]).rstrip()

    @property
    def visible_size(self) -> Size:
        """What is in sight, without the scroll bar."""
        return self.scrollable_content_region.size

    def set_line_count(self, count: int) -> None:
        """How many lines there are. The pane is laid out again only if its scroll bar comes or goes by that."""
        size, height = Size(0, count), self.size.height
        if (count > height) != (self.virtual_size.height > height) or not self.is_mounted:
            self.virtual_size = size
        elif size != self.virtual_size:
            self.set_reactive(LineView.virtual_size, size)
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = count
        if self.scroll_y > self.max_scroll_y:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def repaint_changed(self, indexes: Iterable[int] | None = None) -> None:
        """Compare the lines in sight with what was painted, and repaint those that differ. `indexes`: no other lines
        can differ.
        """
        width, height = self.visible_size
        if not self.is_mounted or not width:
            return
        top = self.scroll_offset.y
        in_sight = range(top, top + height)
        looked_at: Iterable[int] = in_sight if indexes is None else filter(in_sight.__contains__, indexes)
        regions: list[Region] = []
        self._compared.clear()
        for index in looked_at:
            before, now = self._painted.get(index), self.line_at(index, width)
            if before != now:
                self._compared[index, width] = now
                first, last = changed_cells(before, now, width)
                regions.append(Region(first, index - top, last - first, 1))
        if regions:
            self.refresh(*regions)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The visible part. Where it begins and how wide it is, is asked once for all its lines."""
        self._sight = self.scroll_offset.y, self.visible_size.width
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """One line of the visible part, as Textual's line API wants it."""
        if self._inks is None:
            self._inks = ThemeColors(self.app.theme_variables)
        if len(self._painted) > 4 * max(50, self.size.height):
            self._painted.clear()
        top, width = self._sight
        index = y + top
        found = self._compared.pop((index, width), None) or self.line_at(index, width)
        spans, ground = self._painted[index] = found
        return self._inks.strip(spans, width, ground)

    # -- mouse -----------------------------------------------------------------------------------------------

    def line_under(self, event: events.MouseEvent) -> int:
        """The line that the mouse points at, in sight or not; -1 on a border, which is not a line."""
        at = event.get_content_offset(self)
        return -1 if at is None else at.y + self.scroll_offset.y

    def on_focus(self) -> None:
        """A press of the mouse that brought the focus is the next message: it is not meant for what it hits."""
        self._focus_is_new = True
        self.call_later(self._note_focus)

    def on_mouse_down(self) -> None:
        self.press_brought_focus, self._focus_is_new = self._focus_is_new, False

    def _note_focus(self) -> None:
        self._focus_is_new = False

    def notify_style_update(self) -> None:
        """Perhaps the theme changed. Where the focus came or went it is the same: what was painted stands."""
        if self._inks is not None and not self._inks.are_of(self.app.theme_variables):
            self._inks = None
            self._painted.clear()
            self._compared.clear()
        super().notify_style_update()


def changed_cells(before: tuple[Spans, str] | None, now: tuple[Spans, str], width: int) -> tuple[int, int]:
    """From which cell on, and up to which, a line of `width` cells is another one: where a second hand moves, a few
    bytes go to the terminal and not the line. Whole pieces: none is cut, and so no wide letter is.
    """
    if before is None or before[1] != now[1]:
        return 0, width
    old, new = before[0], now[0]
    shorter = min(len(old), len(new))
    same = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - same) if old[-1 - at] != new[-1 - at]), shorter - same)
    first, changed = width_of(new[:same]), width_of(new[same : len(new) - tail])
    if width_of(old[same : len(old) - tail]) != changed:  # what stands behind the change has moved
        return min(first, width), width
    last = min(first + changed, width)
    return (first, last) if first < last else (0, width)
