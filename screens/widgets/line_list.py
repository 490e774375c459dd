"""The base of live lists and trees: lines with keys, and a cursor that stays on its key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, repeat
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from screens.render.glyphs import UNICODE_GLYPHS, Glyphs
from screens.render.layout import Column, Span, Spans, fit_columns, set_line, span
from screens.widgets.line_view import LineView

_MOST_INSERTED: Final = 256
"""Lines that may have come before all places are worked out again: until then a place is counted on."""


class LineList(LineView, can_focus=True):
    """Lines with stable keys. The cursor belongs to a key, not to a position: lines that come and go do not move it."""

    BINDING_GROUP_TITLE = "List"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", show=False, id="list.down"),
        Binding("up,k", "move(-1)", "Up", show=False, id="list.up"),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", show=False, id="list.page_down"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="list.page_up"),
        Binding("home", "edge(-1)", "First", show=False, id="list.first"),
        Binding("end", "edge(1)", "Last", show=False, id="list.last"),
        Binding("enter", "choose", "Open", id="list.open"),
    ]

    class Moved(Message):
        """The cursor stands on another key (empty: on none). `by_operator`: the operator put it there, and not what
        came or went among the lines.
        """

        def __init__(self, lines: LineList, key: str, by_operator: bool) -> None:
            super().__init__()
            self.lines = lines
            self.key = key
            self.by_operator = by_operator

        @property
        def control(self) -> LineList:
            return self.lines

    class Chosen(Message):
        """Enter, or a click on the line under the cursor."""

        def __init__(self, lines: LineList, key: str) -> None:
            super().__init__()
            self.lines = lines
            self.key = key

        @property
        def control(self) -> LineList:
            return self.lines

    def __init__(self, *, empty: str = "", id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._keys: list[str] = []
        self._places: dict[str, tuple[int, int]] = {}
        """Of each key the index of its line, and how many of `_inserted` were there already; empty: not yet made."""
        self._inserted: list[int] = []
        """Where lines came since, in their order: each moved those from its index on."""
        self._cursor = -1
        self.empty = empty
        """Shown where there are no lines; ours, not foreign text."""

    # -- what a kind of list says ----------------------------------------------------------------------------

    def spans_at(self, index: int, width: int) -> Spans:
        """What stands on the line of a key."""
        raise NotImplementedError

    def selectable(self, index: int) -> bool:
        """Whether the cursor may stand on a line."""
        return 0 <= index < len(self._keys)

    # -- keys and cursor -------------------------------------------------------------------------------------

    @property
    def keys(self) -> Sequence[str]:
        return self._keys

    @property
    def cursor_key(self) -> str:
        """The key under the cursor; empty if there is none."""
        return self._keys[self._cursor] if 0 <= self._cursor < len(self._keys) else ""

    @property
    def cursor_line(self) -> int:
        return max(0, self._cursor)

    @property
    def lines_in_sight(self) -> range:
        """The indexes of the lines that are in sight."""
        top = self.scroll_offset.y
        return range(top, min(top + self.visible_size.height, len(self._keys)))

    def index_of(self, key: str) -> int:
        """-1 if the key is not among the lines."""
        if not self._places or len(self._inserted) > _MOST_INSERTED:
            self._places = dict(zip(self._keys, zip(range(len(self._keys)), repeat(0)), strict=False))
            self._inserted = []
        index, known = self._places.get(key, (-1, 0))
        if index < 0:
            return -1
        for at in islice(self._inserted, known, None):
            index += at <= index
        return index

    def go_to(self, key: str, *, by_operator: bool = True) -> bool:
        """Put the cursor on a key and bring it into sight. False if it is not there."""
        index = self.index_of(key)
        if index < 0 or not self.selectable(index):
            return False
        self._put_cursor(index, by_operator=by_operator)
        return True

    def replace_lines(self, keys: Sequence[str], cursor_key: str = "") -> None:
        """New lines. The cursor stays on its key (or goes to `cursor_key`, if that is there), at the same height of the
        screen; if its key is gone, it stays where it was.
        """
        before = self.cursor_key
        height = self._cursor - self.scroll_offset.y
        if keys != self._keys:
            self._keys = list(keys)
            self._places, self._inserted = {}, []
            index = next((at for key in (cursor_key, before) if key and (at := self.index_of(key)) >= 0), -1)
            if index < 0 and self._cursor >= 0:
                index = self._nearest(min(self._cursor, len(self._keys) - 1))
            elif index < 0:
                index = self._nearest(0)
            moved = index - self._cursor if self._cursor >= 0 else 0
            self._cursor = index
            self._lines_moved(moved, height)
        self.repaint_changed()
        if self.cursor_key != before:
            self.post_message(self.Moved(self, self.cursor_key, by_operator=False))

    def insert_lines(self, lines: Iterable[tuple[int, str]]) -> None:
        """A line more at each index, which is asked for when the line before is in its place. The cursor stays on its
        key, at the same height of the screen.
        """
        height, before = self._cursor - self.scroll_offset.y, self._cursor
        for index, key in lines:
            if self._places:
                if index < len(self._keys):
                    self._inserted.append(index)
                self._places[key] = (index, len(self._inserted))
            self._keys.insert(index, key)
            self._cursor += index <= self._cursor
        self._lines_moved(self._cursor - before, height)
        self.repaint_changed()

    def _lines_moved(self, moved: int, height: int) -> None:
        """There are more or fewer lines, and the cursor's moved: let it stand at `height` again if it was in sight."""
        self.set_line_count(len(self._keys))
        if moved and self._in_view(height) and self.scroll_offset.y + moved >= 0 and self.scroll_offset.y > 0:
            self.scroll_to(y=self.scroll_offset.y + moved, animate=False, force=True)

    def _in_view(self, height: int) -> bool:
        return 0 <= height < max(1, self.visible_size.height)

    def _nearest(self, index: int) -> int:
        """The selectable line nearest to `index`, downwards first; -1 if there is none."""
        below = next((at for at in range(max(0, index), len(self._keys)) if self.selectable(at)), -1)
        if below >= 0:
            return below
        return next((at for at in range(index, -1, -1) if self.selectable(at)), -1)

    def _put_cursor(self, index: int, *, by_operator: bool = True) -> None:
        before = self._cursor
        if index != before:
            self._cursor = index
            self.post_message(self.Moved(self, self.cursor_key, by_operator))
        self._bring_into_sight(index)
        self.repaint_changed((before, index))

    def _bring_into_sight(self, index: int) -> None:
        """Scroll as little as needed; the first selectable line takes the heading above it along."""
        height = self.visible_size.height
        top = self.scroll_offset.y
        if not height:
            return
        first = index
        while first > 0 and not self.selectable(first - 1):
            first -= 1
        if first < top:
            self.scroll_to(y=max(first, index - height + 1), animate=False, force=True)
        elif index >= top + height:
            self.scroll_to(y=index - height + 1, animate=False, force=True)

    # -- painting --------------------------------------------------------------------------------------------

    def line_at(self, index: int, width: int) -> tuple[Spans, str]:
        """The line of a key, on the ground of the cursor where that stands."""
        if index >= len(self._keys):
            said = self.empty.split("\n") if not self._keys else []
            return (span(f" {said[index]}", "ink-muted") if index < len(said) else (), self.GROUND)
        ground = self.GROUND if index != self._cursor else "row-cursor" if self.has_focus else "row-cursor-idle"
        return (self.spans_at(index, width), ground)

    # -- keys and mouse --------------------------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        index = self._cursor + step
        while 0 <= index < len(self._keys) and not self.selectable(index):
            index += step
        if 0 <= index < len(self._keys):
            self._put_cursor(index)
        elif self._keys and step < 0:
            self.scroll_home(animate=False)

    def action_page(self, direction: int) -> None:
        if self._keys:
            step = max(1, self.visible_size.height - 1) * direction
            self._put_cursor(self._nearest(max(0, min(len(self._keys) - 1, self._cursor + step))))

    def action_edge(self, direction: int) -> None:
        if self._keys:
            self._put_cursor(self._nearest(0 if direction < 0 else len(self._keys) - 1))
            if direction < 0:
                self.scroll_home(animate=False)

    def action_choose(self) -> None:
        if self.cursor_key:
            self.post_message(self.Chosen(self, self.cursor_key))

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; one on the cursor's line chooses it. The click that brings the focus only moves."""
        index = self.line_under(event)
        if not self.selectable(index):
            return
        if index == self._cursor and not self.press_brought_focus:
            self.action_choose()
        else:
            self._put_cursor(index)

    def on_resize(self) -> None:
        if self._cursor >= 0:
            self._bring_into_sight(self._cursor)


_MARK_CELLS = 2
"""The mark before a line, and a blank behind it."""


class ColumnList(LineList):
    """Columns that fit the width, with a mark before each line."""

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        empty: str = "",
        glyphs: Glyphs = UNICODE_GLYPHS,
        id: str | None = None,  # noqa: A002 - Textual's name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(empty=empty, id=id, classes=classes)
        self._columns = tuple(columns)
        self._glyphs = glyphs
        self._widths: tuple[int, tuple[int, ...]] = (-1, ())
        self.empty_columns: frozenset[int] = frozenset()
        """Where columns stand that have no room here: no line has anything in them."""

    def leave_out(self, columns: frozenset[int]) -> None:
        """Give these columns no room."""
        if columns != self.empty_columns:
            self.empty_columns, self._widths = columns, (-1, ())

    def set_columns(self, columns: Sequence[Column]) -> bool:
        """Whether these are other columns than before."""
        if tuple(columns) == self._columns:
            return False
        self._columns, self._widths = tuple(columns), (-1, ())
        return True

    def width_of(self, columns: Sequence[Column], index: int) -> int:
        """The cells that one of `columns` would have here."""
        return fit_columns(columns, max(0, self.visible_size.width - _MARK_CELLS))[index]

    def line_of(self, mark: Span, cells: Sequence[Spans], width: int) -> Spans:
        """A line of `width` cells."""
        if self._widths[0] != width:
            self._widths = (width, fit_columns(self._columns, width - _MARK_CELLS, self.empty_columns))
        return (mark, *set_line(self._columns, self._widths[1], cells, self._glyphs.ellipsis))
