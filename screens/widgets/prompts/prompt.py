"""The prompt widget: where an operator decides.

Its manners are rules (`arms after a moment`, `enter never grants`, …), each with a name in the tests. What it shows is
`prompt_display`; what a choice leads to is `prompt_choosing`.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace
from textual import events

from runtime.judgement.recovery.option_table import OPTIONS, effect_of
from screens.render.layout import Span, span
from screens.views.decisions.prompt_choices import LATER_OPTION
from screens.views.decisions.prompt_lines import PromptContent
from screens.views.decisions.prompt_rows import PromptSpace
from screens.widgets.prompts.answer_field import AnswerField
from screens.widgets.prompts.option_columns import OptionColumns
from screens.widgets.prompts.prompt_choosing import ChoosingPrompt

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


_TAKEN_BACK: Final = ("Taken back: nothing was sent.", "severity-info")
_TYPED: Final = ("Several keys at once look like typing: nothing was sent.", "severity-warning")


class Prompt(ChoosingPrompt):
    """Shows one incident and takes its answer. Carrying an answer out is another's work."""

    # -- what is shown ---------------------------------------------------------------------------------------

    def ask(self, content: PromptContent, space: PromptSpace = PromptSpace()) -> bool:  # noqa: B008 - a constant
        """Show an incident. Another than before begins again, and arms again; a text that is being typed stays. Who may
        not act is told so at once, and offered nothing.

        Args:
            content: the incident, and what is known of it.
            space: what stands around the prompt.

        Returns:
            Whether it is another incident than before.
        """
        self._space, before = space, self._content
        if before is not None and before.opened.incident_id == content.opened.incident_id:
            self._content = replace(content, opened=before.opened, told=before.told)
            if content.proposal is not None and self._by_itself and self.mode == "type" and not self._is_typed:
                self._turn("choose")  # the key that adopts it must not be typed into the field
            self._paint_changed()
            return False
        if self._is_typed:
            return False
        self._set_mode("choose")
        self._content = content
        self._unfolded = False
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
        self._content = None
        self._arming.disarm()
        if self.has_focus_within:
            self.screen.set_focus(None)
        self.remove_class("-shown")

    def show_refusal(self, why: str) -> None:
        """The answer was not taken: say why, and let the operator choose again."""
        self._note = span(self._session.render_context().sanitize_line(why, 300), "severity-error")
        if self.mode in ("held", "sent"):
            self._set_mode("choose")
        self._paint()

    # -- what is held before it is sent ----------------------------------------------------------------------

    def show_held(self, sends_in: int) -> None:
        """The answer can be taken back for so many seconds."""
        if self.mode in ("choose", "sent"):
            self._note = ()
            self._turn("held")
            if self._is_word:
                self.post_message(self.TakenBack())
        if self.mode == "held" and self._sends_in != sends_in:
            self._sends_in = sends_in
            self._hint()

    def let_go(self) -> None:
        """The answer is held no more: it is being sent."""
        if self.mode == "held":
            self._set_mode("sent")
            self._arming.disarm()
            self._hint()

    def take_back(self) -> None:
        """The answer was not sent: choose again. A text that was typed stands there again."""
        self._turn("choose")
        self._note = span(*(_TYPED if self._is_word else _TAKEN_BACK))
        self._is_word = False
        self._hint()
        self._open_field()

    def _take_while_held(self, event: events.Key) -> bool:
        """`u` takes it back, and so does any other letter that comes at once: a word that is typed decides nothing."""
        if event.key == "u":
            self.post_message(self.TakenBack())
        elif self._continues_word(event):
            self.post_message(self.TakenBack())
            return True
        elif event.key == "enter" and self._arming.accept(event.key):
            self.post_message(self.SentNow())
        return event.key in ("u", "enter")

    def _continues_word(self, event: events.Key) -> bool:
        """Whether a letter follows the one that decided at once: then someone types, and nothing is to be sent."""
        follows = event.is_printable and self._session.monotonic() < self._word_until
        self._is_word = self._is_word or follows
        return follows

    # -- arming ----------------------------------------------------------------------------------------------

    def _open_field(self) -> None:
        """A question is answered by typing: its field is open at once, unless one key adopts what an agent proposes.
        Until keys count the focus is beside it.
        """
        if not (self._shown.may_act and self._shown.opened.question) or self._shown.proposal is not None:
            return
        answer = next((each for each in self._offered() if effect_of(each.option) == "input"), None)
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
        if self.opened is None:
            return False
        if self.mode == "sent":
            return self._continues_word(event)
        if self.mode == "held":
            return self._take_while_held(event)
        if self.mode == "type":
            return self._take_while_typing(event)
        key = event.character if event.is_printable and event.character else event.key
        mine = self.has_focus_within and event.key not in _MOVES
        choice = next((one for one in self._offered() if one.key == key), None)
        if choice is None and not self._shown.may_act and mine:
            return key in self._session.letters.values()  # it decides nothing, and means nothing else in here
        if choice is None or (choice.option == LATER_OPTION and not self.has_focus_within and self.mode == "choose"):
            if self._arming.armed and self._arming.ignored:  # those that came early are told until the next key
                self._arming.forget()
                self._hint()
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
        return self.mode == "choose" and self._says_not_offered(event.character)

    def _says_not_offered(self, key: str | None) -> bool:
        """Whether a key is that of an option which this incident does not offer; then it is said, and nothing done."""
        found = next((OPTIONS[each] for each, letter in self._session.letters.items() if letter == key), None)
        if found is None or key is None:
            return False
        self._note = (Span(key, "ink-key"), Span(f" ({found.label}) is not offered here", "severity-warning"))
        self._hint()
        return True

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
            if effect_of(choice.option) != "input":
                self._choose(choice)
            self.take_focus()
        return True

    def on_option_columns_taken(self, message: OptionColumns.Taken) -> None:
        """Enter: never a grant, and nothing before the prompt is armed."""
        message.stop()
        choice = message.choice
        if self.mode == "held":
            if self._arming.accept("enter"):
                self.post_message(self.SentNow())
        elif not choice.enter:
            does = "confirm" if self.mode == "confirm" else "grant"
            self._note = (Span(f"enter does not {does}: press ", "severity-warning"), Span(choice.key, "ink-key"))
            self._hint()
        elif choice.option == LATER_OPTION or self._arming.accept("enter"):
            self._choose(choice)
