"""The lines of a log, with a cursor that stays at the end while new ones come, until its reader moves it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from screens.render.layout import Spans, cut_spans
from screens.views.lists.log_buffer import LogLine, mark_matches
from screens.views.shared.row_filter import RowFilter
from screens.widgets.line_list import LineList


class LogList(LineList):
    """Follows its end as long as the cursor stands there. It does not follow after a move or a scroll upwards."""

    BINDING_GROUP_TITLE = "Log"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("G", "edge(1)", "Follow", show=False, tooltip="To the end, and follow it", id="log.follow"),
    ]

    @dataclass
    class Followed(Message):
        """It follows its end from now on, or no longer; `top`: the reader came to the first line."""

        lines: LogList
        following: bool
        top: bool

    def __init__(self, *, empty: str = "", ellipsis: str = "…", id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(empty=empty, id=id)
        self._ellipsis = ellipsis
        self._lines: list[LogLine] = []
        self._search = RowFilter()
        self.following = True
        self.unseen = 0
        """Lines that came since it stopped following."""

    def show(self, lines: list[LogLine], *, came: int = 0) -> None:
        """Show these lines, of which the last `came` are new."""
        self._lines = list(lines)
        last = lines[-1].key if lines else ""
        self.unseen = 0 if self.following else self.unseen + came
        self.replace_lines([line.key for line in lines], last if self.following else "")
        if self.following and last:
            self.go_to(last, by_operator=False)

    def search(self, pattern: RowFilter) -> None:
        """Mark what this finds."""
        self._search = pattern
        self.repaint_changed()

    @property
    def cursor_index(self) -> int:
        """The number of the line under the cursor; -1 if there is none."""
        return self.index_of(self.cursor_key) if self.cursor_key else -1

    @property
    def cursor_entry(self) -> LogLine | None:
        at = self.cursor_index
        return self._lines[at] if 0 <= at < len(self._lines) else None

    def go_to_index(self, index: int) -> None:
        """Put the cursor on a line: the reader asked for it."""
        if 0 <= index < len(self._lines):
            self.go_to(self._lines[index].key)
            self._moved()

    def spans_at(self, index: int, width: int) -> Spans:
        return cut_spans(mark_matches(self._lines[index].spans, self._search), width, self._ellipsis)

    # -- the reader moves ------------------------------------------------------------------------------------

    def _moved(self, *, top: bool = False) -> None:
        following = self.cursor_index == len(self._lines) - 1
        if following:
            self.unseen = 0
        if top or following is not self.following:
            self.following = following
            self.post_message(self.Followed(self, following, top))

    def action_move(self, step: int) -> None:
        top = step < 0 and self.cursor_index == 0
        super().action_move(step)
        self._moved(top=top)

    def action_page(self, direction: int) -> None:
        top = direction < 0 and self.cursor_index == 0
        super().action_page(direction)
        self._moved(top=top)

    def action_edge(self, direction: int) -> None:
        super().action_edge(direction)
        self._moved(top=direction < 0)

    def on_click(self, event: events.Click) -> None:
        """The click itself is the list's business."""
        self.call_after_refresh(self._moved)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Who scrolls up wants to read what is there: the cursor comes along, and new lines leave it alone."""
        if self.following and len(self._lines) > 1:
            self.go_to_index(max(0, int(self.scroll_offset.y) + self.visible_size.height // 2 - 1))
