"""Where an answer is typed or chosen: a text, a secret, a form, or a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from runtime.judgement.forms.fields import FieldPath
from runtime.judgement.recovery.input_validation import secret_warning
from runtime.judgement.recovery.option_table import effect_of
from runtime.record.state.events import IncidentOpened
from screens.render.layout import Spans, span
from screens.shell.context import ConsoleContext
from screens.shell.external_editor import editor_command
from screens.views.decisions import answer_form
from screens.views.decisions import choices as picks
from screens.views.decisions.prompt_choices import PromptChoice
from screens.views.decisions.prompt_hint import typing_hint
from screens.views.decisions.typed_answer import wanted_words
from screens.views.run.json_lines import editable_json
from screens.widgets.choice_list import ChoiceList, read_typed_answer
from screens.widgets.editor import Editor, SecretInput
from screens.widgets.forms.answer_form import AnswerForm
from screens.widgets.forms.entries import SwitchEntry


class AnswerField(Vertical):
    """Shows the one of the four that fits an incident and a choice. Keeps what was typed and not sent."""

    DEFAULT_CSS = """
    AnswerField {
        display: none;
        height: auto;
        #editor, #secret, #picks, AnswerForm { display: none; }
        &.-text #editor, &.-secret #secret, &.-picks #picks, &.-form AnswerForm { display: block; }
    }
    """

    @dataclass
    class Sent(Message):
        """The operator is done."""

        value: Any

    @dataclass
    class Rejected(Message):
        """What was typed does not fit, or the operator's own editor could not be used."""

        why: str

    class Undecided(Message):
        """Nothing is chosen yet."""

    class Changed(Message):
        """What is said beside the field may have changed: a secret was typed on, an answer ticked, or a text is typed
        now.
        """

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__()
        self._session = session
        self._opened: IncidentOpened | None = None
        self._choice: PromptChoice | None = None
        self._began_with = ""
        """What stood in the text when it opened."""
        self._drafts: dict[str, str] = {}
        """What was typed and not sent, by what it belongs to."""
        self._form_drafts: dict[str, dict[FieldPath, Any]] = {}
        """The same for forms."""

    def compose(self) -> ComposeResult:
        yield Editor(id="editor")
        yield SecretInput(id="secret")
        yield AnswerForm(self._session)
        yield ChoiceList(self._session, id="picks")

    # -- opening and closing ---------------------------------------------------------------------------------

    def begin(self, opened: IncidentOpened, choice: PromptChoice, *, focus: bool) -> None:
        """Open for the answer of `choice`, from what was typed for it before."""
        self._opened, self._choice = opened, choice
        form = answer_form.form_for(opened, choice)
        edits = answer_form.edits_arguments(choice)
        self.set_class(form is not None, "-form")
        if form is not None:
            self.remove_class("-text", "-secret", "-picks")
            filled = answer_form.first_values(opened, choice, form, self._form_drafts.get(self._draft_key))
            self.query_one(AnswerForm).begin(form, filled, edits=edits, focus=focus)
            return
        arguments = opened.action.get("arguments") if edits else None
        text = editable_json(arguments) if arguments is not None else choice.value
        secret = picks.is_secret_choice(opened, choice)
        offer = picks.offer_of(opened, choice)
        self.set_class(secret, "-secret")
        self.set_class(offer is not None, "-picks")
        self.set_class(not (secret or offer is not None), "-text")
        self.query_one("#editor", Editor).begin(self._drafts.get(self._draft_key, text), single=not edits, focus=focus)
        if secret:
            self.query_one("#secret", SecretInput).begin(focus=focus)
        elif offer is not None:
            self.query_one("#picks", ChoiceList).begin(offer, focus=focus)
        self._began_with = self._text

    def fit(self) -> None:
        """The size of the screen changed."""
        if self.has_class("-form"):
            self.query_one(AnswerForm).fit()

    def keep_draft(self, *, sent: bool) -> None:
        """What was sent stands there again if it is refused, and so does the answer to a question that was left."""
        if self._choice is None:
            return
        kept, key = sent or effect_of(self._choice.option) == "input", self._draft_key
        if self.has_class("-form"):
            self._form_drafts.pop(key, None)
            if kept or not answer_form.edits_arguments(self._choice):
                self._form_drafts[key] = self.query_one(AnswerForm).draft
        else:
            self._drafts.pop(key, None)
            if kept and self.has_class("-text"):
                self._drafts[key] = self._text

    def close(self) -> None:
        """Show none of the four, and forget a secret."""
        self.query_one("#secret", SecretInput).value = ""
        self.query_one(AnswerForm).clear()
        self.remove_class("-text", "-secret", "-form", "-picks")

    @property
    def _draft_key(self) -> str:
        assert self._opened is not None
        assert self._choice is not None
        return f"{self._opened.incident_id} {self._choice.option}"

    @property
    def _text(self) -> str:
        return self.query_one("#editor", Editor).text

    # -- what stands in it -----------------------------------------------------------------------------------

    @property
    def input(self) -> Widget:
        """Where the answer is typed or chosen now."""
        if self.has_class("-form") and (first := self.query_one(AnswerForm).first) is not None:
            return first
        if self.has_class("-secret"):
            return self.query_one("#secret", SecretInput)
        return self.query_one("#picks" if self.has_class("-picks") else "#editor")

    @property
    def has_typed(self) -> bool:
        """Whether the operator typed or chose something since the field opened."""
        if self.has_class("-form"):
            return self.query_one(AnswerForm).touched
        if self.has_class("-secret"):
            return bool(self.query_one("#secret", SecretInput).value)
        if self.has_class("-picks"):
            return self.query_one("#picks", ChoiceList).touched
        return self._text != self._began_with

    @property
    def change_lines(self) -> list[Spans] | None:
        """What the edit of arguments changes; None where something else is typed."""
        if self._choice is None or self._opened is None or not answer_form.edits_arguments(self._choice):
            return None
        context = self._session.render_context()
        if self.has_class("-form"):
            form = self.query_one(AnswerForm)
            return answer_form.field_changes(self._opened, form.form, form.filled, context)
        return answer_form.json_changes(self._opened, self._text, context) if self.has_class("-text") else None

    # -- what is said below it -------------------------------------------------------------------------------

    def hint(self, *told: Spans, by_itself: bool) -> Spans:
        """What is wanted, how it is sent, and how it is left: for another option, where it opened `by_itself`. `told`:
        what is said before what is wanted.
        """
        assert self._opened is not None
        assert self._choice is not None
        context, opened, choice = self._session.render_context(), self._opened, self._choice
        chooses, says_what = self.has_class("-picks"), self.has_class("-picks") or self.has_class("-form")
        several = chooses and self.query_one("#picks", ChoiceList).several
        kept = " (kept)" if self.has_typed and not (chooses or self.has_class("-secret")) else ""
        lost = " (ticks lost)" if several and self.query_one("#picks", ChoiceList).ticked_titles else ""
        keys = {**self._keys(), "esc": f"other options{kept}{lost}" if by_itself else "back"}
        wanted = span("" if says_what else wanted_words(opened, choice, context), "ink-accent")
        unnamed = several or (opened.question and effect_of(choice.option) == "input")
        said = (*told, wanted, span(self._warning, "severity-warning"))
        return typing_hint("" if unnamed else choice.label, keys, said, self._session.glyphs)

    @property
    def _warning(self) -> str:
        """What is odd about a secret, as far as it is typed; empty if nothing is."""
        typed = [self.query_one("#secret", SecretInput).value, *self.query_one(AnswerForm).secrets]
        return next((warning for text in typed if text and (warning := secret_warning(text))), "")

    def _keys(self) -> dict[str, str]:
        """The keys that go on from here, and what each does."""
        send = self._session.render_context().key("editor.send", "ctrl+s")
        keys = {"enter": "sends"} if self.query_one("#editor", Editor).single else {send: "sends"}
        if self.has_class("-text") and "enter" in keys and self._needs_text:
            keys = {"enter": "sends (not while empty)"}
        if self.has_class("-form"):
            external = self._session.render_context().key("editor.external", "f4")
            form = self.query_one(AnswerForm)
            opens = {external: "own editor" if form.has_long_text else "all as JSON"} if editor_command() else {}
            return {**({"enter": "sends"} if form.sends_by_enter else {"enter": "goes on", send: "sends"}), **opens}
        return self.query_one("#picks", ChoiceList).send_keys if self.has_class("-picks") else keys

    @property
    def _needs_text(self) -> bool:
        """Whether an empty text is sent only on purpose."""
        param = self._choice.param if self._choice is not None else None
        return param is not None and param.kind == "text" and param.required

    @property
    def undecided_words(self) -> str:
        """What to say of an enter that sent nothing."""
        if not self.has_class("-picks"):
            send = self._session.render_context().key("editor.send", "ctrl+s")
            return f"Nothing is typed yet. {send} sends an empty text."
        return self.query_one("#picks", ChoiceList).undecided_words

    # -- what was sent ---------------------------------------------------------------------------------------

    def on_editor_sent(self, message: Editor.Sent) -> None:
        message.stop()
        if self._choice is None or self._opened is None:
            return
        if message.by_enter and not message.text and self._needs_text:
            self.post_message(self.Undecided())
            return
        try:
            text = read_typed_answer(self._opened, self._choice, message.text)
        except ValueError as exc:
            self.post_message(self.Rejected(str(exc)))
        else:
            self.post_message(self.Sent(text))

    def on_answer_form_sent(self, message: AnswerForm.Sent) -> None:
        message.stop()
        self.post_message(self.Sent(message.value))

    def on_answer_form_rejected(self, message: AnswerForm.Rejected) -> None:
        message.stop()
        self.post_message(self.Rejected(message.why))

    def on_choice_list_sent(self, message: ChoiceList.Sent) -> None:
        message.stop()
        self.post_message(self.Sent(message.value))

    def on_choice_list_typed(self, message: ChoiceList.Typed) -> None:
        message.stop()
        editor = self.query_one("#editor", Editor)
        if self.has_class("-picks"):
            self.remove_class("-picks")
            self.add_class("-text")
            editor.begin(message.begin, single=True)
            self._began_with = self._text
            self.post_message(self.Changed())
        editor.insert(message.letter)

    def on_secret_input_sent(self, message: SecretInput.Sent) -> None:
        message.stop()
        self.post_message(self.Sent(message.text))

    def on_editor_failed(self, message: Editor.Failed) -> None:
        message.stop()
        self.post_message(self.Rejected(message.why))

    def on_choice_list_changed(self, message: ChoiceList.Changed) -> None:
        message.stop()
        self.post_message(self.Changed())

    def on_choice_list_undecided(self, message: ChoiceList.Undecided) -> None:
        message.stop()
        self.post_message(self.Undecided())

    def on_text_area_changed(self, message: Editor.Changed) -> None:
        message.stop()
        if self._choice is not None and answer_form.edits_arguments(self._choice):
            self.post_message(self.Changed())

    def on_switch_entry_changed(self, message: SwitchEntry.Changed) -> None:
        message.stop()
        self.post_message(self.Changed())

    def on_input_changed(self, message: SecretInput.Changed) -> None:
        message.stop()
        self.post_message(self.Changed())
