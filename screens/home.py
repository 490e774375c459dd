"""The first screen: what needs a decision, over all runs; what is at work; what is done."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical

from screens.layout import Spans, span
from screens.linked import LinkedScreen
from screens.messages import OpenRun
from screens.views.inbox import inbox_rows
from screens.views.preview import preview_lines
from screens.views.runs import COLUMNS
from screens.widgets.livelines import LiveLines
from screens.widgets.livelist import LiveList
from screens.widgets.livepage import LivePage

FIRST_USE = "No runs yet. In another terminal:  orbiter-console run file.py:swarm"


class HomeScreen(LinkedScreen):
    """One list; beside it, where there is room, what is known of the row under the cursor."""

    CSS_PATH = "home.tcss"
    BINDING_GROUP_TITLE = "Inbox"

    def body(self) -> ComposeResult:
        with Vertical(id="panes"):
            yield LiveList(COLUMNS, empty="Connecting to the runtime", glyphs=self.session.glyphs, id="inbox")
            preview = LivePage(id="preview")
            preview.can_focus = False
            yield preview

    def crumbs(self) -> Spans:
        return (*span("orbiter", "ink-strong", bold=True), *span(f"{self.session.glyphs.crumb}inbox", "ink-muted"))

    def draw(self) -> None:
        looks = self.session.looks()
        inbox = self.query_one("#inbox", LiveList)
        if self.link.ready:
            inbox.empty = FIRST_USE
        inbox.show(inbox_rows(self.link.summaries, self.link.incidents.values(), looks, self.link.where))
        self._draw_preview()

    def _draw_preview(self) -> None:
        preview = self.query_one("#preview", LivePage)
        if not preview.display:
            return
        key = self.query_one("#inbox", LiveList).cursor_key
        preview.show(preview_lines(key, self.link.summaries, self.link.incidents, self.session.looks()), key)

    def on_live_lines_moved(self, _message: LiveLines.Moved) -> None:
        self._draw_preview()

    def on_resize(self) -> None:
        self.pace.request()

    def on_live_lines_chosen(self, message: LiveLines.Chosen) -> None:
        kind, _, key = message.key.partition(":")
        if kind == "run":
            self.post_message(OpenRun(key))
        elif found := self.link.incidents.get(key):
            self.post_message(OpenRun(found.run_id, key))
