"""Where an answer is typed or chosen: a text, a secret, a form of arguments, or a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from runtime.judgement.recovery.input_validation import is_secret, secret_warning
from runtime.record.state.events import IncidentOpened
from screens.shell.context import ConsoleContext
from screens.views.decisions import argument_form
from screens.views.decisions import choices as picks
from screens.views.decisions.prompt import PromptChoice
from screens.views.run.json_lines import json_text
from screens.widgets.choice_list import Picks, read_typed_answer
from screens.widgets.editor import Editor, Secret
from screens.widgets.form import Field, Form


class AnswerField(Vertical):
    """Shows the one of the four that fits an incident and a choice. Keeps what was typed and not sent."""

    DEFAULT_CSS = """
    AnswerField {
        display: none;
        height: auto;
        #editor, Secret, Form, Picks { display: none; }
        &.-text #editor, &.-secret Secret, &.-form Form, &.-picks Picks { display: block; }
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

    class SecretChanged(Message):
        """A secret was typed on: what is warned of may have changed."""

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__()
        self._session = session
        self._opened: IncidentOpened | None = None
        self._choice: PromptChoice | None = None
        self._began_with: dict[str, str] = {}
        """What stood in the field when it opened."""
        self._drafts: dict[str, dict[str, str]] = {}
        """What was typed and not sent, by what it belongs to; texts by field."""

    def compose(self) -> ComposeResult:
        yield Editor(id="editor")
        yield Secret()
        yield Form(ellipsis=self._session.glyphs.ellipsis)
        yield Picks(self._session)

    # -- opening and closing ---------------------------------------------------------------------------------

    def begin(self, opened: IncidentOpened, choice: PromptChoice, *, focus: bool) -> None:
        """Open for the answer of `choice`, from what was typed for it before."""
        self._opened, self._choice = opened, choice
        arguments = opened.action.get("arguments") if choice.need == "arguments" else None
        text = json_text(arguments) if arguments is not None else ""
        secret = choice.option == "input" and is_secret(opened.answer_schema)
        fields = argument_form.form_fields(opened, self._session.looks()) if choice.need == "arguments" else []
        offer = picks.offer_of(opened, choice)
        self.set_class(secret, "-secret")
        self.set_class(offer is not None, "-picks")
        self.set_class(bool(fields), "-form")
        self.set_class(not (secret or fields or offer is not None), "-text")
        texts = self._drafts.get(self._draft_key, {})
        self.query_one("#editor", Editor).begin(texts.get("", text), single=choice.need != "arguments", focus=focus)
        if secret:
            self.query_one(Secret).begin(focus=focus)
        elif fields:
            self.query_one(Form).begin([each._replace(text=texts.get(each.name, each.text)) for each in fields])
        elif offer is not None:
            self.query_one(Picks).begin(offer, focus=focus)
        begun = {each.name: texts.get(each.name, each.text) for each in fields}
        self._began_with = begun or self._texts()

    def keep_draft(self, *, sent: bool) -> None:
        """What was sent stands there again if it is refused, and so does the answer to a question that was left."""
        if self._choice is not None:
            kept = sent or self._choice.option == "input"
            self._drafts[self._draft_key] = self._texts() if kept else {}

    def close(self) -> None:
        """Show none of the four, and forget a secret."""
        self.query_one(Secret).value = ""
        self.remove_class("-text", "-secret", "-form", "-picks")

    @property
    def _draft_key(self) -> str:
        assert self._opened is not None
        assert self._choice is not None
        return f"{self._opened.incident_id} {self._choice.option}"

    def _texts(self) -> dict[str, str]:
        """What was typed, by field; never a secret."""
        if self.has_class("-secret") or self.has_class("-picks"):
            return {}
        if self.has_class("-form"):
            return {field.entry.name: field.text for field in self.query_one(Form).fields}
        return {"": self.query_one("#editor", Editor).text}

    # -- what stands in it -----------------------------------------------------------------------------------

    @property
    def input(self) -> Widget:
        """Where the answer is typed or chosen now."""
        kinds: tuple[tuple[str, type[Widget]], ...] = (("-secret", Secret), ("-picks", Picks), ("-form", Field))
        shown = next((kind for name, kind in kinds if self.has_class(name)), None)
        return self.query(shown).first() if shown is not None else self.query_one("#editor", Editor)

    @property
    def has_typed(self) -> bool:
        """Whether the operator typed or chose something since the field opened."""
        if self.has_class("-secret"):
            return bool(self.query_one(Secret).value)
        return self.query_one(Picks).touched if self.has_class("-picks") else self._texts() != self._began_with

    @property
    def offers_list(self) -> bool:
        """Whether the answer is chosen from a list."""
        return self.has_class("-picks")

    @property
    def warning(self) -> str:
        """What is odd about a secret, as far as it is typed; empty if nothing is."""
        text = self.query_one(Secret).value
        return secret_warning(text) if text else ""

    def keys(self) -> dict[str, str]:
        """The keys that go on from here, and what each does."""
        send = self._session.looks().key("editor.send", "ctrl+s")
        keys = {"enter": "sends"} if self.query_one("#editor", Editor).single else {send: "sends"}
        if self.has_class("-form"):
            return {"enter": "goes on", **keys}
        if self.has_class("-picks") and self.query_one(Picks).several:
            return {self._session.looks().key("picks.tick", "space"): "ticks", **keys}
        return keys

    def blame(self, why: str) -> None:
        """Mark the field of a form that does not fit."""
        if self.has_class("-form"):
            self.query_one(Form).blame(why)

    # -- what was sent ---------------------------------------------------------------------------------------

    def on_editor_sent(self, message: Editor.Sent) -> None:
        message.stop()
        if self._choice is None or self._opened is None:
            return
        try:
            text = read_typed_answer(self._opened, self._choice, message.text)
        except ValueError as exc:
            self.post_message(self.Rejected(str(exc)))
        else:
            self.post_message(self.Sent(text))

    def on_form_sent(self, message: Form.Sent) -> None:
        message.stop()
        if self._opened is None:
            return
        try:
            arguments = argument_form.read_arguments(self._opened, message.texts)
        except ValueError as exc:
            self.post_message(self.Rejected(str(exc)))
        else:
            self.post_message(self.Sent(json_text(arguments)))

    def on_picks_sent(self, message: Picks.Sent) -> None:
        message.stop()
        self.post_message(self.Sent(message.value))

    def on_secret_sent(self, message: Secret.Sent) -> None:
        message.stop()
        self.post_message(self.Sent(message.text))

    def on_editor_failed(self, message: Editor.Failed) -> None:
        message.stop()
        self.post_message(self.Rejected(message.why))

    def on_picks_undecided(self, message: Picks.Undecided) -> None:
        message.stop()
        self.post_message(self.Undecided())

    def on_input_changed(self, message: Secret.Changed) -> None:
        message.stop()
        self.post_message(self.SecretChanged())
