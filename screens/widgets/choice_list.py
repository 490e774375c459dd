"""A list to choose from: one answer, or several with `space`. Where it answers, nothing is chosen at first, and of
several `enter` sends none only when it is pressed twice, so that no stray `enter` answers.
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
    choice_words,
    pick_line,
    wants_file,
)
from screens.views.decisions.model_list import typed_from
from screens.views.decisions.prompt_choices import PromptChoice
from screens.widgets.line_view import LineView

_OWN = frozenset({"space", "j", "k"})
_NO_ROW = -1


class ChoiceList(LineView, can_focus=True):
    """A cursor among answers; it begins above the first, or of several on it. A digit chooses, too."""

    DEFAULT_CSS = """
    ChoiceList { height: 3; background: $background; scrollbar-gutter: auto; }
    """
    GROUND: ClassVar[str] = "background"
    MAX_HEIGHT: ClassVar[int] = 8

    BINDING_GROUP_TITLE = "Choosing"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick", show=False, id="picks.tick"),
        Binding("enter", "send", "Send", show=False, id="picks.send"),
        Binding("down,j", "move(1)", "Next answer", show=False, id="picks.down"),
        Binding("up,k", "move(-1)", "Previous answer", show=False, id="picks.up"),
    ]

    @dataclass
    class Sent(Message):
        """The operator is done."""

        value: Any

    class Undecided(Message):
        """Enter, and nothing is chosen."""

    class Changed(Message):
        """What enter would send is another now."""

    @dataclass
    class Typed(Message):
        """What is wanted is not in the list: it is typed behind `begin`. Keys that were on their way to the list when
        the editor came are told of, too.
        """

        begin: str = ""
        letter: str = ""

    def __init__(self, session: ConsoleContext, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._session = session
        self._offer = ChoiceOffer((), several=False)
        self._cursor = _NO_ROW
        self._first = _NO_ROW
        """Where the cursor began."""
        self._ticked: set[int] = set()
        self._sends_none = False
        """Enter was pressed with nothing ticked: once more sends that."""

    def begin(self, offer: ChoiceOffer, *, focus: bool = True, marked: int | None = None) -> None:
        """Offer these, none of them ticked. `marked`: the row that `enter` sends if nothing is changed, where a stray
        `enter` does no harm; None: as the offer says.
        """
        self._first = self._first_row(offer) if marked is None else marked
        self._offer, self._cursor, self._ticked = offer, self._first, set()
        self._sends_none = False
        self.styles.height = min(len(offer.values), self.MAX_HEIGHT)
        self.set_line_count(len(offer.values))
        self.scroll_to(y=0, animate=False)
        self.repaint_changed()
        if focus:
            self.focus()

    @staticmethod
    def _first_row(offer: ChoiceOffer) -> int:
        """Where the cursor begins: of several it only ticks, of one it is what enter sends."""
        return 0 if offer.several else _NO_ROW

    @property
    def touched(self) -> bool:
        """Whether the cursor was moved, or anything is ticked."""
        return self._cursor != self._first or bool(self._ticked)

    @property
    def ticked_titles(self) -> list[str]:
        """What is ticked, as it is shown; recorded, so to be sanitised."""
        return [choice_words(self._offer, index) for index in sorted(self._ticked)]

    @property
    def undecided_words(self) -> str:
        """What to say of an enter that sent nothing."""
        if not self.several:
            return "Nothing is chosen yet: down, or a digit, marks one."
        tick = self._session.render_context().key("picks.tick", "space")
        return f"Nothing is ticked: {tick} ticks, enter once more sends none."

    @property
    def send_keys(self) -> dict[str, str]:
        """The keys that choose and send, and what each does: with what enter would send now."""
        if not self.several:
            return {"down": "or a digit marks one", "enter": "sends it"}
        ticked = self._session.render_context().sanitize_line(", ".join(self.ticked_titles), 60)
        none = "sends" if self._offer.least else "sends (none: asks if sure)"
        count = len(self._offer.values)
        digits = "1" if count == 1 else f"1-{min(9, count)}"
        return {digits: f"ticks{self._how_many}", "enter": f"sends {ticked}" if ticked else none}

    @property
    def _how_many(self) -> str:
        """How many may be ticked, as what follows ``ticks``."""
        least, most = self._offer.least, self._offer.most
        if least and most:
            return f" {least}" if least == most else f" {least} to {most}"
        if least > 1 or most:
            return f" {least} or more" if not most else f" at most {most}"
        return " any number"

    @property
    def several(self) -> bool:
        return self._offer.several

    def line_at(self, index: int, width: int) -> tuple[Spans, str]:
        if not 0 <= index < len(self._offer.values):
            return (), self.GROUND
        marked = index == self._cursor and self.has_focus
        line = pick_line(
            self._offer, index, self._session.render_context(), marked=marked, ticked=index in self._ticked
        )
        return line, self.GROUND

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Letters are not offered at the foot either: it shows what has an effect."""
        return character is not None and character.isprintable() and key not in _OWN

    def on_focus(self) -> None:
        self.repaint_changed()

    def on_blur(self) -> None:
        self.repaint_changed()

    def on_key(self, event: events.Key) -> None:
        """Letters mean nothing here, though they mean something around it: who holds the list is told."""
        if event.key.isdecimal() and len(event.key) == 1:
            self._choose(int(event.key) - 1)
            event.stop()
        elif event.is_printable and event.key not in _OWN:
            event.stop()
            if self._offer.typed:
                self.post_message(self.Typed(letter=event.character or ""))

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

    def on_click(self, event: events.Click) -> None:
        """A click marks, and ticks where several can be; where one can be, a click on what is marked sends it."""
        line = self.line_under(event)
        if not 0 <= line < len(self._offer.values):
            return
        if self._offer.several:
            self._put(line)
            self.action_tick()
        elif line != self._cursor:
            self._put(line)
        elif event.chain == 1 and not self.press_brought_focus:
            self.action_send()

    def action_tick(self) -> None:
        """Tick the marked one, or take the tick away; of which only one can be, another loses it."""
        if self._cursor == _NO_ROW:
            return
        self._ticked = self._ticked ^ {self._cursor} if self._offer.several else {self._cursor}
        self._sends_none = False
        self.repaint_changed()
        self.post_message(self.Changed())

    def action_send(self) -> None:
        """Of several those that are ticked, none if it is pressed twice; of one, the marked one."""
        if self._cursor == _NO_ROW or (self._offer.several and not self._ticked and not self._sends_none):
            self._sends_none = self._offer.several
            self.post_message(self.Undecided())
        elif self._offer.several:
            self.post_message(self.Sent(answer_of(self._offer, self._ticked)))
        else:
            value = answer_of(self._offer, {self._cursor})
            begin = typed_from(value) if self._offer.typed else None
            self.post_message(self.Sent(value) if begin is None else self.Typed(begin))


def read_typed_answer(opened: IncidentOpened, choice: PromptChoice, text: str) -> str:
    """What was typed where there is nothing to choose; where a file is wanted that is its path, and the answer what
    the file holds.

    Raises:
        ValueError: the file cannot be an answer, with why.
    """
    return file_input.read_file_input(text, binary=True) if wants_file(opened, choice) else text
