"""The audit page: who decided what, when, over which way, and how long the question waited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtime.judgement.reports.report_types import AuditEntry
from runtime.operations.requests.reports import ListAudit
from screens.base.polling_list_screen import PollingListScreen
from screens.render.layout import Row, Spans
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenRun
from screens.views.lists.audit import (
    AUDIT_COLUMNS,
    DECISION_KEY_PREFIX,
    audit_rows,
    entry_lines,
)
from screens.widgets.line_list import LineList
from screens.widgets.text_page import TextPage

MAX_ENTRIES: Final = 500
"""Decisions that are asked for; the command line lists them all."""


class AuditScreen(PollingListScreen):
    """Its rows are made when an answer comes: nothing in them changes by itself."""

    CSS_PATH = "audit.tcss"
    BINDING_GROUP_TITLE = "Audit"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "Next pane", show=False, id="list.next_pane"),
    ]
    COLUMNS = AUDIT_COLUMNS
    EMPTY = "No decision has been made yet."

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__(session)
        self._entries: list[tuple[str, AuditEntry]] = []
        self._rows: Sequence[Row] = ()

    def side_panes(self) -> ComposeResult:
        yield TextPage(id="detail")

    async def fetch(self) -> None:
        found: list[tuple[str, AuditEntry]] = []
        for host in self.link.host_names:
            found += [(host, entry) for entry in await self.link.ask(ListAudit(limit=MAX_ENTRIES), where=host)]
        self._entries, self._rows = found, audit_rows(found, self.session.render_context())

    def crumbs(self) -> Spans:
        return self.trail("audit")

    def all_rows(self) -> Sequence[Row]:
        return self._rows

    def draw(self) -> None:
        super().draw()
        self._draw_detail()

    @property
    def _entry(self) -> AuditEntry | None:
        key = self.row_list.cursor_key.removeprefix(DECISION_KEY_PREFIX)
        return self._entries[int(key)][1] if key.isdecimal() and int(key) < len(self._entries) else None

    def _draw_detail(self) -> None:
        entry = self._entry
        lines = entry_lines(entry, self.session.render_context()) if entry is not None else []
        self.query_one("#detail", TextPage).show(lines, self.row_list.cursor_key)

    def on_line_list_moved(self, _message: LineList.Moved) -> None:
        self._draw_detail()

    def on_line_list_chosen(self, _message: LineList.Chosen) -> None:
        """To the run that the decision was about."""
        entry = self._entry
        if entry is not None and entry.run_id:
            self.post_message(OpenRun(entry.run_id))
        elif entry is not None:
            self.show_message("This decision is about the workspace, not about one run.")
