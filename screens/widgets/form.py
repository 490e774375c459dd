"""A form: one field for each parameter of a tool, typed one after another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.message import Message

from screens.render.layout import span
from screens.views.decisions.argument_form import FormField
from screens.widgets.bar import Bar
from screens.widgets.editor import Editor


class Field(Editor):
    """`enter` goes on to the next field, where one line is wanted; `ctrl+s` sends all of them."""

    DEFAULT_CSS = """
    Field { height: auto; max-height: 6; border: none; padding: 0 1; background: $background; }
    Field.-single { height: 1; }
    Field:focus { border: none; background: $row-cursor; }
    """

    @dataclass
    class Next(Message):
        """This one is typed."""

        field: Field

    def __init__(self, entry: FormField) -> None:
        super().__init__()
        self.entry = entry
        self._is_loaded = False

    @property
    def typed(self) -> str:
        """What stands there, also before it is on the screen."""
        return self.text if self._is_loaded else self.entry.text

    def on_mount(self) -> None:
        self._is_loaded = True
        self.single = self.entry.single
        self.set_class(self.entry.single, "-single")
        self.load_text(self.entry.text)
        self.move_cursor(self.document.end)

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter" and self.single:
            event.stop()
            event.prevent_default()
            self.post_message(self.Next(self))


class Form(VerticalScroll, can_focus=False):
    """Fields below each other, each with its label. What was typed is handed over as text."""

    DEFAULT_CSS = """
    Form { height: auto; max-height: 40vh; background: $panel; scrollbar-size-vertical: 1; }
    Form Vertical { height: auto; }
    Form Bar { background: $panel; }
    """

    @dataclass
    class Sent(Message):
        """The operator is done: the texts, by name."""

        texts: dict[str, str]

    def __init__(self, *, ellipsis: str = "…", id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._ellipsis = ellipsis
        self._entries: tuple[FormField, ...] = ()
        self._box: Vertical | None = None

    def compose(self) -> ComposeResult:
        yield from ()

    def begin(self, entries: Sequence[FormField]) -> None:
        """Start from these; the first has the focus."""
        if self._box is not None:
            self._box.remove()
        self._entries = tuple(entries)
        fields = [Field(entry) for entry in entries]
        rows = [widget for field in fields for widget in (self._label(field.entry), field)]
        self._box = Vertical(*rows)
        self.mount(self._box)
        self.call_after_refresh(fields[0].focus)

    def _label(self, entry: FormField) -> Bar:
        bar = Bar(ellipsis=self._ellipsis)
        bar.show(span(entry.label, "ink-accent"))
        return bar

    @property
    def fields(self) -> list[Field]:
        return list(self._box.query(Field)) if self._box is not None else []

    def blame(self, why: str) -> None:
        """Go to the field that a message of what is wrong begins with, if it names one."""
        found = next((field for field in self.fields if re.match(rf"'?{re.escape(field.entry.name)}\b", why)), None)
        if found is not None:
            found.focus()

    def on_field_next(self, message: Field.Next) -> None:
        message.stop()
        fields = self.fields
        at = fields.index(message.field) + 1
        if at < len(fields):
            fields[at].focus()
        else:
            self._send()

    def on_editor_sent(self, message: Editor.Sent) -> None:
        message.stop()
        self._send()

    def _send(self) -> None:
        self.post_message(self.Sent({field.entry.name: field.text for field in self.fields}))
