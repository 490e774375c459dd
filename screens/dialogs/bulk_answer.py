"""The dialog of bulk answers: equal decisions get one answer, first one, then the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from runtime.link.client.client import LinkError
from screens.base.armed_screen import ArmedScreen
from screens.base.runtime_screen import RuntimeScreen
from screens.dialogs.bulk_answer_plan import BulkAnswerPlan
from screens.dialogs.help import HelpPage
from screens.dialogs.precedent_search import PrecedentSearch
from screens.render.layout import Spans, span
from screens.shell.context import ConsoleContext
from screens.views.decisions import bulk_answer as view
from screens.views.decisions import choices
from screens.views.decisions.batch_action import BatchOutcome, item_lines, outcome_summary
from screens.views.decisions.incident_groups import OpenDecision
from screens.views.decisions.prompt_choices import PromptChoice
from screens.views.decisions.typed_answer import wanted_words
from screens.views.lists.inbox import incident_words
from screens.views.run.json_lines import editable_json
from screens.widgets.choice_list import ChoiceList, read_typed_answer
from screens.widgets.editor import Editor
from screens.widgets.link_line import LinkLine

BulkAnswerMode = Literal["choose", "type", "look", "confirm", "sent"]


class BulkAnswerScreen(ArmedScreen[None]):
    """What was there when it was opened is what is answered; what comes later stays. Closing it stops nothing."""

    CSS_PATH = "batch_action.tcss"
    AUTO_FOCUS: ClassVar[str | None] = "HelpPage"
    ACTS = frozenset({"confirm"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back", key_display="esc", id="alike.leave"),
        Binding("y", "confirm", "Yes, answer them", id="alike.confirm"),
    ]

    def __init__(self, session: ConsoleContext, alike: Sequence[OpenDecision]) -> None:
        """`alike`: at least one decision, the oldest first."""
        super().__init__(session)
        self._alike = tuple(alike)
        self._items = view.items_of(self._alike, session.render_context())
        self._precedent = PrecedentSearch(session, self._alike[0])
        self._mode: BulkAnswerMode = "choose"
        self._plan = BulkAnswerPlan(self._alike)
        self._picks: choices.ChoiceOffer | None = None
        self._results: dict[str, BatchOutcome] = {}
        self._said = ""
        self._end: Callable[[], None] = lambda: None

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(f"{len(self._alike)} alike")
            yield HelpPage()
            yield Editor(id="value")
            yield ChoiceList(self._session)
            yield LinkLine(self._session)

    def on_mount(self) -> None:
        self._end = self._session.link.subscribe(self._changed)
        self._ask_precedent()
        self._show()

    def on_unmount(self) -> None:
        self._end()

    def _changed(self) -> None:
        """Something came of what is asked here, or of what was answered before."""
        if self._mode == "sent":
            self._show()
        elif self._precedent.went_on():
            self._ask_precedent()

    # -- what is shown ---------------------------------------------------------------------------------------

    def _offer(self) -> list[PromptChoice]:
        keys = self._session.link.provider_keys(self._alike[0].run_id)
        return view.common_choices(self._alike, self._session.render_context(), self._session.letters, keys)

    def _show(self) -> None:
        if not self.is_attached:
            return
        box = self.query_one("#box", Vertical)
        box.set_class(self._mode == "type", "-typing")
        box.set_class(self._picks is not None, "-picks")
        lines = self._lines()
        self.query_one(HelpPage).show(lines, self._mode)
        if self._mode in ("choose", "look", "confirm"):
            self.arming.ask((self._mode, tuple(lines)), second=self._mode == "confirm")
        else:
            self.arming.disarm()
        self.show_armed()

    def laid_out(self) -> bool:
        return self.query_one(HelpPage).is_shown(self._mode)

    def show_armed(self) -> None:
        self.query_one("#box").border_subtitle = Content(self._hints())

    def _hints(self) -> str:
        context = self._session.render_context()
        leave = context.key("alike.leave", "esc")
        if self._mode == "type":
            return context.hints(*self._type_hints(), (leave, "back"))
        if self._mode == "sent":
            return context.hints((leave, "closes; it goes on"))
        if self._mode == "confirm":
            return self.hints_of((context.key("alike.confirm", "y"), "answers"), (leave, "back"))
        return self.hints_of((leave, "leaves" if self._mode == "choose" else "back"))

    def _type_hints(self) -> list[tuple[str, str]]:
        context = self._session.render_context()
        if self._picks is None:
            return [(context.key("editor.send", "ctrl+s"), "goes on")]
        ticks = [(context.key("picks.tick", "space"), "ticks")] if self._picks.several else []
        return [*ticks, (context.key("picks.send", "enter"), "goes on")]

    def _lines(self) -> list[Spans]:
        context = self._session.render_context()
        lines = view.head_lines(self._alike, incident_words(self._alike[0].opened, context), context)
        if self._said:
            lines.append(span(context.sanitize_line(self._said, 500), "severity-error"))
        lines.append(())
        if self._mode == "choose":
            lines += [view.before_words(self._precedent.found, context), ()]
            lines += view.choice_lines(self._offer(), self._precedent.found, self._alike, context)
        elif self._mode == "type" and (choice := self._plan.choice) is not None:
            asked = "" if self._picks is not None else wanted_words(self._alike[0].opened, choice, context)
            wanted = asked or choice.hint
            lines += [span(f"{choice.label}: {wanted}" if wanted else choice.label, "ink-strong")]
            return lines
        elif self._mode == "look":
            return [*lines, *self._plan.look_lines(self._items)]
        elif self._mode == "confirm":
            words = self._plan.words(self._precedent.found, context)
            lines.append(span(words, "severity-warning", bold=True))
        else:
            lines.append(span(outcome_summary(self._items, self._outcomes), "ink-strong", bold=True))
        return [*lines, (), *item_lines(self._items, self._outcomes if self._mode == "sent" else {}, context)]

    @property
    def _outcomes(self) -> dict[str, BatchOutcome]:
        return view.outcomes_so_far(self._alike, self._session.link.incidents) | self._results

    # -- keys ------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """`y` means something only where it was asked."""
        return self._mode == "confirm" if action == "confirm" else True

    def on_key(self, event: events.Key) -> None:
        """Letters choose, once the page has stood for a moment; never while something is typed."""
        if self._mode not in ("choose", "look"):
            return
        key = event.character or event.key
        act = self._looks_at(key) if self._mode == "look" else self._chooses(key)
        if act is None:
            return
        if self.arming.accept(event.key):
            act()
        event.stop()
        event.prevent_default()

    def _looks_at(self, key: str) -> Callable[[], None] | None:
        """What a key says of the one that is looked at."""
        return partial(self._record_look, happened=key == "n") if key in ("y", "n") else None

    def _chooses(self, key: str) -> Callable[[], None] | None:
        if key == "B" and view.same_words(self._precedent.found, self._alike):
            return self._choose_as_before
        chosen = next((choice for choice in self._offer() if choice.key == key), None)
        return partial(self._choose, chosen) if chosen is not None else None

    def _choose_as_before(self) -> None:
        self._plan.repeat_precedent()
        self._set_mode("confirm")

    def _choose(self, choice: PromptChoice) -> None:
        if choice.refused:
            self._show_error(f"{choice.label}: {choice.refused}")
            return
        self._plan.choose(choice)
        if choice.param is None:
            self._ready()
            return
        self._picks = choices.offer_of(self._alike[0].opened, choice)
        self._set_mode("type")
        if self._picks is not None:
            self.query_one(ChoiceList).begin(self._picks)
            return
        before = self._alike[0].opened.action.get("arguments")
        form = choice.param.kind == "json"
        self.query_one("#value", Editor).begin(editable_json(before) if form and before else "", single=not form)

    def on_editor_failed(self, message: Editor.Failed) -> None:
        self._show_error(message.why)

    def on_editor_sent(self, message: Editor.Sent) -> None:
        self._give(message.text, typed=True)

    def on_choice_list_typed(self, message: ChoiceList.Typed) -> None:
        editor = self.query_one("#value", Editor)
        if self._picks is not None:
            self._picks = None
            self._show()
            editor.begin(message.begin, single=True)
        editor.insert(message.letter)

    def on_choice_list_sent(self, message: ChoiceList.Sent) -> None:
        self._give(message.value)

    def on_choice_list_undecided(self) -> None:
        self._show_error(self.query_one(ChoiceList).undecided_words)

    def _show_error(self, why: str) -> None:
        self._said = why
        self._show()

    def _give(self, value: Any, *, typed: bool = False) -> None:
        """What was typed or ticked; where it does not fit that is said, and it stays, to be mended."""
        assert self._plan.choice is not None
        try:
            given = read_typed_answer(self._alike[0].opened, self._plan.choice, value) if typed else value
            self._plan.give(given, self._session.clock())
        except ValueError as exc:
            self._show_error(str(exc))
        else:
            self._ready()

    def _ready(self) -> None:
        """It is known what is to be answered. What may have happened is asked about, one after the other."""
        self._set_mode("look" if self._plan.begin_look() else "confirm")

    def _record_look(self, *, happened: bool) -> None:
        self._plan.record_look(happened=happened)
        if self._plan.to_look:
            self._show()
        elif self._plan.asked:
            self._set_mode("confirm")
        else:
            self._set_mode("choose")
            self._show_error("Nothing was repeated: each of them may have happened.")

    def _set_mode(self, mode: BulkAnswerMode) -> None:
        self._mode, self._said = mode, ""
        if mode != "type":
            self.query_one(HelpPage).focus()
        self._show()
        self.refresh_bindings()

    def action_leave(self) -> None:
        """One step back; from the first, and once it is sent, away."""
        if self._mode in ("choose", "sent"):
            self.dismiss()
        else:
            self._set_mode("choose")

    def on_link_line_back(self) -> None:
        """Whether one of them was answered before can be asked now."""
        self._said = ""
        self._ask_precedent()

    def action_confirm(self) -> None:
        if not self._session.is_connected:
            return
        self._set_mode("sent")
        # Of the app, not of this page: what came of it is told when the page is closed, too.
        self.app.run_worker(self._answer(self.app), group="answer", exit_on_error=False)

    # -- the runtime -----------------------------------------------------------------------------------------

    def _ask_precedent(self) -> None:
        self.run_worker(self._look_back(), group="precedent", exclusive=True, exit_on_error=False)

    async def _look_back(self) -> None:
        self._said = await self._precedent.look() or self._said
        self._show()

    async def _answer(self, app: App[Any]) -> None:
        """The whole of it is the runtime's: it goes on though the console is closed. What is still held goes first."""
        await self._session.hold.send_now()
        link = self._session.link
        try:
            told = await link.ask(self._plan.request(self._precedent.found), where=link.host_of(self._alike[0].run_id))
        except LinkError as exc:
            self._said = str(exc)
        else:
            self._results = view.outcomes(told)
        self._show()
        if not self.is_attached and isinstance(app.screen, RuntimeScreen):
            app.screen.show_message(
                self._said or f"{len(self._alike)} alike: {outcome_summary(self._items, self._outcomes)}"
            )
