"""The dialog that confirms an action on a run: what it touches, then one fresh key."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from runtime.link.client.client import LinkError
from runtime.operations.requests.runs import ForkedRun
from runtime.operations.requests.struct import Request
from runtime.record.state.durable_run import DurableRun
from screens.base.armed_screen import ArmedScreen
from screens.base.runtime_screen import RuntimeScreen
from screens.dialogs.help import HelpPage
from screens.render.formatting import pluralize
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    span,
)
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenRun
from screens.views.decisions.choices import ChoiceOffer
from screens.views.decisions.model_list import OTHER_MODEL, model_rows
from screens.views.decisions.run_actions import RUN_ACTIONS, WHILE_IT_LASTS, RunAction
from screens.widgets.bar import Bar
from screens.widgets.choice_list import ChoiceList
from screens.widgets.editor import Editor
from screens.widgets.link_line import LinkLine
from screens.widgets.text_page import TextPage


class ConfirmActionScreen(ArmedScreen[Request[Any] | None]):
    """A page over the screen that asked for it. It gives the request, or None.

    Like the prompt it takes keys only after a moment, and says what it swallowed; `enter` alone never does it.
    """

    CSS_PATH = "confirm_action.tcss"
    AUTO_FOCUS: ClassVar[str | None] = None
    ACTS = frozenset({"yes"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "Yes, do it", id="ask.yes"),
        Binding("escape", "leave", "Leave it", key_display="esc", id="ask.leave"),
    ]

    def __init__(self, session: ConsoleContext, act: RunAction, keys: Collection[str] = ()) -> None:
        """`keys`: the names of the providers' keys that the run's runtime has."""
        super().__init__(session)
        self._keys = keys
        self._act = act
        self._request: Request[Any] | None = None
        self._problem = ""

    def compose(self) -> ComposeResult:
        with Vertical(id="act") as box:
            box.border_title = Content(self._act.title)
            yield HelpPage()
            if self._act.input_field is not None:
                label = Bar(id="label", ellipsis=self._session.glyphs.ellipsis)
                label.show(span(self._act.input_field.label, "ink-accent"))
                yield label
                if self._act.input_field.models:
                    yield ChoiceList(self._session)
                yield Editor()
            yield LinkLine(self._session)
            yield Bar(id="hint", ellipsis=self._session.glyphs.ellipsis)

    def on_mount(self) -> None:
        self.query_one(HelpPage).show(self._act.lines, "act")
        asks = self._act.input_field
        if asks is None:
            self._ask()
            return
        if asks.models:
            rows = (*asks.models, *model_rows((), self._keys, self._session.render_context()), OTHER_MODEL)
            values, titles = tuple(row.value for row in rows), tuple(row.words for row in rows)
            offer = ChoiceOffer(values, several=False, titles=titles, typed=True)
            self.query_one(Editor).display = False
            self.query_one(ChoiceList).begin(offer, marked=0)
        else:
            self.query_one(Editor).begin(asks.text, single=asks.single)
        self.arming.ask("typing")

    # -- one after the other: type, read, decide -------------------------------------------------------------

    def on_editor_failed(self, message: Editor.Failed) -> None:
        self._problem = message.why
        self._show_hint()

    def on_choice_list_sent(self, message: ChoiceList.Sent) -> None:
        message.stop()
        self._take(message.value)

    def on_choice_list_typed(self, message: ChoiceList.Typed) -> None:
        message.stop()
        editor = self.query_one(Editor)
        if not editor.display:
            self.query_one(ChoiceList).display, editor.display = False, True
            editor.begin(message.begin, single=True)
            self._show_hint()
        editor.insert(message.letter)

    def on_editor_sent(self, message: Editor.Sent) -> None:
        message.stop()
        self._take(message.text)

    def _take(self, text: str) -> None:
        """What was typed or chosen."""
        try:
            request = self._act.filled(text)
        except ValueError as exc:
            self._problem = str(exc)
            self._show_hint()
            return
        if self._act.confirms:
            self._show_model(text)
            self._request = request
            self._problem = ""
            self._ask()
        elif self.arming.accept("enter") and self._session.link.status.phase != "lost":
            self.dismiss(request)

    def _show_model(self, name: str) -> None:
        """Of a list of models only what was chosen is left."""
        asks = self._act.input_field
        if asks is None or not asks.models:
            return
        self.query_one(ChoiceList).display = self.query_one(Editor).display = False
        context = self._session.render_context()
        words = (Span("Asked from here on: ", "ink-accent"), Span(context.sanitize_line(name, 60), "ink-strong"))
        self.query_one("#label", Bar).show(words)

    def _ask(self) -> None:
        """All is said: from a moment on one key does it."""
        if self._request is None:
            self._request = self._act.filled("")
        self.query_one(HelpPage).focus()
        self.arming.ask(("confirm", self._act.lines), second=True)

    def laid_out(self) -> bool:
        return self.query_one(HelpPage).is_shown("act")

    def show_armed(self) -> None:
        self._show_hint()

    @property
    def armed(self) -> bool:
        """Whether `y` does it now."""
        return self._request is not None and self.arming.armed

    def _show_hint(self) -> None:
        self.query_one("#hint", Bar).show(self._hint_words(), self._more_below_hint())

    def _hint_words(self) -> Spans:
        context = self._session.render_context()
        leave = (Span(context.key("ask.leave", "esc"), "ink-key"), Span(" leaves it", "ink-muted"))
        if self._problem:
            return span(context.sanitize_line(self._problem, 200), "severity-error")
        if self._request is None:
            asks = self._act.input_field
            key = "enter" if asks is None or asks.single else context.key("editor.send", "ctrl+s")
            then = " goes on, " if self._act.confirms else f": {self._act.yes}, "
            return join_spans((self.arming.ignored_text(), (Span(key, "ink-key"), Span(then, "ink-muted"), *leave)))
        ready = (Span(context.key("ask.yes", "y"), "ink-key"), Span(f": {self._act.yes}, "), *leave)
        return join_spans(
            (self.arming.ignored_text(), ready if self.armed else span("keys count in a moment", "ink-muted"))
        )

    def _more_below_hint(self) -> Spans:
        below = self.query_one(HelpPage).lines_below
        return span(f"{self._session.glyphs.more} {pluralize(below, 'more line')}", "severity-warning") if below else ()

    def on_text_page_seen(self, _message: TextPage.Seen) -> None:
        self._show_hint()

    # -- keys ------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed, `y` is a letter."""
        return self._request is not None if action == "yes" else True

    def action_yes(self) -> None:
        if self._session.link.status.phase != "lost":
            self.dismiss(self._request)

    def action_leave(self) -> None:
        self.dismiss(None)


_HINTED_AT_THE_END: Final = frozenset({"run.timeline", "run.rewind", "run.fork", "run.compare"})
"""Keys that the last line names once a run has ended."""


class RunActionScreen(RuntimeScreen):
    """A screen of one run, on which something can be done to it and to its nodes."""

    ACTS = frozenset({"act"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "act('freeze')", "Freeze run", tooltip="Freeze the run, or let it go on", id="run.freeze"),
        Binding("A", "act('abort')", "Abort", show=False, tooltip="End the run now", id="run.abort"),
        Binding("X", "act('cancel')", "Cancel", show=False, tooltip="Cancel this call of a tool, and nothing else",
                id="run.cancel"),
        Binding("R", "act('rewind')", "Again from here", show=False, tooltip="Run again from here", id="run.rewind"),
        Binding("K", "act('fork')", "Another run", show=False, tooltip="Another run, from here on", id="run.fork"),
        Binding("M", "act('inject')", "Message", show=False, tooltip="Give the agent a message", id="run.inject"),
        Binding("B", "act('break')", "Breakpoint", show=False, tooltip="Stop before this tool or agent",
                id="run.breakpoint"),
    ]  # fmt: skip

    _over: bool | None = None
    """Whether the run has ended, as last seen."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What can be done to a run that goes on only, is not offered once it has ended."""
        if action == "act" and self._over and parameters[0] in WHILE_IT_LASTS:
            return None
        return super().check_action(action, parameters)

    def is_hinted(self, binding: Binding) -> bool:
        """Of a run that has ended: what can still be done with it, and not why it waits."""
        if self._over and binding.id in _HINTED_AT_THE_END:
            return True
        return super().is_hinted(binding) and not (self._over and binding.action == "waits")

    def why_not(self, action: str) -> str:
        why = super().why_not(action)
        if why or not self._over or action not in (f"act('{name}')" for name in WHILE_IT_LASTS):
            return why
        return "the run has ended"

    def check_run_ended(self, state: DurableRun) -> None:
        """It may end, and be turned back, while the dialog is open."""
        if state.terminal is not self._over:
            self._over = state.terminal
            self.refresh_bindings()

    def acting_on(self) -> tuple[DurableRun | None, str]:
        """The run as far as it is known, and the node that is meant."""
        raise NotImplementedError

    def action_act(self, name: str) -> None:
        """Say what it would touch; one more key does it."""
        state, node_id = self.acting_on()
        if state is None:
            self.show_message("The run is still being loaded: what this would affect is not known yet.")
            return
        if not self.may_act():
            return
        act = RUN_ACTIONS[name](state, node_id, self.session.render_context())
        if isinstance(act, str):
            self.show_message(act)
            return

        def decided(request: Request[Any] | None) -> None:
            if request is not None:
                self.run_worker(self._carry_out(act, request), group="act", exit_on_error=False)

        keys = self.session.link.provider_keys(state.id)
        self.app.push_screen(ConfirmActionScreen(self.session, act, keys), decided)

    async def _carry_out(self, act: RunAction, request: Request[Any]) -> None:
        await self.session.hold.send_now()  # answers and acts come in the order in which they were given
        self.show_message("sent, waits for the runtime")
        try:
            result = await self.link.ask(request)
        except LinkError as exc:
            self.show_message(str(exc), "error")
            return
        self.show_message(act.done)
        if isinstance(result, ForkedRun):
            self.post_message(OpenRun(result.id))
        self.pace.request()
