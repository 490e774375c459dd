"""A list to choose from: one answer, or several with `space`. Nothing is chosen at first, so that no stray `enter`
answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from runtime.record.state.events import IncidentOpened
from screens.render.layout import Spans
from screens.shell import file_input
from screens.shell.context import ConsoleContext
from screens.views.decisions.choices import (
    ChoiceOffer,
    answer_of,
    pick_line,
    wants_file,
)
from screens.views.decisions.prompt import PromptChoice
from screens.widgets.line_view import LineView

_OWN = frozenset({"space", "j", "k"})
_NO_ROW = -1
_MAX_HEIGHT = 8


class Picks(LineView, can_focus=True):
    """A cursor among answers; it begins above the first. A digit chooses, too."""

    DEFAULT_CSS = """
    Picks { height: 3; background: $background; scrollbar-gutter: auto; }
    """
    GROUND: ClassVar[str] = "background"

    BINDING_GROUP_TITLE = "Choosing"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick", id="picks.tick"),
        Binding("enter", "send", "Send", id="picks.send"),
        Binding("down,j", "move(1)", "Next answer", show=False, id="picks.down"),
        Binding("up,k", "move(-1)", "Previous answer", show=False, id="picks.up"),
    ]

    @dataclass
    class Sent(Message):
        """The operator is done."""

        value: Any

    @dataclass
    class Undecided(Message):
        """Enter, and nothing is chosen."""

    def __init__(self, session: ConsoleContext, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._session = session
        self._offer = ChoiceOffer((), several=False)
        self._cursor = _NO_ROW
        self._ticked: set[int] = set()

    def begin(self, offer: ChoiceOffer, *, focus: bool = True) -> None:
        """Offer these, none of them chosen."""
        self._offer, self._cursor, self._ticked = offer, _NO_ROW, set()
        self.styles.height = min(len(offer.values), _MAX_HEIGHT)
        self.set_line_count(len(offer.values))
        self.scroll_to(y=0, animate=False)
        self.repaint_changed()
        if focus:
            self.focus()

    @property
    def touched(self) -> bool:
        """Whether anything is marked or ticked."""
        return self._cursor != _NO_ROW or bool(self._ticked)

    @property
    def several(self) -> bool:
        return self._offer.several

    def line_at(self, index: int, width: int) -> tuple[Spans, str]:
        if not 0 <= index < len(self._offer.values):
            return (), self.GROUND
        marked = index == self._cursor
        line = pick_line(self._offer, index, self._session.looks(), marked=marked, ticked=index in self._ticked)
        return line, self.GROUND

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Letters are not offered at the foot either: it shows what has an effect."""
        return character is not None and character.isprintable() and key not in _OWN

    def on_key(self, event: events.Key) -> None:
        """Letters mean nothing here, though they mean something around it."""
        if event.key.isdecimal() and len(event.key) == 1:
            self._choose(int(event.key) - 1)
            event.stop()
        elif event.is_printable and event.key not in _OWN:
            event.stop()

    def _choose(self, index: int) -> None:
        if 0 <= index < len(self._offer.values):
            self._put(index)
            self.action_tick()

    def action_move(self, step: int) -> None:
        self._put(max(0, min(len(self._offer.values) - 1, self._cursor + step)))

    def _put(self, index: int) -> None:
        self._cursor = index
        if not self.scroll_offset.y <= index < self.scroll_offset.y + self.visible_size.height:
            self.scroll_to(y=max(0, index - self.visible_size.height + 1), animate=False)
        self.repaint_changed()

    def action_tick(self) -> None:
        """Tick the marked one, or take the tick away; of which only one can be, another loses it."""
        if self._cursor == _NO_ROW:
            return
        self._ticked = self._ticked ^ {self._cursor} if self._offer.several else {self._cursor}
        self.repaint_changed()

    def action_send(self) -> None:
        """Of several those that are ticked, perhaps none; of one, the marked one."""
        if self._cursor == _NO_ROW:
            self.post_message(self.Undecided())
        elif self._offer.several:
            self.post_message(self.Sent(answer_of(self._offer, self._ticked)))
        else:
            self.post_message(self.Sent(answer_of(self._offer, {self._cursor})))


def read_typed_answer(opened: IncidentOpened, choice: PromptChoice, text: str) -> str:
    """What was typed where there is nothing to choose; where a file is wanted that is its path, and the answer what
    the file holds.

    Raises:
        ValueError: the file cannot be an answer, with why.
    """
    return file_input.read_file_input(text, binary=True) if wants_file(opened, choice) else text
