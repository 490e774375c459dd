"""The text area of an operator: an answer, a message to the agent, arguments as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input, TextArea
from textual.widgets.text_area import DocumentNavigator, WrappedDocument

from screens.shell import external_editor
from screens.widgets.painted_document import PaintedDocument


class Editor(TextArea):
    """Takes several lines, since pasted answers have them. `enter` sends what is one line, `ctrl+s` sends anything."""

    DEFAULT_CSS = """
    Editor {
        height: 6;
        background: $background;
        border: round $line;
        padding: 0 1;
        &:focus { border: round $line-focus; }
        &.-single { height: 3; }
    }
    """
    BINDING_GROUP_TITLE = "Typing"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send", show=False, id="editor.send"),
        Binding("f4", "external", "Own editor", tooltip="The text in $VISUAL or $EDITOR", id="editor.external"),
    ]

    @dataclass
    class Sent(Message):
        """The operator is done. `by_enter`: with the key of one line, which may be a stray one."""

        text: str
        by_enter: bool = False

    @dataclass
    class Failed(Message):
        """The operator's own editor could not be used; `why` says why not."""

        why: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(
            id=id, soft_wrap=True, show_line_numbers=False, tab_behavior="focus", highlight_cursor_line=False
        )
        self.single = True
        self.cursor_blink = False  # nothing moves on the screen while nothing happens
        self.load_text("")

    def begin(self, text: str, *, single: bool, focus: bool = True) -> None:
        """Start from `text`."""
        self.single = single
        self.set_class(single, "-single")
        self.load_text(text)
        self.move_cursor(self.document.end)
        if focus:
            self.focus()

    def load_text(self, text: str) -> None:
        """Textual's (8.2.8), with a document that shows what is hidden."""
        super().load_text(text)
        self.document = PaintedDocument(text)
        self.wrapped_document = WrappedDocument(self.document, tab_width=self.indent_width)
        self.navigator = DocumentNavigator(self.wrapped_document)
        self.mutate_reactive(TextArea.indent_width)  # which wraps the document again

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter" and self.single:
            event.stop()
            event.prevent_default()
            self.post_message(self.Sent(self.text, by_enter=True))

    def action_send(self) -> None:
        self.post_message(self.Sent(self.text))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The operator's own editor is offered where there is one."""
        if action == "external":
            return bool(external_editor.editor_command())
        return super().check_action(action, parameters)

    def action_external(self) -> None:
        """Go on in the operator's own editor, which has the terminal until it ends; nothing is sent by that."""
        try:
            with self.app.suspend():  # the loop stands still meanwhile: nothing paints into the editor's screen
                text = external_editor.edit_text(
                    external_editor.editor_command(), self.text, ".txt" if self.single else ".json"
                )
        except (external_editor.EditorFailed, SuspendNotSupported) as exc:
            self.post_message(self.Failed(str(exc)))
        else:
            self.load_text(text)
            self.move_cursor(self.document.end)


class SecretInput(Input):
    """Where a secret is typed: dots, in one line, gone from here when it is sent or left."""

    DEFAULT_CSS = """
    SecretInput, SecretInput:focus { height: 3; background: $background; border: round $line-focus; padding: 0 1; }
    """

    @dataclass
    class Sent(Message):
        """The operator is done."""

        text: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id, password=True, select_on_focus=False)
        self.cursor_blink = False

    def begin(self, *, focus: bool = True) -> None:
        """Start from nothing."""
        self.value = ""
        if focus:
            self.focus()

    async def action_submit(self) -> None:
        self.post_message(self.Sent(self.value))
