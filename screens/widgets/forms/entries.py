"""Entries of a form: where one field is typed, chosen or switched. Each gives its value, or `UNSET`: it is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from textual import events
from textual.message import Message
from textual.widget import Widget

from runtime.judgement.forms.fields import UNSET, Choice, FormField
from runtime.judgement.forms.form_values import Typed
from runtime.judgement.forms.schema_form import choice_word
from runtime.judgement.forms.typed_text import field_text, same
from screens.render.layout import Span, Spans, width_of
from screens.shell.context import ConsoleContext
from screens.views.decisions.choices import ChoiceOffer
from screens.widgets.bar import Bar
from screens.widgets.choice_list import ChoiceList
from screens.widgets.editor import Editor, SecretInput


@dataclass
class EntryDone(Message):
    """Enter: the next field is wanted."""

    entry: Widget


class Entry(Protocol):
    """What all entries have. They are widgets."""

    field: FormField

    @property
    def filled(self) -> Any:
        """`Typed` text, a JSON value, or `UNSET`."""
        ...

    def put(self, value: Any) -> None:
        """Show a value instead of what stands there; `UNSET` empties it."""
        ...


class TextEntry(Editor):
    """A text, a number, a list or JSON. `enter` goes on where one line is wanted; `ctrl+s` sends the whole form."""

    DEFAULT_CSS = """
    TextEntry { height: auto; max-height: 6; border: none; padding: 0 1; background: $background; }
    TextEntry.-single { height: 1; }
    TextEntry:focus { border: none; background: $row-cursor; }
    """

    @dataclass
    class WholeWanted(Message):
        """The whole form is wanted in the operator's own editor."""

    def __init__(self, field: FormField, value: Any, *, keeps_empty: bool) -> None:
        super().__init__()
        self.field = field
        self._keeps_empty = keeps_empty
        """What stood there and is emptied is an empty text; else it is left out."""
        self._is_given = value is not UNSET
        self._given: Any = value
        self._given_text: str | None = None
        """The text that was put there; None until the entry is on the screen."""

    def on_mount(self) -> None:
        self.put(self._given)

    def put(self, value: Any) -> None:
        self._given, self._is_given = value, value is not UNSET
        if isinstance(value, Typed):
            text, self._given = value.text, UNSET
        else:
            text = field_text(self.field, value)
        self.load_text(text)
        self._given_text = self.text
        self.single = "\n" not in text and self.field.kind != "json"
        self.set_class(self.single, "-single")
        self.move_cursor(self.document.end)

    @property
    def filled(self) -> Any:
        if self._given_text is None or (self._given is not UNSET and self.text == self._given_text):
            return self._given
        return Typed(self.text) if self.text or (self._keeps_empty and self._is_given) else UNSET

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter" and self.single:
            event.stop()
            event.prevent_default()
            self.post_message(EntryDone(self))

    def action_external(self) -> None:
        """A text of several lines is edited as it is, since JSON has it on one line."""
        if self.field.kind == "text" and not self.single:
            super().action_external()
        else:
            self.post_message(self.WholeWanted())


class SecretEntry(SecretInput):
    """A secret: dots. It is kept nowhere, and emptied with the form."""

    DEFAULT_CSS = """
    SecretEntry, SecretEntry:focus { height: 1; border: none; padding: 0 1; background: $background; }
    SecretEntry:focus { background: $row-cursor; }
    """

    def __init__(self, field: FormField, value: Any) -> None:
        super().__init__()
        self.field = field
        self._given: Any = UNSET
        self.put(value)

    def put(self, value: Any) -> None:
        """A value that was given before is not shown; it stays unless another is typed."""
        self.value = value.text if isinstance(value, Typed) else ""
        self._given = UNSET if isinstance(value, Typed) else value
        self.placeholder = "" if self._given is UNSET else "stays as it is, unless another is typed"

    @property
    def filled(self) -> Any:
        return Typed(self.value) if self.value else self._given

    async def action_submit(self) -> None:
        self.post_message(EntryDone(self))


class ChoiceEntry(ChoiceList):
    """One choice or several. `space`, a digit or `enter` takes the marked one; `space` again gives it back."""

    DEFAULT_CSS = """
    ChoiceEntry:focus { background: $background; }
    """
    MAX_HEIGHT: ClassVar[int] = 5

    def __init__(self, session: ConsoleContext, field: FormField, value: Any) -> None:
        super().__init__(session)
        self.field = field
        self._given: Any = value
        self._given_ticks: set[int] | None = None
        """What was ticked when a value was put there; None until the entry is on the screen."""

    def on_mount(self) -> None:
        self.put(self._given)

    def put(self, value: Any) -> None:
        several = self.field.kind == "several"
        wanted = value if several and isinstance(value, list) else [] if value is UNSET else [value]
        choices = [*self.field.choices]
        # What is not one of the choices is shown, too: a call may have been made with it.
        choices += (Choice(each, choice_word(each)) for each in wanted if not any(same(each, c.value) for c in choices))
        values, titles = tuple(choice.value for choice in choices), tuple(choice.title for choice in choices)
        ticks = {at for at, offered in enumerate(values) if any(same(offered, each) for each in wanted)}
        self.begin(ChoiceOffer(values, several=several, titles=titles, boxes=True), focus=False)
        self._given, self._given_ticks, self._ticked = value, set(ticks), ticks
        self.repaint_changed()

    @property
    def filled(self) -> Any:
        if self._given_ticks is None or self._ticked == self._given_ticks:
            return self._given  # as it was, perhaps in another order
        values = [self._offer.values[at] for at in sorted(self._ticked)]
        if self.field.kind == "several":
            return values if values or self.field.required or self._given is not UNSET else UNSET
        return values[0] if values else UNSET

    def action_tick(self) -> None:
        if self._cursor < 0:
            return
        one = {self._cursor}
        self._ticked = self._ticked ^ one if self._offer.several or self._ticked == one else one
        self.repaint_changed()
        self.post_message(self.Changed())

    def action_send(self) -> None:
        if self._cursor >= 0 and not self._offer.several:
            self._ticked = {self._cursor}
            self.repaint_changed()
            self.post_message(self.Changed())
        self.post_message(EntryDone(self))


class SwitchEntry(Bar, can_focus=True):
    """Yes or no on one line; left out, or null, where that is allowed. `y`, `n`, `space`, `left` and `right` switch."""

    DEFAULT_CSS = """
    SwitchEntry { height: 1; background: $background; }
    """
    GROUND: ClassVar[str] = "background"

    class Changed(Message):
        """It was switched."""

    def __init__(self, session: ConsoleContext, field: FormField, value: Any) -> None:
        super().__init__(ellipsis=session.glyphs.ellipsis)
        self.field = field
        self._session = session
        self._states: list[tuple[str, Any]] = []
        self._at = -1
        self.put(value)

    def put(self, value: Any) -> None:
        self._states = [("yes", True), ("no", False)]
        if self.field.nullable:
            self._states.append(("null", None))
        if not self.field.required:
            self._states.append(("leave it out", UNSET))
        if value is not UNSET and not any(each is value for _, each in self._states):
            self._states.append((self._session.render_context().sanitize_line(choice_word(value), 40), value))
        self._at = next((at for at, (_, each) in enumerate(self._states) if each is value), -1)
        self._paint()

    @property
    def filled(self) -> Any:
        return self._states[self._at][1] if self._at >= 0 else UNSET

    def _paint(self) -> None:
        cursor = self._session.glyphs.cursor if self.has_focus else " "
        states = (piece for at in range(len(self._states)) for piece in self._state(at))
        self.show((Span(f"{cursor} ", "line-focus"), *states))

    def _state(self, at: int) -> Spans:
        chosen = at == self._at
        return (
            Span("(x) " if chosen else "( ) ", "ink-accent" if chosen else "ink-muted"),
            Span(f"{self._states[at][0]}   ", "ink-strong" if chosen else "ink", bold=chosen),
        )

    def on_focus(self) -> None:
        self._paint()

    def on_blur(self) -> None:
        self._paint()

    def on_key(self, event: events.Key) -> None:
        """Letters mean nothing else here, though they mean something around it."""
        if event.key == "enter":
            event.stop()
            self.post_message(EntryDone(self))
        elif event.key in ("y", "n"):
            event.stop()
            self._turn(0 if event.key == "y" else 1)
        elif event.key in ("space", "right", "left"):
            event.stop()
            step = -1 if event.key == "left" else 1
            self._turn((self._at + step) % len(self._states) if self._at >= 0 else 0)
        elif event.is_printable:
            event.stop()

    def on_click(self, event: events.Click) -> None:
        """A click on a state switches to it."""
        end = 2
        for at in range(len(self._states)):
            end += width_of(self._state(at))
            if event.x < end:
                self._turn(at)
                break

    def _turn(self, at: int) -> None:
        self._at = at
        self._paint()
        self.post_message(self.Changed())


def entry_for(session: ConsoleContext, field: FormField, value: Any, *, keeps_empty: bool) -> Widget:
    """The entry of a field, which shows a value at first."""
    if field.secret:
        return SecretEntry(field, value)
    if field.kind in ("choice", "several"):
        return ChoiceEntry(session, field, value)
    if field.kind == "boolean":
        return SwitchEntry(session, field, value)
    return TextEntry(field, value, keeps_empty=keeps_empty)
