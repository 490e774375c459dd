"""The form that starts a run: its swarm and its input."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Label
from textual.worker import Worker, WorkerState

from runtime.link.client.client import LinkError
from runtime.operations.requests.runs import StartRun
from runtime.operations.requests.workers import ListWorkers
from screens.base.armed_screen import ArmedScreen
from screens.dialogs.run_start import start_run, wait_for_run
from screens.dialogs.start_field import START_FIELDS, StartField
from screens.dialogs.swarm_suggestions import Suggestions, SwarmRefs
from screens.render.layout import span
from screens.shell.context import ConsoleContext
from screens.views.lists.start import SUGGESTION_COLUMNS, mistake_in, parse_limits
from screens.widgets.bar import MessageBar
from screens.widgets.editor import Editor
from screens.widgets.line_list import LineList
from screens.widgets.link_line import LinkLine

log = logging.getLogger(__name__)


class StartScreen(ArmedScreen[str]):
    """Gives the id of the run that it started, when it is there; an empty text if it was left.

    Nothing that was typed is lost: a mistake is said below the fields, which stay as they are, and what was typed when
    the form was left stands in the next one.
    """

    CSS_PATH = "start_form.tcss"
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (17, "-low"), (32, "-high")]  # noqa: RUF012 - Textual's own
    AUTO_FOCUS: ClassVar[str | None] = "#ref"
    ACTS = frozenset({"start", "send"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "start", "Start", id="start.start"),
        Binding("escape", "leave", "Leave", key_display="esc", id="start.leave"),
        Binding("tab", "next", "Next field", show=False, id="start.next"),
        Binding("shift+tab", "previous", "Previous field", show=False, id="start.previous"),
        Binding("ctrl+n", "empty", "Empty the form", show=False, id="start.empty"),
        Binding("ctrl+c", "leave", "Leave", show=False, id="start.leave_too"),
    ]

    def __init__(
        self, session: ConsoleContext, ref: str = "", host: str = "", draft: MutableMapping[str, str] | None = None
    ) -> None:
        """`ref` and `host` stand in their fields at first, unless there are others in `draft`, where what was typed is
        kept by the field's name until a run is started with it.
        """
        super().__init__(session)
        self._draft: MutableMapping[str, str] = {} if draft is None else draft
        self._swarms = SwarmRefs(session, ref if ref.isprintable() else "")
        self._host = host
        self._complained = False
        self._busy = False

    # -- the fields ------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        glyphs = self._session.glyphs
        with Vertical(id="start") as box:
            box.border_title = "Start a run"
            given = {"ref": self._swarms.given, "host": self._host}
            for name in START_FIELDS:
                if name != "host" or len(self._session.link.host_names) > 1:
                    yield StartField(name, self._draft.get(name) or given.get(name, ""))
                if name == "ref":
                    yield Label(id="hint", markup=False)
                    yield Suggestions(SUGGESTION_COLUMNS, empty="Nothing to suggest.", glyphs=glyphs, id="suggestions")
                    yield Label("Input", classes="name", markup=False)
                    yield Editor(id="input")
            yield MessageBar(id="said", ellipsis=glyphs.ellipsis)
            yield LinkLine(self._session)

    @property
    def _empties(self) -> str:
        return self._session.render_context().key("start.empty", "ctrl+n")

    def on_mount(self) -> None:
        editor = self.query_one("#input", Editor)
        editor.single = False  # `enter` makes a new line here
        editor.load_text(self._draft.get("input", ""))
        editor.move_cursor(editor.document.end)
        self._fill(self._value("ref"))
        if self._draft:
            self._show_message(f"As you left it; {self._empties} clears the form.")
        self.on_link_line_back()
        self.arming.ask("start")

    def show_armed(self) -> None:
        context = self._session.render_context()
        hints = self.hints_of(
            (context.key("start.start", "ctrl+s"), "starts"),
            (context.key("start.next", "tab"), "next"),
            (self._empties, "clears"),
            (context.key("start.leave", "esc"), "leaves"),
        )
        self.query_one("#start").border_subtitle = Content(hints)

    def on_link_line_back(self) -> None:
        """A runtime is there again to be asked which swarms there are."""
        if self._session.link.status.phase != "lost":
            self.run_worker(self._find_swarms(), group="look", exclusive=True, exit_on_error=False)
            self.run_worker(self._find_queues(), group="queues", exclusive=True, exit_on_error=False)

    async def _find_swarms(self) -> None:
        """Ask which swarms the workspace's files define. Without an answer there are those that were run before."""
        try:
            await self._swarms.ask(self._chosen_host)
        except LinkError as exc:
            self._show_message(f"The workspace's swarms are not known: {exc}", "warning")
            return
        typed = self._value("ref")
        if self._swarms.root and typed == self._swarms.given:
            self._fill(self._swarms.relative(typed))
        else:
            self._suggest()

    async def _find_queues(self) -> None:
        """Ask which queues workers have; where some have one, a queue can be chosen."""
        try:
            found = await self._session.link.ask(ListWorkers(), where=self._chosen_host)
        except LinkError as exc:
            log.info("the queues of workers are not known: %s", exc)
            return
        if queues := found.named_queues:
            names = ", ".join(self._session.render_context().sanitize_line(name, 40) for name in queues)
            row = next(each for each in self.query(StartField) if each.field == "queue")
            row.show(f"{names}; empty: as the swarm says")

    def _fill(self, ref: str) -> None:
        """Put in what is likely meant, selected: typing replaces it."""
        field = self.query_one("#ref", Input)
        field.value = ref
        field.action_select_all()
        self._suggest()

    def _suggest(self) -> None:
        typed = self._value("ref")
        rows, is_known = self._swarms.suggest(typed, self._chosen_host)
        listed = self.query_one(Suggestions)
        if not rows and listed.has_focus:
            self.set_focus(self.query_one("#ref"))
        listed.suggest(rows, "Found." if is_known else "Nothing to suggest." if typed else "")
        hint = self.query_one("#hint", Label)
        hint.update(self._session.render_context().sanitize_line(self._swarms.hint(typed), 200))
        hint.display = bool(self._swarms.hint(typed))

    def _value(self, name: str) -> str:
        field = self.query(f"#{name}")
        return field.first(Input).value.strip() if field else ""

    @property
    def _chosen_host(self) -> str:
        names = self._session.link.host_names
        return self._value("host") or names[0] if any(names) else ""

    def _typed_values(self) -> dict[str, str]:
        """What a person typed, by field."""
        typed = {name: self._value(name) for name in START_FIELDS}
        typed["input"] = self.query_one("#input", Editor).text
        given = {"ref": (self._swarms.given, self._swarms.relative(self._swarms.given)), "host": (self._host,)}
        return {name: value for name, value in typed.items() if value.strip() and value not in given.get(name, ())}

    # -- keys ------------------------------------------------------------------------------------------------

    def on_input_changed(self, message: Input.Changed) -> None:
        if message.input.id in ("ref", "host"):
            self._suggest()
        if self._complained:
            self._validate_fields()

    def on_input_blurred(self, _message: Input.Blurred) -> None:
        self._validate_fields()

    def on_input_submitted(self, _message: Input.Submitted) -> None:
        self.action_next()

    def on_editor_sent(self, _message: Editor.Sent) -> None:
        self.action_start()

    def on_editor_failed(self, message: Editor.Failed) -> None:
        self._show_message(message.why, "error")

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """A suggestion is taken over; the input comes next."""
        self.query_one("#ref", Input).value = message.key
        self.query_one("#input", Editor).focus()

    def on_suggestions_typed(self, message: Suggestions.Typed) -> None:
        """It belongs into the field above."""
        field = self.query_one("#ref", Input)
        field.replace(message.text, *field.selection)
        self.set_focus(field)

    def on_key(self, event: events.Key) -> None:
        """From the swarm's field down to what is suggested, and back."""
        suggestions = self.query_one(Suggestions)
        if event.key == "down" and self.focused is self.query_one("#ref") and suggestions.keys:
            event.stop()
            suggestions.focus()
        elif event.key == "up" and self.focused is suggestions and suggestions.cursor_key == suggestions.keys[0]:
            event.stop()
            event.prevent_default()
            self.query_one("#ref").focus()

    def action_next(self) -> None:
        """To the next field. Suggestions are none: `down` leads to them, whatever the field holds by then."""
        if self.focused is self.query_one("#ref"):
            self.set_focus(self.query_one("#input"))
        else:
            self.focus_next()

    def action_previous(self) -> None:
        if self.focused is self.query_one("#input"):
            self.set_focus(self.query_one("#ref"))
        else:
            self.focus_previous()

    def action_empty(self) -> None:
        """Start over."""
        self._draft.clear()
        for name in ("title", "queue", "limits", "ref"):
            self.query_one(f"#{name}", Input).value = ""
        self.query_one("#input", Editor).load_text("")
        self.query_one("#ref").focus()
        self._show_message("")

    def action_leave(self) -> None:
        """Leave; what was typed is kept for the next time."""
        self._draft.clear()
        self._draft.update(self._typed_values())
        self.dismiss("")

    # -- starting --------------------------------------------------------------------------------------------

    def action_start(self) -> None:
        if self._busy or not self._session.is_connected:  # the line below says so
            return
        ref = self._value("ref")
        if not ref:
            self._show_message("Say which swarm: path/to/file.py:name or package.module:name", "error")
            self.query_one("#ref").focus()
            return
        field = self._validate_fields()
        if field:
            self.query_one(f"#{field}").focus()
            return
        limits = parse_limits(self._value("limits"))
        start = StartRun(
            ref=ref,
            input=self.query_one("#input", Editor).text,
            title=self._value("title"),
            options={"budget": dict(limits)} if limits else {},
            queue=self._value("queue"),
        )
        self._busy = True
        self.run_worker(self._start(start), group="start", exit_on_error=False)

    def _validate_fields(self) -> str:
        """Say what is wrong with what was typed, or take back what was said of it; gives the field that it is about."""
        field, wrong = mistake_in(self._value("host"), self._session.link.host_names, self._value("limits"))
        if wrong or self._complained:
            self._show_message(wrong, "error")
        self._complained = bool(wrong)
        return field

    async def _start(self, start: StartRun) -> None:
        link = self._session.link
        try:
            run_id = await start_run(link, start, self._chosen_host, self._show_message)
        except LinkError as exc:
            self._show_message(str(exc), "error")
        else:
            self._draft.clear()
            await wait_for_run(link, run_id)
            self.dismiss(run_id)
        finally:
            self._busy = False

    def on_worker_state_changed(self, message: Worker.StateChanged) -> None:
        """What was begun in the background failed for an unexpected reason: what was typed stays."""
        if message.state is WorkerState.ERROR and isinstance(message.worker.error, Exception):
            log.error("the form failed", exc_info=message.worker.error)
            self._show_message(f"This did not work, please report it: {message.worker.error!r}", "error")

    def _show_message(self, text: str, severity: str = "info") -> None:
        context = self._session.render_context()
        self.query_one("#said", MessageBar).show(span(context.sanitize_line(text, 1_000), f"severity-{severity}"))
