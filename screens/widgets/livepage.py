"""Text on a page that scrolls: wrapped to its width, repainted only where it changed, whole or not with a mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from screens.layout import Span, Spans, wrap
from screens.widgets.lineview import LineView


class LivePage(LineView, can_focus=True):
    """Lines of a report or an action. Not a widget for each paragraph: one widget, whatever it holds."""

    BINDING_GROUP_TITLE = "Page"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "line(1)", "Down", show=False, id="page.down"),
        Binding("up,k", "line(-1)", "Up", show=False, id="page.up"),
        Binding("pagedown,space,ctrl+f", "page(1)", "Page down", show=False, id="page.page_down"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="page.page_up"),
        Binding("home", "edge(-1)", "Top", show=False, id="page.first"),
        Binding("end", "edge(1)", "End", show=False, id="page.last"),
    ]

    @dataclass
    class Seen(Message):
        """Another part of the page is in sight. `whole`: all of it has been by now, under this name."""

        page: LivePage
        whole: bool

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id, classes=classes)
        self._source: Sequence[Spans] = ()
        self._shown_name = ""
        self._lines: list[Spans] = []
        self._width = 0
        self.seen_whole = False
        """Whether the reader could have seen the last line of what is shown under this name."""

    def show(self, lines: Sequence[Spans], name: str = "") -> None:
        """Show `lines`. A new `name` means another text, shown from its top; under the same name the place is kept."""
        if name != self._shown_name:
            self._shown_name = name
            self.seen_whole = False
            self.scroll_to(y=0, animate=False, force=True)
        if lines != self._source:
            self._source = list(lines)
            self._lay_out()

    def stands(self, name: str) -> bool:
        """Whether the text of this name is what stands on the screen."""
        return self._shown_name == name and self._width > 0

    @property
    def below(self) -> int:
        """Lines that are still below what is in sight."""
        return max(0, len(self._lines) - self.scroll_offset.y - self.room.height)

    @property
    def lines_needed(self) -> int:
        """The height at which nothing would be hidden."""
        return len(self._lines)

    def _lay_out(self) -> None:
        width = self._width = self.room.width
        if not width:
            return  # not on the screen: laid out when it is, even if it then is as wide as before
        self._lines = [line for source in self._source for line in wrap(source, width - 2)]
        self.set_line_count(len(self._lines))
        self.repaint_changed()
        self._look()

    def line_at(self, index: int, width: int) -> tuple[Spans, str]:
        """A line of the wrapped text."""
        return ((Span(" "), *self._lines[index]) if index < len(self._lines) else (), self.GROUND)

    def _look(self) -> None:
        """Note whether the end has come into sight."""
        if self.room.height and not self.below:
            self.seen_whole = True
        self.post_message(self.Seen(self, self.seen_whole))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolled, by whatever way."""
        super().watch_scroll_y(old_value, new_value)
        self._look()

    def on_resize(self) -> None:
        if self.room.width != self._width:
            self._lay_out()
        else:
            self._look()

    def action_line(self, step: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + step, animate=False)

    def action_page(self, direction: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + direction * max(1, self.room.height - 1), animate=False)

    def action_edge(self, direction: int) -> None:
        self.scroll_to(y=0 if direction < 0 else self.virtual_size.height, animate=False)
