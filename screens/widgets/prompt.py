"""The prompt widget: where an operator decides.

Its manners are rules (`arms after a parse_moment`, `enter never grants`, …), each
with a name in the tests; what it shows and offers is made by `screens.views.decisions.prompt`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message

from runtime.judgement.recovery.options import is_destructive
from runtime.record.state.events import IncidentOpened
from screens.render.confusables import mark_confusables
from screens.render.formatting import pluralize
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    plain_text,
    span,
)
from screens.shell.context import ConsoleContext
from screens.views.decisions import prompt as view
from screens.views.decisions.prompt import LATER_OPTION, LIFETIME_CHOICES, PromptChoice
from screens.views.shared.link_quality import VIEW_ONLY, WHO_MAY
from screens.widgets.answer_field import AnswerField
from screens.widgets.arming import Arming
from screens.widgets.bar import Bar
from screens.widgets.option_columns import ADVISED_MARK, Choices
from screens.widgets.text_page import TextPage

PromptMode = Literal["choose", "type", "lifetime", "confirm", "sent"]

_MOVES = frozenset(
    {
        "up",
        "down",
        "left",
        "right",
        "tab",
        "shift+tab",
        "pageup",
        "pagedown",
        "ctrl+f",
        "ctrl+b",
        "home",
        "end",
        "j",
        "k",
    }
)
"""Keys that only look around; they need no arming."""

_LEAVES = frozenset({"escape", "question_mark", "f1", "ctrl+q", "ctrl+c"})
"""Keys that lead away; they are never ignored."""


class Asked(TextPage):
    """The exact action, on the prompt's ground."""

    GROUND: ClassVar[str] = "panel"


class Prompt(Vertical):
    """Shows one incident and takes its answer. `Answered` says what was decided; carrying it out is another's work."""

    DEFAULT_CSS = """
    Prompt {
        display: none;
        height: auto;
        background: $panel;
        border-top: solid $line;
        border-title-color: $state-waiting;
        border-title-style: bold;
        &.-shown { display: block; }
        &:focus-within { border-top: solid $line-focus; }
        Asked { background: $panel; height: 1; }
        Choices { height: 1; }
        &.-typing Choices { display: none; }
        &.-typing AnswerField { display: block; }
    }
    """

    BINDING_GROUP_TITLE = "Prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown,ctrl+f", "scroll_asked(1)", "Read the action on", show=False, id="prompt.page_down"),
        Binding("pageup,ctrl+b", "scroll_asked(-1)", "Read the action back", show=False, id="prompt.page_up"),
    ]

    @dataclass
    class Answered(Message):
        """The operator decided. `revision` is of the incident as it was shown."""

        incident_id: str
        revision: int
        option: str
        params: dict[str, Any]

    @dataclass
    class Proposed(Message):
        """A standing grant is about to be confirmed. `show_preview` tells what its words would have matched."""

        incident_id: str
        lifetime: str

    @dataclass
    class Left(Message):
        """The operator leaves it for later."""

    def __init__(self, session: ConsoleContext, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._session = session
        self.opened: IncidentOpened | None = None
        self.mode: PromptMode = "choose"
        self._arming = Arming(self, session, self._armed_changed, laid_out=self._laid_out)
        self._opens_field = False
        """A field opened by itself and takes the focus once keys count."""
        self._by_itself = False
        """The field that is open opened by itself, and not by a key of the operator."""
        self._choice: PromptChoice | None = None
        self._lifetime = ""
        self._matched = ""
        self._title = ""
        self._held = 0
        self._advised = ""
        self._may_act = True
        self._note: Spans = ()

    def compose(self) -> ComposeResult:
        yield Asked()
        yield Choices(self._session.glyphs)
        yield AnswerField(self._session)
        yield Bar(id="hint", ellipsis=self._session.glyphs.ellipsis)

    # -- what is shown ---------------------------------------------------------------------------------------

    def ask(self, opened: IncidentOpened, held: int = 0, advised: str = "", *, may_act: bool = True) -> bool:
        """Show an incident, how many nodes it holds up, and the option that an analysis recommends. Another incident
        than before begins anew, and arms anew; a text that is being typed stays. Who may not act is told so at once,
        and offered nothing. Returns whether it is another incident than before.
        """
        self._held, self._advised, self._may_act = held, advised, may_act
        if self.opened is not None and self.opened.incident_id == opened.incident_id:
            self._paint()
            return False
        if self._is_typed:
            return False
        self._set_mode("choose")
        self.opened = opened
        self._note = ()
        self._arming.forget()
        self.add_class("-shown")
        self._paint(afresh=True)
        self._open_field()
        return True

    def put_away(self, why: str = "") -> None:
        """The incident that is shown needs no answer any more; a text that is being typed stays until it is left."""
        if self.opened is None:
            return
        if self._is_typed:
            self._note = span(
                f"{why or 'This is decided.'} Your text can still be copied; esc leaves it.", "severity-warning"
            )
            self._hint()
            return
        self._set_mode("choose")
        self.opened = None
        self._arming.disarm()
        if self.has_focus_within:
            self.screen.set_focus(None)
        self.remove_class("-shown")

    def show_refusal(self, why: str) -> None:
        """The answer was not taken: say why, and let the operator choose again."""
        self._note = span(self._session.looks().line(why, 300), "severity-error")
        if self.mode == "sent":
            self._set_mode("choose")
        self._paint()

    def show_preview(self, incident_id: str, lifetime: str, words: str) -> None:
        """What the grant that is about to be confirmed would have matched; words that come too late are dropped."""
        here = self.opened is not None and self.opened.incident_id == incident_id
        if here and self.mode == "confirm" and self._lifetime == lifetime:
            self._matched = words
            self._paint()

    def _paint(self, *, afresh: bool = False) -> None:
        opened, looks = self.opened, self._session.looks()
        if opened is None:
            return
        title = plain_text(view.title_line(opened, looks, self._held))
        if title != self._title:  # setting a title paints the whole widget, even if it is the same
            self._title = title
            self.border_title = Content(title)  # a plain string would be read as markup
        question, offered = self._question(opened), self._offered()
        self.query_one(Asked).show(question, opened.incident_id)
        self.query_one(Choices).show(offered, afresh=afresh)
        self._ask_for_keys(question, offered)
        self._hint()
        self._fit()

    def _ask_for_keys(self, question: list[Spans], offered: list[PromptChoice]) -> None:
        """What the next key decides about; an advice changes nothing of that."""
        if self.mode == "sent" or not self._may_act:
            self._arming.disarm()
            return
        about = (self._shown.incident_id, self._shown.revision, self.mode)
        if self.mode == "type":
            self._arming.ask((*about, self._choice.option if self._choice is not None else ""))
        else:
            decides = tuple(replace(each, advised=False) for each in offered)
            self._arming.ask((*about, decides, tuple(question)), second=self.mode == "confirm")

    def _question(self, opened: IncidentOpened) -> list[Spans]:
        looks = self._session.looks()
        if self.mode != "confirm":
            return view.question_lines(opened, looks)
        if self._choice is not None and not self._choice.standing:
            return view.destroying_lines(self._choice, looks)
        words = view.grant_words(opened, self._lifetime)
        lines = [
            span("This grant says:", "ink-muted"),
            *(view.mark_invisible(mark_confusables(line)) for line in looks.block(words)),
        ]
        return [*lines, span(looks.line(self._matched), "severity-warning")] if self._matched else lines

    def _offered(self) -> list[PromptChoice]:
        assert self.opened is not None
        if self.mode == "lifetime":
            back = PromptChoice("escape", LATER_OPTION, "Back")
            return [back, *(PromptChoice(key, value, words, enter=False) for value, key, words in LIFETIME_CHOICES)]
        if self.mode == "confirm":
            assert self._choice is not None
            does = "Yes, grant this" if self._choice.standing else f"Yes: {self._choice.label}"
            yes = "y" if self._choice.key != "y" else "Y"  # never the key that chose it
            return [PromptChoice("escape", LATER_OPTION, "Back"), PromptChoice(yes, "yes", does, enter=False)]
        if not self._may_act:
            return view.view_only_choices()
        offered = view.prompt_choices(self.opened, self._session.looks(), self._session.letters)
        if not self._advised:
            return offered
        return [replace(each, advised=each.option == self._advised and not each.standing) for each in offered]

    def _hint(self) -> None:
        asked = self.query_one(Asked)
        below = (
            f"{self._session.glyphs.more} {pluralize(asked.lines_below, 'more line')} below"
            if asked.lines_below
            else ""
        )
        deadline = view.deadline_line(self.opened, self._session.looks()) if self.opened is not None else ()
        right = join_spans((deadline, span(below, "severity-warning")))
        self.query_one("#hint", Bar).show(self._note or self._usual_hint(), right)

    def _usual_hint(self) -> Spans:
        if self.mode == "sent":
            return span("sent, not yet confirmed", "ink-muted")
        if not self._may_act:
            return span(f"{VIEW_ONLY}: this login may not answer; {WHO_MAY}", "severity-warning")
        if self.mode == "type" and self._choice is not None and self.opened is not None:
            return self._typing_hint(self.opened, self._choice)
        swallowed = (*self._arming.ignored_text(), Span(" typed before", "severity-warning")) if self.ignored else ()
        does = "one key goes on" if self.mode == "lifetime" else "one key decides"
        ready = span(does if self.armed else "takes keys in a moment", "ink-muted")
        offers = self.mode == "choose" and any(choice.advised for choice in self._offered())
        return join_spans(
            (swallowed, ready, span(f"{ADVISED_MARK} a model advises this" if offers else "", "ink-muted"))
        )

    def _typing_hint(self, opened: IncidentOpened, choice: PromptChoice) -> Spans:
        """What is wanted, and how it is sent."""
        field = self.query_one(AnswerField)
        keys = {**field.keys(), "esc": "goes back"}
        hints = ((Span(key, "ink-key"), Span(f" {does}", "ink-muted")) for key, does in keys.items())
        kind = "" if field.offers_list else view.asked_for(opened, choice, self._session.looks())
        soon = () if self.armed or not self._by_itself else span("takes keys in a moment", "ink-muted")
        told = (self._arming.ignored_text(), soon, span(kind, "ink-accent"), span(field.warning, "severity-warning"))
        # The keys stand before what may be long: how it is sent and left must not be cut off.
        return join_spans((span(f"{choice.label}:", "ink-strong"), join_spans(hints, ", "), *told), "  ")

    def _fit(self) -> None:
        """As high as needed, but never more than about half of the screen."""
        asked, choices = self.query_one(Asked), self.query_one(Choices)
        height = self.screen.size.height
        for_choices = min(max(1, choices.rows), max(2, height // 3))
        for_asked = max(1, min(asked.lines_needed, height // 5 + 1))
        for widget, height in ((asked, for_asked), (choices, for_choices)):
            if widget.styles.height is None or widget.styles.height.value != height:
                widget.styles.height = height

    def on_text_page_seen(self, message: TextPage.Seen) -> None:
        message.stop()
        self._fit()
        self._hint()

    def on_resize(self) -> None:
        if self.opened is not None:
            self.query_one(Choices).show(self._offered(), afresh=False)
            self._fit()

    def take_focus(self) -> None:
        """Put the focus where the answer is given: on the choice that does nothing, or in the field."""
        if self.mode != "type":
            self.query_one(Choices).focus()
        elif self.armed:
            self.query_one(AnswerField).input.focus()
        else:
            self.query_one(Asked).focus()
            self._opens_field = True

    def action_scroll_asked(self, direction: int) -> None:
        """Read the action without leaving the choices."""
        self.query_one(Asked).action_page(direction)

    # -- arming ----------------------------------------------------------------------------------------------

    @property
    def armed(self) -> bool:
        """Whether keys count."""
        return self._arming.armed

    @property
    def ignored(self) -> int:
        """Keys that came too early for this incident."""
        return self._arming.ignored

    def _laid_out(self) -> bool:
        return self.opened is not None and self.query_one(Asked).is_shown(self.opened.incident_id)

    def _armed_changed(self) -> None:
        """Keys count from now on, or no longer."""
        if self.opened is None or not self.is_attached:
            return
        if self._opens_field and self.armed:
            self._opens_field = False
            if self.query_one(Asked).has_focus:
                self.query_one(AnswerField).input.focus()
        self._hint()

    def _open_field(self) -> None:
        """A question is answered by typing: its field is open at once. Until keys count the focus is beside it."""
        if not (self._may_act and self._shown.question):
            return
        answer = next((each for each in self._offered() if each.option == "input"), None)
        if answer is not None:
            self._by_itself = True
            self._type(answer)

    @property
    def _is_typed(self) -> bool:
        """Whether something is being typed that must not be taken away."""
        if self.mode != "type" or self.opened is None:
            return False
        return not self._by_itself or self.query_one(AnswerField).has_typed

    # -- keys ------------------------------------------------------------------------------------------------

    def take_key(self, event: events.Key) -> bool:
        """A key was pressed outside of text fields. True if it was the prompt's: then it goes no further."""
        if self.opened is None or self.mode == "sent":
            return False
        if self.mode == "type":
            return self._take_while_typing(event)
        key = event.character if event.is_printable and event.character else event.key
        mine = self.has_focus_within and event.key not in _MOVES
        choice = next((one for one in self._offered() if one.key == key), None)
        if choice is None and not self._may_act and mine:
            return key in self._session.letters.values()  # it decides nothing, and means nothing else in here
        if choice is None or (choice.option == LATER_OPTION and not self.has_focus_within and self.mode == "choose"):
            second = self.mode == "confirm" and event.is_printable  # wherever the focus is
            return (mine or second) and self._take_other(event)
        if choice.option == LATER_OPTION or self._arming.accept(event.key):
            self._choose(choice)
        return True

    def _take_other(self, event: events.Key) -> bool:
        """A key that chooses nothing. One that came early was meant for something else; one that came instead of the
        second key leaves what was asked.
        """
        if event.key in _LEAVES:
            return False
        if not self.armed:
            return not self._arming.accept(event.key)
        if self.mode == "confirm" and event.is_printable:
            self._back()
            return True
        return False

    def _take_while_typing(self, event: events.Key) -> bool:
        if event.key == "escape" and (self.has_focus_within or not self._by_itself):
            self._note = ()
            self._turn("choose")
            return True
        looks_around = event.key in _MOVES and not event.is_printable
        if self._opens_field and self.has_focus_within and event.key not in _LEAVES and not looks_around:
            return not self._arming.accept(event.key)
        return self._by_itself and not self.has_focus_within and self._take_beside(event)

    def _take_beside(self, event: events.Key) -> bool:
        """The focus is elsewhere while the field of a question stands open: the letters of its options count there."""
        key = event.character if event.is_printable and event.character else event.key
        choice = next((one for one in self._offered() if one.key == key and one.option != LATER_OPTION), None)
        if choice is None:
            return False
        if self._arming.accept(event.key):
            if choice.option != "input":
                self._choose(choice)
            self.take_focus()
        return True

    def on_choices_taken(self, message: Choices.Taken) -> None:
        """Enter: never a grant, and nothing before the prompt is armed."""
        message.stop()
        choice = message.choice
        if not choice.enter:
            does = "confirm" if self.mode == "confirm" else "grant"
            self._note = (Span(f"enter does not {does}: press ", "severity-warning"), Span(choice.key, "ink-key"))
            self._hint()
        elif choice.option == LATER_OPTION or self._arming.accept("enter"):
            self._choose(choice)

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
        elif choice.standing and not self.query_one(Asked).seen_whole:
            key = self._session.looks().key("prompt.page_down", "pgdn")
            self._note = span(f"Read the action to its end first: {key} pages down in it.", "severity-warning")
            self._hint()
        elif choice.need == "lifetime":
            self._choice = choice
            self._turn("lifetime")
        elif choice.need:
            self._by_itself = False
            self._type(choice)
        elif is_destructive(self._shown, choice.option, runs=self._runs_of_breaker()):
            self._choice = choice
            self._turn("confirm")
        else:
            self._send(choice, None)

    @property
    def _shown(self) -> IncidentOpened:
        assert self.opened is not None
        return self.opened

    def _runs_of_breaker(self) -> int:
        """How many runs wait for the breaker that this incident is about."""
        breaker = self._shown.action.get("breaker")
        waiting = self._session.link.incidents.values()
        return len({each.run_id for each in waiting if breaker and each.opened.action.get("breaker") == breaker})

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
        self._note = span("Nothing is chosen yet: down, or a digit, marks one.", "severity-warning")
        self._hint()

    def on_answer_field_secret_changed(self, message: AnswerField.SecretChanged) -> None:
        message.stop()
        if self.mode == "type":
            self._hint()

    def _show_error(self, why: object) -> None:
        """What was typed does not fit; it stays, to be mended."""
        self._note = span(self._session.looks().line(str(why), 200), "severity-error")
        self._hint()
        self.query_one(AnswerField).blame(str(why))

    def _send(self, choice: PromptChoice, value: Any) -> None:
        assert self.opened is not None
        if self.mode == "type" and not (self.query_one(AnswerField).has_typed or self._arming.accept("enter")):
            return  # who has typed into the field has seen it; an untouched one may have opened under a key
        try:
            params = view.answer_params(choice, value)
            view.check_answer(self.opened, choice.option, params)
        except ValueError as exc:
            self._show_error(exc)
            return
        self._set_mode("sent")
        self._arming.disarm()
        self._hint()
        opened = self.opened
        self.post_message(self.Answered(opened.incident_id, opened.revision, choice.option, params))

    def _set_mode(self, mode: PromptMode) -> None:
        was, self.mode = self.mode, mode
        self.set_class(mode == "type", "-typing")
        self._opens_field = False
        if was == "type" and mode != "type":
            field = self.query_one(AnswerField)
            field.keep_draft(sent=mode == "sent")
            if self.has_focus_within:
                self.query_one(Choices).focus()
            field.close()
