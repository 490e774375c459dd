"""Text on a page that scrolls: wrapped to its width, repainted only where it changed, whole or not with a mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from screens.render.layout import (
    LINK_INK,
    Span,
    Spans,
    plain_text,
    width_of,
)
from screens.render.wrapping import wrap_spans
from screens.widgets.line_view import LineView


class TextPage(LineView, can_focus=True):
    """Lines of a report or an action. Not a widget for each paragraph: one widget, whatever it holds."""

    BINDING_GROUP_TITLE = "Page"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "line(1)", "Down", show=False, id="page.down"),
        Binding("up,k", "line(-1)", "Up", show=False, id="page.up"),
        Binding("pagedown,space,ctrl+f", "page(1)", "Page down", show=False, id="page.page_down"),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False, id="page.page_up"),
        Binding("home", "edge(-1)", "Top", show=False, id="page.first"),
        Binding("end", "edge(1)", "End", show=False, id="page.last"),
        Binding("right,l", "link(1)", "Next reference", show=False, id="page.next_link"),
        Binding("left,h", "link(-1)", "Previous reference", show=False, id="page.previous_link"),
        Binding("enter", "follow", "Follow", tooltip="Follow the reference", id="page.follow"),
    ]

    class Seen(Message):
        """Another part of the page is in sight. `whole`: all of it has been by now, under this name."""

        def __init__(self, page: TextPage, whole: bool) -> None:
            super().__init__()
            self.page = page
            self.whole = whole

    class Followed(Message):
        """A reference is to be followed: its text, as it stands there."""

        def __init__(self, page: TextPage, text: str) -> None:
            super().__init__()
            self.page = page
            self.text = text

    def __init__(self, *, links: bool = False, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id, classes=classes)
        self._has_links = links
        self._links: list[tuple[int, int]] = []
        self._link = -1
        self._source: Sequence[Spans] = ()
        self._shown_name = ""
        self._lines: list[Spans] = []
        self._width = 0
        self.seen_whole = False
        """Whether the reader could have seen the last line of what is shown under this name."""

    def show(self, lines: Sequence[Spans], name: str = "", *, at_end: bool = False) -> None:
        """Show `lines`. A new `name` means another text, shown from its top, or `at_end`; under the same name the place
        is kept. Who has gone to the end stays there while lines come.
        """
        at_end = at_end if name != self._shown_name else self.scroll_offset.y > 0 and not self.lines_below
        if name != self._shown_name:
            self._shown_name = name
            self.seen_whole = False
            self._link = -1
            self.scroll_to(y=0, animate=False, force=True)
        if lines != self._source:
            self._source = list(lines)
            self._lay_out()
            if at_end:
                self.scroll_to(
                    y=max(0, len(self._lines) - self.visible_size.height), animate=False, force=True, immediate=True
                )

    def is_shown(self, name: str) -> bool:
        """Whether the text of this name is what stands on the screen."""
        return self._shown_name == name and self._width > 0

    def plain_lines(self) -> Iterator[str]:
        """As it was written, not as it is wrapped."""
        return (plain_text(line).rstrip() for line in self._source)

    @property
    def lines_below(self) -> int:
        """Lines that are still below what is in sight."""
        return max(0, len(self._lines) - self.scroll_offset.y - self.visible_size.height)

    @property
    def lines_needed(self) -> int:
        """The height at which nothing would be hidden."""
        return len(self._lines)

    def _lay_out(self) -> None:
        width = self._width = self.visible_size.width
        if not width:
            return  # not on the screen: laid out when it is, even if it then is as wide as before
        self._lines = [line for source in self._source for line in wrap_spans(source, width - 2)]
        had = bool(self._links)
        self._links = [
            (at, place)
            for at, line in enumerate(self._lines if self._has_links else ())
            for place, piece in enumerate(line)
            if piece.ink == LINK_INK
        ]
        self._link = min(self._link, len(self._links) - 1)
        if had != bool(self._links):
            self.refresh_bindings()
        self.set_line_count(len(self._lines))
        self.repaint_changed()
        self._note_end_seen()

    def line_at(self, index: int, width: int) -> tuple[Spans, str]:
        """A line of the wrapped text; the reference that is chosen has a sign in place of its bracket."""
        if index >= len(self._lines):
            return (), self.GROUND
        line = self._lines[index]
        if 0 <= self._link < len(self._links) and self._links[self._link][0] == index:
            place = self._links[self._link][1]
            chosen = line[place]._replace(text=f">{line[place].text[1:]}", bold=True)
            line = (*line[:place], chosen, *line[place + 1 :])
        return (Span(" "), *line), self.GROUND

    def _note_end_seen(self) -> None:
        """Note whether the end has come into sight."""
        if self.visible_size.height and not self.lines_below:
            self.seen_whole = True
        self.post_message(self.Seen(self, self.seen_whole))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolled, by whatever way."""
        super().watch_scroll_y(old_value, new_value)
        self._note_end_seen()

    def on_resize(self) -> None:
        if self.visible_size.width != self._width:
            self._lay_out()
        else:
            self._note_end_seen()

    def action_line(self, step: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + step, animate=False)

    def action_page(self, direction: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + direction * max(1, self.visible_size.height - 1), animate=False)

    def action_edge(self, direction: int) -> None:
        self.scroll_to(y=0 if direction < 0 else self.virtual_size.height, animate=False)

    # -- references ------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Where there are no references, none can be followed."""
        return bool(self._links) if action in ("link", "follow") else super().check_action(action, parameters)

    def action_link(self, step: int) -> None:
        """Choose another reference, and bring it into sight."""
        self._link = (self._link + step) % len(self._links) if self._link >= 0 else self._nearest_link()
        line = self._links[self._link][0]
        if not self.scroll_offset.y <= line < self.scroll_offset.y + self.visible_size.height:
            self.scroll_to(y=max(0, line - self.visible_size.height // 2), animate=False)
        self.repaint_changed()

    def _nearest_link(self) -> int:
        return next((at for at, (line, _) in enumerate(self._links) if line >= self.scroll_offset.y), 0)

    def on_click(self, event: events.Click) -> None:
        """A click on a reference follows it."""
        line = self.line_under(event)
        found = (number for number, (at, place) in enumerate(self._links) if at == line and self._covers(place, event))
        number = next(found, -1)
        if number >= 0:
            self._link = number
            self.repaint_changed()
            self.action_follow()

    def _covers(self, place: int, event: events.Click) -> bool:
        """Whether a piece of the line that the mouse points at is under it."""
        at = event.get_content_offset(self)
        pieces = self._lines[self.line_under(event)]
        first = 1 + width_of(pieces[:place])
        return at is not None and first <= at.x < first + width_of(pieces[place : place + 1])

    def action_follow(self) -> None:
        """Follow the reference that is chosen, else the first in sight."""
        line, place = self._links[self._link if self._link >= 0 else self._nearest_link()]
        self.post_message(self.Followed(self, self._lines[line][place].text))
