"""What a choice of the prompt leads to: a text field, a second key, how long a grant lasts, or the answer at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from textual.message import Message
from textual.widget import Widget

from runtime.judgement.recovery.model_name import check_model_name
from runtime.judgement.recovery.param_validation import check_params
from runtime.record.state.durable_run import DurableRun
from screens.render.layout import span
from screens.views.decisions.prompt_choices import LATER_OPTION, PromptChoice
from screens.views.decisions.prompt_stage import PromptMode
from screens.views.decisions.typed_answer import answer_params
from screens.widgets.forms.answer_form import AnswerForm
from screens.widgets.prompts.answer_field import AnswerField
from screens.widgets.prompts.option_columns import OptionColumns
from screens.widgets.prompts.prompt_display import PromptDisplay, RequestText


class ChoosingPrompt(PromptDisplay):
    """Carries a choice to its answer: `Answered` says what was decided. Which key chooses is `Prompt`'s matter."""

    state: DurableRun | None = None
    """The run of the decision, if it is known: the name of a model is checked against it."""

    _word_until = 0.0
    """Until then (monotonic) another letter means that the one that decided was typed as text."""
    _is_word = False
    """Such a letter came: what is held is taken back."""
    _opens_field = False
    """A field opened by itself and takes the focus once keys count."""

    @dataclass
    class Answered(Message, namespace="prompt"):
        """The operator decided. `revision` is of the incident as it was shown; `confirmed`: with a second key."""

        incident_id: str
        revision: int
        option: str
        params: dict[str, Any]
        reason: str = ""
        confirmed: bool = False

    @dataclass
    class Proposed(Message, namespace="prompt"):
        """A standing grant is about to be confirmed. `show_preview` tells what its words would have matched."""

        incident_id: str
        lifetime: str

    @dataclass
    class TakenBack(Message, namespace="prompt"):
        """The answer that is held is not to be sent."""

    @dataclass
    class SentNow(Message, namespace="prompt"):
        """The answer that is held is to be sent at once."""

    @dataclass
    class Left(Message, namespace="prompt"):
        """The operator leaves it for later."""

    def show_preview(self, incident_id: str, lifetime: str, words: str) -> None:
        """What the grant that is about to be confirmed would have matched; words that come too late are dropped."""
        here = self.opened is not None and self.opened.incident_id == incident_id
        if here and self.mode == "confirm" and self._lifetime == lifetime:
            self._matched = words
            self._paint()

    def _choose(self, choice: PromptChoice) -> None:
        self._note = ()
        if choice.option == LATER_OPTION:
            self._back()
        elif choice.refused:
            self._note = span(choice.refused, "severity-warning")
            self._hint()
        elif self.mode == "lifetime":
            self._lifetime, self._matched = choice.option, ""
            self._turn("confirm")
            if self.opened is not None:
                self.post_message(self.Proposed(self.opened.incident_id, choice.option))
        elif self.mode == "confirm":
            assert self._choice is not None
            self._send(self._choice, self._lifetime if self._choice.standing else None)
        elif choice.standing and not self._is_read:
            key = self._session.render_context().key("prompt.page_down", "pgdn")
            self._note = span(f"Read the action to its end first: {key} pages down in it.", "severity-warning")
            self._unfold()
            self._focus_on(self.query_one(RequestText))
        elif choice.standing:
            self._choice = choice
            self._turn("lifetime")
        elif choice.param is not None:
            self._by_itself = False
            self._type(choice)
        elif choice.press == "asks":
            self._choice = choice
            self._turn("confirm")
        else:
            self._send(choice, None)

    @property
    def _is_read(self) -> bool:
        """Whether the whole action could have been read."""
        return (self._unfolded or not self._folds) and self.query_one(RequestText).seen_whole

    def _back(self) -> None:
        if self.mode == "choose":
            self.post_message(self.Left())
        else:
            self._turn("choose")

    def _turn(self, mode: PromptMode) -> None:
        """Offer other choices: a letter means something else there (`a` is "always", then "abort"), so keys that were
        on their way decide nothing.
        """
        self._set_mode(mode)
        self._paint(afresh=True)

    def _type(self, choice: PromptChoice) -> None:
        assert self.opened is not None
        self._choice = choice
        self._set_mode("type")
        self.query_one(AnswerField).begin(self.opened, choice, focus=not self._by_itself)
        self._paint()

    def on_answer_field_sent(self, message: AnswerField.Sent) -> None:
        message.stop()
        if self._choice is not None and self.opened is not None:
            self._send(self._choice, message.value)

    def on_answer_field_rejected(self, message: AnswerField.Rejected) -> None:
        message.stop()
        self._show_error(message.why)

    def on_answer_field_undecided(self, message: AnswerField.Undecided) -> None:
        message.stop()
        self._note = span(self.query_one(AnswerField).undecided_words, "severity-warning")
        self._hint()

    def on_answer_field_changed(self, message: AnswerField.Changed) -> None:
        message.stop()
        if self.mode == "type":
            self._note = ()
            self._paint()

    def _show_error(self, why: object) -> None:
        """What was typed does not fit; it stays, to be mended."""
        self._note = span(self._session.render_context().sanitize_line(str(why), 200), "severity-error")
        self._hint()

    def _send(self, choice: PromptChoice, value: Any) -> None:
        assert self.opened is not None
        if self.mode == "type" and not (self.query_one(AnswerField).has_typed or self._arming.accept("enter")):
            return  # who has typed into the field has seen it; an untouched one may have opened under a key
        adopted = choice.adopted
        try:
            params = dict(adopted.params) if adopted is not None else answer_params(choice, value)
            check_params(self.opened, choice.option, params, self._session.clock())
            if choice.takes_model and self.state is not None:
                check_model_name(str(params.get("model", "")), self.state)
            if adopted is None and params.get("arguments", self) == self.opened.action.get("arguments"):
                raise ValueError("Nothing is changed: change an argument, or go back with esc.")
        except ValueError as exc:
            self._show_error(exc)
            return
        confirmed, opened = self.mode == "confirm", self.opened
        held = self.mode == "choose" and self._session.hold.seconds > 0
        self._word_until = self._session.monotonic() + self._session.arm_after if held else 0.0
        self._is_word = False
        self._set_mode("sent")
        self._arming.disarm()
        self._hint()
        reason = f"as {adopted.by.name} proposed: {adopted.reason}" if adopted is not None else ""
        self.post_message(self.Answered(opened.incident_id, opened.revision, choice.option, params, reason, confirmed))

    def _set_mode(self, mode: PromptMode) -> None:
        was, self.mode = self.mode, mode
        self.set_class(mode == "type", "-typing")
        self._opens_field = False
        if was == "type" and mode != "type":
            field = self.query_one(AnswerField)
            field.keep_draft(sent=mode == "sent")
            if self.has_focus_within:
                self._focus_on(self.query_one(OptionColumns))
            field.close()

    # -- the focus -------------------------------------------------------------------------------------------

    def take_focus(self) -> None:
        """Put the focus where the answer is given: on the choice that does nothing, or in the field."""
        if self.mode != "type":
            self._focus_on(self.query_one(OptionColumns))
        elif self.armed:
            self._focus_on(self.query_one(AnswerField).input)
        else:
            self._focus_on(self.query_one(RequestText))
            self._opens_field = True

    @property
    def has_next_field(self) -> bool:
        """Whether the focus is in a form, and not in its last field."""
        return any(row.has_focus_within for row in self.query_one(AnswerForm).rows[:-1])

    def _focus_on(self, widget: Widget) -> None:
        """Give `widget` the focus now. `Widget.focus` leaves it to the app, which may come to it after keys count."""
        self.screen.set_focus(widget)

    def _armed_changed(self) -> None:
        if self._opens_field and self.armed and self.opened is not None and self.is_attached:
            self._opens_field = False
            if self.screen.focused in (None, self.query_one(RequestText)):  # the operator looks at nothing else
                self._focus_on(self.query_one(AnswerField).input)
        super()._armed_changed()
