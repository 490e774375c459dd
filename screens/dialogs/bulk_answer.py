"""The dialog of bulk answers: equal decisions get one answer, first one, then the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from runtime.link.client.client import LinkError
from runtime.record.state.durable_run import Summary
from screens.base.armed_screen import ArmedScreen
from screens.base.runtime_screen import RuntimeScreen
from screens.dialogs.help import HelpPage
from screens.render.layout import Spans, span
from screens.shell.context import ConsoleContext
from screens.views.decisions import bulk_answer as view
from screens.views.decisions import choices
from screens.views.decisions.batch_action import BatchOutcome, item_lines, outcome_summary
from screens.views.decisions.incident_groups import OpenDecision
from screens.views.decisions.prompt import (
    PromptChoice,
    answer_params,
    asked_for,
    check_answer,
)
from screens.views.lists.inbox import incident_words
from screens.views.run.json_lines import json_text
from screens.widgets.choice_list import Picks, read_typed_answer
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
        self._items = view.items_of(self._alike, session.looks())
        self._precedent: Mapping[str, Any] = {}
        self._precedents_run: Summary | None = None
        self._mode: BulkAnswerMode = "choose"
        self._asked = self._alike
        self._to_look: list[OpenDecision] = []
        self._looked_at: list[str] = []
        self._choice: PromptChoice | None = None
        self._as_before = False
        self._picks: choices.ChoiceOffer | None = None
        self._params: dict[str, Any] = {}
        self._results: dict[str, BatchOutcome] = {}
        self._said = ""
        self._end: Callable[[], None] = lambda: None

    def compose(self) -> ComposeResult:
        with Vertical(id="box") as box:
            box.border_title = Content(f"{len(self._alike)} like this")
            yield HelpPage()
            yield Editor(id="value")
            yield Picks(self._session)
            yield LinkLine(self._session)

    def on_mount(self) -> None:
        self._end = self._session.link.subscribe(self._changed)
        self.run_worker(self._look_back(), group="precedent", exit_on_error=False)
        self._show()

    def on_unmount(self) -> None:
        self._end()

    def _changed(self) -> None:
        """Something came of what is asked here, or of what was answered before."""
        if self._mode == "sent":
            self._show()
        elif self._precedent.get("state") == "not proven":
            known = self._session.link.summaries.get(str(self._precedent["run_id"]))
            if known != self._precedents_run:
                self._precedents_run = known
                self.run_worker(self._look_back(), group="precedent", exclusive=True, exit_on_error=False)

    # -- what is shown ---------------------------------------------------------------------------------------

    def _offer(self) -> list[PromptChoice]:
        return view.common_choices(self._alike, self._session.looks(), self._session.letters)

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
        looks = self._session.looks()
        leave = looks.key("alike.leave", "esc")
        if self._mode == "type":
            return looks.hints(*self._type_hints(), (leave, "back"))
        if self._mode == "sent":
            return looks.hints((leave, "closes; it goes on"))
        if self._mode == "confirm":
            return self.hints_of((looks.key("alike.confirm", "y"), "answers"), (leave, "back"))
        return self.hints_of((leave, "leaves" if self._mode == "choose" else "back"))

    def _type_hints(self) -> list[tuple[str, str]]:
        looks = self._session.looks()
        if self._picks is None:
            return [(looks.key("editor.send", "ctrl+s"), "goes on")]
        ticks = [(looks.key("picks.tick", "space"), "ticks")] if self._picks.several else []
        return [*ticks, (looks.key("picks.send", "enter"), "goes on")]

    def _lines(self) -> list[Spans]:
        looks = self._session.looks()
        lines = view.head_lines(self._alike, incident_words(self._alike[0].opened, looks), looks)
        if self._said:
            lines.append(span(looks.line(self._said, 500), "severity-error"))
        lines.append(())
        if self._mode == "choose":
            lines += [view.before_words(self._precedent, looks), ()]
            lines += view.choice_lines(self._offer(), self._precedent, self._alike, looks)
        elif self._mode == "type" and self._choice is not None:
            asked = "" if self._picks is not None else asked_for(self._alike[0].opened, self._choice, looks)
            wanted = asked or self._choice.hint
            lines += [span(f"{self._choice.label}: {wanted}" if wanted else self._choice.label, "ink-strong")]
            return lines
        elif self._mode == "look":
            return [*lines, *self._look_lines()]
        elif self._mode == "confirm":
            words = view.plan_words(
                self._label,
                self._asked,
                looks,
                proven=self._as_before,
                option="" if self._as_before or self._choice is None else self._choice.option,
            )
            lines.append(span(words, "severity-warning", bold=True))
        else:
            lines.append(span(outcome_summary(self._items, self._outcomes), "ink-strong", bold=True))
        return [*lines, (), *item_lines(self._items, self._outcomes if self._mode == "sent" else {}, looks)]

    @property
    def _outcomes(self) -> dict[str, BatchOutcome]:
        return view.outcomes_so_far(self._alike, self._session.link.incidents) | self._results

    @property
    def _label(self) -> str:
        looks = self._session.looks()
        if self._as_before:
            return looks.line(view.same_words(self._precedent, self._alike), 40)
        assert self._choice is not None
        given = ", ".join(looks.line(_words(value), 80) for name, value in self._params.items() if name != "for")
        return f"{self._choice.label}: {given}" if given else self._choice.label

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
        if key == "B" and view.same_words(self._precedent, self._alike):
            return self._choose_as_before
        chosen = next((choice for choice in self._offer() if choice.key == key), None)
        return partial(self._choose, chosen) if chosen is not None else None

    def _choose_as_before(self) -> None:
        self._as_before, self._asked = True, self._alike
        self._set_mode("confirm")

    def _choose(self, choice: PromptChoice) -> None:
        if choice.refused:
            self._said = f"{choice.label}: {choice.refused}"
            self._show()
            return
        self._choice, self._as_before, self._params = choice, False, {}
        self._asked, self._looked_at = self._alike, []
        if not choice.need:
            self._params = answer_params(choice)
            self._ready()
            return
        self._picks = choices.offer_of(self._alike[0].opened, choice)
        self._set_mode("type")
        if self._picks is not None:
            self.query_one(Picks).begin(self._picks)
            return
        before = self._alike[0].opened.action.get("arguments")
        text = json_text(before) if choice.need == "arguments" and before else ""
        self.query_one("#value", Editor).begin(text, single=choice.need != "arguments")

    def on_editor_failed(self, message: Editor.Failed) -> None:
        self._show_error(message.why)

    def on_editor_sent(self, message: Editor.Sent) -> None:
        assert self._choice is not None
        try:
            self._give(read_typed_answer(self._alike[0].opened, self._choice, message.text))
        except ValueError as exc:
            self._show_error(str(exc))

    def on_picks_sent(self, message: Picks.Sent) -> None:
        try:
            self._give(message.value)
        except ValueError as exc:
            self._show_error(str(exc))

    def on_picks_undecided(self) -> None:
        self._show_error("Nothing is chosen yet: down, or a digit, marks one.")

    def _show_error(self, why: str) -> None:
        """What was typed or ticked does not fit; it stays, to be mended."""
        self._said = why
        self._show()

    def _give(self, value: Any) -> None:
        """Raises `ValueError` where it does not fit."""
        assert self._choice is not None
        params = answer_params(self._choice, value)
        check_answer(self._alike[0].opened, self._choice.option, params)
        self._params = params
        self._ready()

    def _ready(self) -> None:
        """It is known what is to be answered. What may have happened is asked about, one after the other."""
        assert self._choice is not None
        self._to_look = view.to_look_at(self._alike, self._choice.option)
        self._set_mode("look" if self._to_look else "confirm")

    def _look_lines(self) -> list[Spans]:
        found = self._to_look[0]
        item = next(each for each in self._items if each.key == found.opened.incident_id)
        total = len(view.to_look_at(self._alike, self._choice.option if self._choice is not None else ""))
        return view.look_words(item, total - len(self._to_look) + 1, total)

    def _record_look(self, *, happened: bool) -> None:
        found = self._to_look.pop(0)
        if happened:
            self._asked = tuple(each for each in self._asked if each is not found)
        else:
            self._looked_at.append(found.opened.incident_id)
        if self._to_look:
            self._show()
        elif self._asked:
            self._set_mode("confirm")
        else:
            self._set_mode("choose")
            self._said = "Nothing is repeated: all of them may have happened."
            self._show()

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
        self.run_worker(self._look_back(), group="precedent", exclusive=True, exit_on_error=False)

    def action_confirm(self) -> None:
        if not self._session.is_connected:
            return
        self._set_mode("sent")
        # Of the app, not of this page: what came of it is told when the page is closed, too.
        self.app.run_worker(self._answer(self.app), group="answer", exit_on_error=False)

    # -- the runtime -----------------------------------------------------------------------------------------

    def _where(self) -> dict[str, str]:
        host = self._session.link.host_of(self._alike[0].run_id)
        return {"where": host} if host else {}

    async def _look_back(self) -> None:
        incident_id = self._alike[0].opened.incident_id
        try:
            self._precedent = await self._session.link.command("precedent", incident_id=incident_id, **self._where())
        except LinkError as exc:
            self._said = f"Whether one of them was answered before is not known: {exc}"
        self._show()

    async def _answer(self, app: App[Any]) -> None:
        """The whole of it is the runtime's: it goes on though the console is closed."""
        ids = [found.opened.incident_id for found in self._asked]
        if self._as_before:
            first, option, params = str(self._precedent["id"]), str(self._precedent["option"]), {}
        else:
            assert self._choice is not None
            first, option, params = ids[0], self._choice.option, self._params
        try:
            told = await self._session.link.command(
                "answer_like",
                incident_id=first,
                option=option,
                params=params,
                only=ids,
                **({"looked_at": self._looked_at} if self._looked_at else {}),
                **self._where(),
            )
        except LinkError as exc:
            self._said = str(exc)
        else:
            self._results = view.outcomes(told)
        self._show()
        if not self.is_attached and isinstance(app.screen, RuntimeScreen):
            app.screen.show_message(
                self._said or f"{len(self._alike)} like this: {outcome_summary(self._items, self._outcomes)}"
            )


def _words(value: Any) -> str:
    """What was typed or ticked, in the words in which it was offered."""
    if isinstance(value, list):
        return ", ".join(map(_words, value)) or "none of them"
    return value if isinstance(value, str) else json_text(value)
