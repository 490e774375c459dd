"""The first screen: what needs a decision, over all runs; what is at work; what is done."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from screens.layout import Spans, span
from screens.link import Session
from screens.linked import LinkedScreen
from screens.messages import OpenRun
from screens.views.filter import filtered
from screens.views.inbox import inbox_rows
from screens.views.preview import preview_lines
from screens.views.runs import COLUMNS
from screens.widgets.livelines import LiveLines
from screens.widgets.livelist import LiveList
from screens.widgets.livepage import LivePage

FIRST_USE = "No runs yet. In another terminal:  orbiter-console run file.py:swarm"


NOTHING_MATCHES = "Nothing matches. esc shows all."


class HomeScreen(LinkedScreen):
    """One list; below it, where there is room, what is known of the row under the cursor."""

    CSS_PATH = "home.tcss"
    BINDING_GROUP_TITLE = "Inbox"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash",
            "filter",
            "Filter",
            key_display="/",
            tooltip="Show what matches; ! turns it round",
            id="home.filter",
        ),
        Binding("escape", "show_all", "Show all", key_display="esc", id="home.show_all"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._filter = ""

    def body(self) -> ComposeResult:
        with Vertical(id="panes"):
            yield LiveList(COLUMNS, empty="Connecting to the runtime", glyphs=self.session.glyphs, id="inbox")
            preview = LivePage(id="preview")
            preview.can_focus = False
            yield preview

    def crumbs(self) -> Spans:
        here = (*span("orbiter", "ink-strong", bold=True), *span(f"{self.session.glyphs.crumb}inbox", "ink-muted"))
        words = self.session.looks().line(self._filter, 60)
        return (*here, *span("  /", "ink-key"), *span(words, "ink-accent")) if words else here

    def draw(self) -> None:
        looks = self.session.looks()
        inbox = self.query_one("#inbox", LiveList)
        rows = inbox_rows(self.link.summaries, self.link.incidents.values(), looks, self.link.where)
        if self.link.ready:
            inbox.empty = NOTHING_MATCHES if rows else FIRST_USE
        inbox.show(filtered(rows, self._filter))
        self._draw_preview()

    def _draw_preview(self) -> None:
        preview = self.query_one("#preview", LivePage)
        if not preview.display:
            return
        key = self.query_one("#inbox", LiveList).cursor_key
        preview.show(preview_lines(key, self.link.summaries, self.link.incidents, self.session.looks()), key)

    def on_live_lines_moved(self, _message: LiveLines.Moved) -> None:
        self._draw_preview()

    # -- the filter ------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is something to take back only where something is left out."""
        if action == "show_all":
            return bool(self._filter) or bool(self.query("#filter"))
        return super().check_action(action, parameters)

    def action_filter(self) -> None:
        """Type a pattern; the last one stands there to be changed."""
        if not self.query("#filter"):
            field = Input(
                self._filter, placeholder="a word, or a regular expression; ! leaves out", compact=True, id="filter"
            )
            field.cursor_blink = False
            self.mount(field, before="#lost")
            field.focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        self._filter = message.value
        self.pace.request()

    def on_input_submitted(self, _message: Input.Submitted) -> None:
        self._end_typing()

    def action_show_all(self) -> None:
        self._filter = ""
        self._end_typing()

    def _end_typing(self) -> None:
        self.query("#filter").remove()
        self.query_one("#inbox", LiveList).focus()
        self.refresh_bindings()
        self.pace.request()

    def on_resize(self) -> None:
        self.pace.request()

    def on_live_lines_chosen(self, message: LiveLines.Chosen) -> None:
        kind, _, key = message.key.partition(":")
        if kind == "run":
            self.post_message(OpenRun(key))
        elif found := self.link.incidents.get(key):
            self.post_message(OpenRun(found.run_id, key))
