"""The prompt: where an operator decides. Its manners are rules (`arms after a moment`, `enter never grants`, …), each
with a name in the tests; what it shows and offers is made by `screens.views.prompt`.
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
from textual.timer import Timer

from runtime.judgement.inputs import is_secret, secret_warning
from runtime.record.events import IncidentOpened
from screens.layout import Span, Spans, joined, plain, span
from screens.link import Session
from screens.lookalikes import mark
from screens.views import form, picks
from screens.views import prompt as view
from screens.views.prompt import LATER, LIFETIMES, Choice
from screens.views.quality import VIEW_ONLY, WHO_MAY
from screens.views.values import json_text
from screens.widgets.bar import Bar
from screens.widgets.choices import ADVISED, Choices
from screens.widgets.editor import Editor, Secret
from screens.widgets.form import Form
from screens.widgets.livepage import LivePage
from screens.widgets.pace import SOON
from screens.widgets.picks import Picks, typed
from screens.words import plural

Mode = Literal["choose", "type", "lifetime", "confirm", "sent"]

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


class Asked(LivePage):
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
        #editor, Secret, Form, Picks { display: none; }
        &.-typing #editor, &.-secret Secret, &.-form Form, &.-picks Picks { display: block; }
        &.-secret #editor, &.-form #editor, &.-picks #editor { display: none; }
        &.-typing Choices { display: none; }
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
        """A standing grant is about to be confirmed; what its words would have matched is for `matched` to tell."""

        incident_id: str
        lifetime: str

    @dataclass
    class Left(Message):
        """The operator leaves it for later."""

    def __init__(self, session: Session, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._session = session
        self.opened: IncidentOpened | None = None
        self.mode: Mode = "choose"
        self.armed = False
        self.ignored = 0
        self._choice: Choice | None = None
        self._lifetime = ""
        self._matched = ""
        self._title = ""
        self._held = 0
        self._advised = ""
        self._may_act = True
        self._note: Spans = ()
        self._draft: tuple[str, dict[str, str]] = ("", {})
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Asked()
        yield Choices(self._session.glyphs)
        yield Editor(id="editor")
        yield Secret()
        yield Form(ellipsis=self._session.glyphs.ellipsis)
        yield Picks(self._session)
        yield Bar(id="hint", ellipsis=self._session.glyphs.ellipsis)

    # -- what is shown ---------------------------------------------------------------------------------------

    def ask(self, opened: IncidentOpened, held: int = 0, advised: str = "", *, may_act: bool = True) -> None:
        """Show an incident, how many nodes it holds up, and the option that an analysis recommends. Another incident
        than before begins anew, and arms anew; a text that is being typed stays. Who may not act is told so at once,
        and offered nothing.
        """
        self._held, self._advised, self._may_act = held, advised, may_act
        if self.opened is not None and self.opened.incident_id == opened.incident_id:
            self._paint()
            return
        if self.mode == "type" and self.opened is not None:
            return
        self.opened = opened
        self._to("choose")
        self.ignored, self._note = 0, ()
        self.add_class("-shown")
        self._paint(afresh=True)
        self._disarm()

    def put_away(self, why: str = "") -> None:
        """The incident that is shown needs no answer any more; a text that is being typed stays until it is left."""
        if self.opened is None:
            return
        if self.mode == "type":
            self._note = span(
                f"{why or 'This is decided.'} Your text can still be copied; esc leaves it.", "severity-warning"
            )
            self._hint()
            return
        self.opened = None
        self._to("choose")
        if self.has_focus_within:
            self.screen.set_focus(None)
        self.remove_class("-shown")

    def refused(self, why: str) -> None:
        """The answer was not taken: say why, and let the operator choose again."""
        self._note = span(self._session.looks().line(why, 300), "severity-error")
        if self.mode == "sent":
            self._to("choose")
        self._paint()

    def matched(self, incident_id: str, lifetime: str, words: str) -> None:
        """What the grant that is about to be confirmed would have matched; words that come too late are dropped."""
        here = self.opened is not None and self.opened.incident_id == incident_id
        if here and self.mode == "confirm" and self._lifetime == lifetime:
            self._matched = words
            self._paint()

    def _paint(self, *, afresh: bool = False) -> None:
        opened, looks = self.opened, self._session.looks()
        if opened is None:
            return
        title = plain(view.title_line(opened, looks, self._held))
        if title != self._title:  # setting a title paints the whole widget, even if it is the same
            self._title = title
            self.border_title = Content(title)  # a plain string would be read as markup
        self.query_one(Asked).show(self._question(opened), opened.incident_id)
        self.query_one(Choices).show(self._offered(), afresh=afresh)
        self._hint()
        self._fit()

    def _question(self, opened: IncidentOpened) -> list[Spans]:
        looks = self._session.looks()
        if self.mode != "confirm":
            return view.question_lines(opened, looks)
        words = view.grant_words(opened, self._lifetime)
        lines = [span("This grant says:", "ink-muted"), *(view.marked(mark(line)) for line in looks.block(words))]
        return [*lines, span(looks.line(self._matched), "severity-warning")] if self._matched else lines

    def _offered(self) -> list[Choice]:
        assert self.opened is not None
        if self.mode == "lifetime":
            back = Choice("escape", LATER, "Back")
            return [back, *(Choice(key, value, words, enter=False) for value, key, words in LIFETIMES)]
        if self.mode == "confirm":
            return [Choice("escape", LATER, "Back"), Choice("y", "yes", "Yes, grant this", enter=False)]
        if not self._may_act:
            return view.only_looked_at()
        offered = view.choices(self.opened, self._session.looks(), self._session.letters)
        if not self._advised:
            return offered
        return [replace(each, advised=each.option == self._advised and not each.standing) for each in offered]

    def _hint(self) -> None:
        asked = self.query_one(Asked)
        below = f"{self._session.glyphs.more} {plural(asked.below, 'more line')} below" if asked.below else ""
        deadline = view.deadline_line(self.opened, self._session.looks()) if self.opened is not None else ()
        right = joined((deadline, span(below, "severity-warning")))
        self.query_one("#hint", Bar).show(self._note or self._usual_hint(), right)

    def _usual_hint(self) -> Spans:
        if self.mode == "sent":
            return span("sent, not yet confirmed", "ink-muted")
        if not self._may_act:
            return span(f"{VIEW_ONLY}: this login may not answer; {WHO_MAY}", "severity-warning")
        if self.mode == "type" and self._choice is not None and self.opened is not None:
            return self._typing_hint(self.opened, self._choice)
        swallowed = (
            span(f"ignored {plural(self.ignored, 'key')} typed before", "severity-warning") if self.ignored else ()
        )
        does = "one key goes on" if self.mode == "lifetime" else "one key decides"
        ready = span(does if self.armed else "takes keys in a moment", "ink-muted")
        offers = self.mode == "choose" and any(choice.advised for choice in self._offered())
        return joined((swallowed, ready, span(f"{ADVISED} a model advises this" if offers else "", "ink-muted")))

    def _typing_hint(self, opened: IncidentOpened, choice: Choice) -> Spans:
        """What is wanted, and how it is sent."""
        send = self._session.looks().key("editor.send", "ctrl+s")
        keys = {"enter": "sends"} if self.query_one("#editor", Editor).single else {send: "sends"}
        if self.has_class("-form"):
            keys = {"enter": "goes on", **keys}
        elif self.has_class("-picks") and self.query_one(Picks).several:
            keys = {self._session.looks().key("picks.tick", "space"): "ticks", **keys}
        keys["esc"] = "goes back"
        hints = ((Span(key, "ink-key"), Span(f" {does}", "ink-muted")) for key, does in keys.items())
        kind = "" if self.has_class("-picks") else view.asked_for(opened, choice, self._session.looks())
        warning = secret_warning(text) if (text := self.query_one(Secret).value) else ""
        told = (span(kind, "ink-accent"), span(warning, "severity-warning"))
        # The keys stand before what may be long: how it is sent and left must not be cut off.
        return joined((span(f"{choice.label}:", "ink-strong"), joined(hints, ", "), *told), "  ")

    def _fit(self) -> None:
        """As high as needed, but never more than about half of the screen."""
        asked, choices = self.query_one(Asked), self.query_one(Choices)
        height = self.screen.size.height
        for_choices = min(max(1, choices.rows), max(2, height // 3))
        for_asked = max(1, min(asked.lines_needed, height // 5 + 1))
        for widget, height in ((asked, for_asked), (choices, for_choices)):
            if widget.styles.height is None or widget.styles.height.value != height:
                widget.styles.height = height

    def on_live_page_seen(self, message: LivePage.Seen) -> None:
        message.stop()
        self._fit()
        self._hint()

    def on_resize(self) -> None:
        if self.opened is not None:
            self.query_one(Choices).show(self._offered(), afresh=False)
            self._fit()

    def focus_choices(self) -> None:
        """Put the focus on the choice that does nothing."""
        self.query_one(Choices).focus()

    def action_scroll_asked(self, direction: int) -> None:
        """Read the action without leaving the choices."""
        self.query_one(Asked).action_page(direction)

    # -- arming ----------------------------------------------------------------------------------------------

    def _disarm(self) -> None:
        """Take no keys until the prompt has been on the screen for a moment in which nobody typed."""
        self.armed = False
        if self._timer is not None:
            self._timer.stop()
        self.call_after_refresh(self._start_timer, self.opened)
        self._hint()

    def _start_timer(self, opened: IncidentOpened | None) -> None:
        if opened is self.opened and opened is not None:
            if self._timer is not None:
                self._timer.stop()
            self._timer = self.set_timer(max(SOON, self._session.arm_after), self._arm)

    def _arm(self) -> None:
        """Take keys from now on, provided that what they decide about can be read."""
        if self.opened is not None and not self.query_one(Asked).stands(self.opened.incident_id):
            self._disarm()
            return
        self.armed = True
        self._hint()

    # -- keys ------------------------------------------------------------------------------------------------

    def take(self, event: events.Key) -> bool:
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
        if choice is None or (choice.option == LATER and not self.has_focus_within and self.mode == "choose"):
            return mine and not self.armed and self._swallow(event)
        if choice.option != LATER and not self.armed:
            return self._swallow(event)
        self._choose(choice)
        return True

    def _swallow(self, event: events.Key) -> bool:
        """A key that was on its way before anybody could read the prompt. Each one starts the moment anew."""
        if event.key in ("escape", "question_mark", "f1", "ctrl+q", "ctrl+c"):
            return False
        self.ignored += 1
        self._disarm()
        return True

    def _take_while_typing(self, event: events.Key) -> bool:
        if event.key != "escape":
            return False
        self._to("choose")
        self._note = ()
        self._paint(afresh=True)
        self._disarm()
        return True

    def on_choices_taken(self, message: Choices.Taken) -> None:
        """Enter: never a grant, and nothing before the prompt is armed."""
        message.stop()
        choice = message.choice
        if not choice.enter:
            key = choice.key
            self._note = (Span("enter does not grant: press ", "severity-warning"), Span(key, "ink-key"))
            self._hint()
        elif choice.option != LATER and not self.armed:
            self.ignored += 1
            self._disarm()
        else:
            self._choose(choice)

    def _choose(self, choice: Choice) -> None:
        self._note = ()
        if choice.option == LATER:
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
            self._send(self._choice, self._lifetime)
        elif choice.standing and not self.query_one(Asked).seen_whole:
            key = self._session.looks().key("prompt.page_down", "pgdn")
            self._note = span(f"Read the action to its end first: {key} pages down in it.", "severity-warning")
            self._hint()
        elif choice.need == "lifetime":
            self._choice = choice
            self._turn("lifetime")
        elif choice.need:
            self._type(choice)
        else:
            self._send(choice, None)

    def _back(self) -> None:
        if self.mode == "choose":
            self.post_message(self.Left())
        else:
            self._turn("choose")

    def _turn(self, mode: Mode) -> None:
        """Offer other choices: a letter means something else there (`a` is "always", then "abort"), so keys that were
        on their way decide nothing.
        """
        self._to(mode)
        self._paint(afresh=True)
        self._disarm()

    def _type(self, choice: Choice) -> None:
        assert self.opened is not None
        self._choice = choice
        self._to("type")
        arguments = self.opened.action.get("arguments") if choice.need == "arguments" else None
        text = json_text(arguments) if arguments is not None else ""
        secret = choice.option == "input" and is_secret(self.opened.answer_schema)
        fields = form.entries(self.opened, self._session.looks()) if choice.need == "arguments" else []
        offer = picks.offer_of(self.opened, choice)
        self.set_class(secret, "-secret")
        self.set_class(offer is not None, "-picks")
        self.set_class(bool(fields), "-form")
        before, texts = self._draft if self._draft[0] == self._drafted(choice) else ("", {})
        self.query_one("#editor", Editor).begin(
            texts.get("", text) if before and not fields else text, single=choice.need != "arguments"
        )
        if secret:
            self.query_one(Secret).begin()
        elif fields:
            self.query_one(Form).begin([each._replace(text=texts.get(each.name, each.text)) for each in fields])
        elif offer is not None:
            self.query_one(Picks).begin(offer)
        self._hint()

    def on_editor_sent(self, message: Editor.Sent) -> None:
        message.stop()
        if self._choice is None or self.opened is None:
            return
        try:
            text = typed(self.opened, self._choice, message.text)
        except ValueError as exc:
            self._wrong(exc)
        else:
            self._send(self._choice, text)

    def on_editor_failed(self, message: Editor.Failed) -> None:
        message.stop()
        self._wrong(message.why)

    def on_picks_sent(self, message: Picks.Sent) -> None:
        message.stop()
        if self._choice is not None:
            self._send(self._choice, message.value)

    def on_picks_undecided(self, message: Picks.Undecided) -> None:
        message.stop()
        self._note = span("Nothing is chosen yet: down, or a digit, marks one.", "severity-warning")
        self._hint()

    def on_secret_sent(self, message: Secret.Sent) -> None:
        message.stop()
        if self._choice is not None:
            self._send(self._choice, message.text)

    def on_input_changed(self, message: Secret.Changed) -> None:
        message.stop()
        if self.mode == "type":
            self._hint()

    def on_form_sent(self, message: Form.Sent) -> None:
        message.stop()
        if self._choice is None or self.opened is None:
            return
        try:
            arguments = form.arguments(self.opened, message.texts)
        except ValueError as exc:
            self._wrong(exc)
        else:
            self._send(self._choice, json_text(arguments))

    def _wrong(self, why: object) -> None:
        """What was typed does not fit; it stays, to be mended."""
        self._note = span(self._session.looks().line(str(why), 200), "severity-error")
        self._hint()
        if self.has_class("-form"):
            self.query_one(Form).blame(str(why))

    def _send(self, choice: Choice, value: Any) -> None:
        assert self.opened is not None
        try:
            params = view.answer_params(choice, value)
            view.check(self.opened, choice.option, params)
        except ValueError as exc:
            self._wrong(exc)
            return
        self._to("sent")
        self._hint()
        opened = self.opened
        self.post_message(self.Answered(opened.incident_id, opened.revision, choice.option, params))

    def _drafted(self, choice: Choice) -> str:
        """What a text belongs to that was typed."""
        return f"{self.opened.incident_id} {choice.option}" if self.opened is not None else ""

    def _sent_text(self) -> tuple[str, dict[str, str]]:
        """What was typed stands there again, if it was not taken and the same is to be typed; but never a secret."""
        if self._choice is None or self.has_class("-secret") or self.has_class("-picks"):
            return "", {}
        fields = self.query_one(Form).fields if self.has_class("-form") else ()
        texts = {field.entry.name: field.text for field in fields}
        return self._drafted(self._choice), texts or {"": self.query_one("#editor", Editor).text}

    def _to(self, mode: Mode) -> None:
        was, self.mode = self.mode, mode
        self.set_class(mode == "type", "-typing")
        if was == "type" and mode != "type":
            self._draft = self._sent_text() if mode == "sent" else ("", {})
            self.query_one(Choices).focus()
            self.query_one(Secret).value = ""
            self.remove_class("-secret", "-form", "-picks")
