"""The form of an answer: every field of its schema below the other, checked as one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from textual import events
from textual.app import SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Label

from runtime.judgement.forms.fields import UNSET, FieldPath, Form, FormField
from runtime.judgement.forms.form_values import (
    FieldProblem,
    InvalidForm,
    Typed,
    build_value,
    draft_value,
    split_value,
)
from runtime.judgement.forms.typed_text import WrongKind, read_json
from screens.render.layout import span
from screens.shell import external_editor
from screens.shell.context import ConsoleContext
from screens.views.decisions.answer_form import problem_summary, problem_text, row_description, row_label
from screens.views.run.json_lines import editable_json
from screens.widgets.bar import Bar
from screens.widgets.editor import Editor
from screens.widgets.forms.entries import ChoiceEntry, Entry, EntryDone, TextEntry, entry_for

_SPARE_LINES = 3


class FormRow(Vertical):
    """One field: its label, its description while it has the focus, its entry, and what is wrong with it."""

    DEFAULT_CSS = """
    FormRow { height: auto; }
    FormRow Bar { background: $panel; }
    FormRow .about { display: none; width: 100%; height: auto; max-height: 3; padding: 0 1; color: $ink-muted; }
    FormRow:focus-within .about.-some { display: block; }
    FormRow .wrong { display: none; }
    FormRow.-wrong .wrong { display: block; }
    FormRow.-wrong .about { max-height: 2; }
    """

    def __init__(self, session: ConsoleContext, form: Form, field: FormField, value: Any, *, keeps_empty: bool) -> None:
        context, ellipsis = session.render_context(), session.glyphs.ellipsis
        self.field = field
        self._entry = entry_for(session, field, value, keeps_empty=keeps_empty)
        self._words = context
        label = Bar(ellipsis=ellipsis)
        label.show(row_label(form, field, context))
        about = row_description(field, context)
        self._wrong = Bar(ellipsis=ellipsis)
        self._wrong.add_class("wrong")
        super().__init__(
            label, Label(about, markup=False, classes="about -some" if about else "about"), self._entry, self._wrong
        )

    @property
    def entry(self) -> Entry:
        return cast("Entry", self._entry)

    def holds(self, entry: Widget) -> bool:
        """Whether an entry is this row's."""
        return entry is self._entry

    @property
    def lines(self) -> int:
        """How high it is without its description and what is wrong."""
        is_list = not self.field.secret and self.field.kind in ("choice", "several")
        return 1 + (min(len(self.field.choices), ChoiceEntry.MAX_HEIGHT) if is_list else 1)

    def take_focus(self) -> None:
        self._entry.focus()

    def blame(self, problem: FieldProblem | None) -> None:
        """Say what is wrong with the field, or that nothing is."""
        self.set_class(problem is not None, "-wrong")
        if problem is not None:
            self._wrong.show(span(problem_text(problem, self._words), "severity-error"))


class AnswerForm(VerticalScroll, can_focus=False):
    """`enter` and `tab` go on, `ctrl+s` sends, `f4` opens all of it as JSON in the operator's own editor."""

    DEFAULT_CSS = """
    AnswerForm { height: 4; background: $panel; scrollbar-size-vertical: 1; }
    AnswerForm > Vertical { height: auto; }
    """
    BINDING_GROUP_TITLE = "Typing"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send", id="editor.send"),
        Binding("f4", "external", "Own editor", tooltip="The text in $VISUAL or $EDITOR", id="editor.external"),
    ]

    @dataclass
    class Sent(Message):
        """The operator is done, and all of it fits."""

        value: Any

    @dataclass
    class Rejected(Message):
        """Something does not fit, or the operator's own editor could not be used."""

        why: str

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__()
        self._session = session
        self.form = Form({})
        self._box: Vertical | None = None
        self.rows: list[FormRow] = []
        self._began_with: dict[FieldPath, Any] = {}
        self._fieldless: dict[FieldPath, Any] = {}
        """What no field shows: members that came from the editor, an object that is null."""
        self._edits = False
        self._unread = ""
        """What was written in the editor and is not JSON."""

    def begin(self, form: Form, filled: Mapping[FieldPath, Any], *, edits: bool, focus: bool) -> None:
        """Start from what is filled in.

        Args:
            form: The fields.
            filled: What stands in them at first.
            edits: A value that stands is edited: a text that is emptied is an empty text, and what is needed and
                missing is not put into the operator's own editor.
            focus: Whether the first field takes the focus.
        """
        self.clear()
        self.form, self._edits, self._began_with = form, edits, dict(filled)
        left = dict(filled)
        self.rows = [
            FormRow(self._session, form, field, left.pop(field.path, UNSET), keeps_empty=edits)
            for field in form.all_fields
        ]
        self._fieldless = left
        self._box = Vertical(*self.rows)
        self.mount(self._box)
        self.fit()
        self.scroll_to(y=0, animate=False)
        if focus:
            self.call_after_refresh(self.rows[0].take_focus)

    def fit(self) -> None:
        """As high as its rows need, with room for a description and for what is wrong, but less than half a screen."""
        needed = sum(row.lines for row in self.rows) + _SPARE_LINES
        self.styles.height = max(4, min(needed, (self.screen.size.height - 1) * 2 // 5))

    def clear(self) -> None:
        """Forget the fields, and with them every secret."""
        if self._box is not None:
            for row in self.rows:
                if row.field.secret:
                    row.entry.put(UNSET)
            self._box.remove()
        self._box, self._unread, self._fieldless, self.rows = None, "", {}, []

    @property
    def first(self) -> Widget | None:
        """What has the focus first: a field that does not fit, else the first."""
        rows = sorted(self.rows, key=lambda row: not row.has_class("-wrong"))
        return cast("Widget", rows[0].entry) if rows else None

    @property
    def secrets(self) -> list[str]:
        """The secrets as far as they are typed."""
        found = (row.entry.filled for row in self.rows if row.field.secret)
        return [each.text for each in found if isinstance(each, Typed)]

    @property
    def has_long_text(self) -> bool:
        """Whether a text of several lines stands in it, which the operator's own editor opens by itself."""
        return any(row.field.kind == "text" and "\n" in _text_of(row.entry.filled) for row in self.rows)

    @property
    def filled(self) -> dict[FieldPath, Any]:
        """What stands in the fields."""
        found = {**self._fieldless, **{row.field.path: row.entry.filled for row in self.rows}}
        return {path: value for path, value in found.items() if value is not UNSET}

    @property
    def draft(self) -> dict[FieldPath, Any]:
        """The same without secrets."""
        secret = {field.path for field in self.form.all_fields if field.secret}
        return {path: value for path, value in self.filled.items() if path not in secret}

    @property
    def touched(self) -> bool:
        """Whether something else stands in the fields than at first."""
        return self.filled != self._began_with

    @property
    def sends_by_enter(self) -> bool:
        """Whether enter has no field to go on to: the only one is of one line."""
        entry = self.rows[0].entry if len(self.rows) == 1 else None
        return entry is not None and not (isinstance(entry, TextEntry) and not entry.single)

    @property
    def emptied(self) -> list[FormField]:
        """Texts that are needed and that were emptied: they are sent so on purpose only."""
        needed = (row for row in self.rows if row.field.required and row.field.kind == "text")
        return [row.field for row in needed if row.entry.filled == Typed("")]

    # -- sending ---------------------------------------------------------------------------------------------

    def action_send(self) -> None:
        try:
            value = build_value(self.form, self.filled)
        except InvalidForm as exc:
            self._blame(exc.problems)
        else:
            self._blame(())
            self.post_message(self.Sent(value))

    def _blame(self, problems: Sequence[FieldProblem]) -> None:
        """Say below each field what is wrong with it, and go to the first."""
        wrong: dict[FieldPath, FieldProblem] = {}
        for problem in problems:
            if problem.field is not None:
                wrong.setdefault(problem.field.path, problem)
        for row in self.rows:
            row.blame(wrong.get(row.field.path))
        if wrong:
            next(row for row in self.rows if row.field.path in wrong).take_focus()
        if problems:
            self.post_message(self.Rejected(problem_summary(problems, self._session.render_context())))

    def on_entry_done(self, message: EntryDone) -> None:
        message.stop()
        rows = self.rows
        at = next(at for at, row in enumerate(rows) if row.holds(message.entry)) + 1
        if at < len(rows):
            rows[at].take_focus()
        elif emptied := self.emptied:
            context = self._session.render_context()
            names = context.sanitize_line(", ".join(field.name for field in emptied), 200)
            send = context.key("editor.send", "ctrl+s")
            self.post_message(self.Rejected(f"Empty, and needed: {names}. {send} sends it so."))
        else:
            self.action_send()

    def on_editor_sent(self, message: Editor.Sent) -> None:
        message.stop()
        self.action_send()

    def on_text_entry_whole_wanted(self, message: TextEntry.WholeWanted) -> None:
        message.stop()
        self.action_external()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The whole row comes into sight, its label too."""
        row = next((each for each in event.widget.ancestors if isinstance(each, FormRow)), None)
        if row is not None:
            self.call_after_refresh(self.scroll_to_widget, row, animate=False)

    # -- the operator's own editor ---------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The operator's own editor is offered where there is one."""
        return bool(external_editor.editor_command()) if action == "external" else True

    def action_external(self) -> None:
        """All fields but the secret ones as JSON. What is not JSON when the editor ends is kept for the next time."""
        text = self._unread or editable_json(draft_value(self.form, self.draft, blanks=not self._edits))
        try:
            with self.app.suspend():
                edited = external_editor.edit_text(external_editor.editor_command(), text, ".json")
        except (external_editor.EditorFailed, SuspendNotSupported) as exc:
            self.post_message(self.Rejected(str(exc)))
            return
        try:
            self._put(read_json(edited))
        except WrongKind as exc:
            self._unread = edited
            self.post_message(self.Rejected(f"what you wrote {exc}; it is kept: your editor opens it again"))

    def _put(self, value: Any) -> None:
        """Show a JSON value; a secret that it does not have stays."""
        self._unread = ""
        found = split_value(self.form, value)
        for row in self.rows:
            if not row.field.secret:
                row.entry.put(found.pop(row.field.path, UNSET))
            elif row.field.path in found:
                row.entry.put(Typed(str(found.pop(row.field.path))))
        self._fieldless = found


def _text_of(filled: Any) -> str:
    text = filled.text if isinstance(filled, Typed) else filled
    return text if isinstance(text, str) else ""
