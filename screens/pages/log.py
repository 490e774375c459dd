"""The log page: events of all runs or of one, and the runtime's own log file."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from runtime.link.client.client import LinkError
from runtime.operations.requests.reports import ReadEvents
from screens.base.polling_screen import PollingScreen
from screens.pages.log_sources import LogSources
from screens.render.formatting import pluralize
from screens.render.layout import Spans, join_spans, span
from screens.shell.context import ConsoleContext
from screens.shell.messages import OpenRun
from screens.views.lists.log_buffer import LogBuffer, LogLine
from screens.views.run.json_lines import json_lines
from screens.views.shared.row_filter import RowFilter
from screens.widgets.bar import Bar
from screens.widgets.line_list import LineList
from screens.widgets.log_list import LogList
from screens.widgets.pattern_input import FILTER_HINT, PatternInput
from screens.widgets.text_page import TextPage

_JUMP_SPAN: Final = timedelta(minutes=10)
_HINTS: Final = {
    "filter": FILTER_HINT,
    "search": "find words, or a regular expression; then > and < go on and back",
}


class LogScreen(PollingScreen):
    """Shows one source at a time. Asks for more only when something changed."""

    POLL_INTERVAL_S = 0.25  # each answer repaints the pane
    CSS_PATH = "log.tcss"
    AUTO_FOCUS = "LogList"
    BINDING_GROUP_TITLE = "Log"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "type('filter')", "Filter", key_display="/", tooltip="Show only lines with these words",
                id="log.filter"),
        Binding("s", "type('search')", "Find", tooltip="Find lines without hiding the others", id="log.find"),
        Binding("greater_than_sign", "match(1)", "Next match", show=False, id="log.next_match"),
        Binding("less_than_sign", "match(-1)", "Previous match", show=False, id="log.previous_match"),
        Binding("F", "faults_only", "Faults only", tooltip="Only warnings and faults", id="log.faults"),
        Binding("plus", "jump(1)", "10 minutes later", show=False, id="log.later"),
        Binding("minus", "jump(-1)", "10 minutes earlier", show=False, id="log.earlier"),
        Binding("v,tab", "source", "Source", tooltip="Events, or the runtime's own log file", id="log.source"),
        Binding("r", "open_run", "Run", tooltip="Open the run of this line", id="log.open_run"),
    ]  # fmt: skip

    def __init__(self, session: ConsoleContext, run_id: str = "") -> None:
        super().__init__(session)
        self.run_id = run_id
        self._sources = LogSources(session, run_id)
        self._older = False
        self._search = RowFilter()
        self._typing = ""
        self._detail = ""

    def body(self) -> ComposeResult:
        log = LogList(empty="Asking the runtime", ellipsis=self.session.glyphs.ellipsis, id="log")
        yield log
        detail = TextPage(id="detail")
        detail.border_title = "Event"
        yield detail
        yield Bar(id="narrowed", ellipsis=self.session.glyphs.ellipsis)

    # -- what is asked ---------------------------------------------------------------------------------------

    @property
    def buffer(self) -> LogBuffer:
        return self._sources.buffer

    async def fetch(self) -> None:
        came = await self._sources.fetch()
        if self._older:
            self._older = False
            if why := await self._sources.fetch_older():
                self.show_message(why)
        self.query_one("#log", LogList).show(self.buffer.shown, came=came)

    # -- what is shown ---------------------------------------------------------------------------------------

    def crumbs(self) -> Spans:
        of_run = (
            f" of {self.session.render_context().sanitize_line(self._sources.title_of_run(self.run_id), 60)}"
            if self.run_id
            else ""
        )
        return self.trail(f"log{of_run}")

    def draw(self) -> None:
        log = self.query_one("#log", LogList)
        self.show_problem()
        if self._asker.answered:
            log.empty = self.session.render_context().nothing_matches() if self.buffer.lines else self._empty_message()
        self._title_log(log)
        words = self._words()
        narrowed = self.query_one("#narrowed", Bar)
        narrowed.show(words)
        narrowed.set_class(bool(words), "-shown")
        log.repaint_changed()

    def _empty_message(self) -> str:
        return (
            "Nothing has happened yet."
            if self._sources.current == "events"
            else "The runtime has no log file of its own here."
        )

    def _title_log(self, log: LogList) -> None:
        """The source, and whether it follows: what comes never moves what is being read."""
        glyphs = self.session.glyphs
        paths = ", ".join(
            self.session.render_context().sanitize_line(path, 100) for path in self._sources.paths.values()
        )
        name = "Events" if self._sources.current == "events" else f"Log file {paths}".rstrip()
        new = f"{log.unseen} new below, " if log.unseen else ""
        key = self.session.render_context().key("log.follow", "G")
        again = f"{key} follows again" if key else ""
        state = "following" if log.following else f"{glyphs.more} stopped: {new}{again}"
        title = f"{name}{glyphs.dot}{pluralize(len(self.buffer.shown), 'line')}{glyphs.dot}{state}"
        if log.border_title != title:
            log.border_title = Content(title)

    def _words(self) -> Spans:
        context, book = self.session.render_context(), self.buffer
        text, search = context.sanitize_line(book.filter.text, 60), context.sanitize_line(self._search.text, 60)
        parts = (
            (*span("/", "ink-key"), *span(text, "ink-accent")) if text else (),
            span(context.sanitize_line(book.filter.problem, 120), "severity-error"),
            span("faults only", "state-failed") if book.faults_only else (),
            span(f"{book.left_out} left out", "ink-muted") if book.left_out else (),
            (*span("find ", "ink-muted"), *span(search, "ink-accent"), *self._count()) if search else (),
            span(context.sanitize_line(self._search.problem, 120), "severity-error"),
        )
        return join_spans(parts, context.glyphs.dot)

    def _count(self) -> Spans:
        found = self.buffer.find_all(self._search) if self._search.active else []
        at = self.query_one("#log", LogList).cursor_index
        place = f"{found.index(at) + 1} of {len(found)}" if at in found else pluralize(len(found), "match", "matches")
        return span(f"  {place}", "ink-muted")

    def on_log_list_followed(self, message: LogList.Followed) -> None:
        if message.top and self.buffer.lines:
            self._older = True
        if message.top or message.following:
            self._asker.poll_soon()
        self.pace.request()

    def on_line_list_moved(self, _message: LineList.Moved) -> None:
        self.pace.request()

    # -- filter and search -----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """`escape` takes back one thing after the other, and then goes back."""
        if action == "up" and (self._typing or self._detail or self._narrowed):
            return True
        return super().check_action(action, parameters)

    @property
    def _narrowed(self) -> bool:
        return bool(self.buffer.filter.text or self.buffer.faults_only or self._search.text)

    def action_up(self) -> None:
        if self._typing:
            self._typed("")
            self._end_typing()
        elif self._detail:
            self._close_detail()
        elif self._search.text:
            self._find("")
        elif self._narrowed:
            self._narrow("", faults_only=False)
        else:
            super().action_up()

    def action_type(self, what: str) -> None:
        """Type a filter or what to find; the last one stands there to be changed."""
        if self._typing:
            return
        self._typing = what
        text = self.buffer.filter.text if what == "filter" else self._search.text
        field = PatternInput(text, self._typed, self._submitted, hint=_HINTS[what], id="typing")
        self.mount(field, after="#narrowed")
        field.focus()
        self.refresh_bindings()

    def _submitted(self) -> None:
        """What was searched for is gone to: the match before the cursor, for the newest stand at the end."""
        search = self._typing == "search"
        self._end_typing()
        if search and self._search.active:
            self._go_to_match(self.query_one("#log", LogList).cursor_index + 1, -1)

    def _typed(self, text: str) -> None:
        if self._typing == "filter":
            self._narrow(text)
        elif self._typing:
            self._find(text)

    def _end_typing(self) -> None:
        self._typing = ""
        self.query("#typing").remove()
        self.query_one("#log").focus()
        self.refresh_bindings()
        self.pace.request()

    def _find(self, text: str) -> None:
        self._search = RowFilter(text)
        self.query_one("#log", LogList).search(self._search)
        self.refresh_bindings()
        self.pace.request()

    def _narrow(self, text: str | None = None, *, faults_only: bool | None = None) -> None:
        self.buffer.narrow(text, faults_only=faults_only)
        self.query_one("#log", LogList).show(self.buffer.shown)
        self.refresh_bindings()
        self.pace.request()

    def action_faults_only(self) -> None:
        self._narrow(faults_only=not self.buffer.faults_only)

    def action_match(self, step: int) -> None:
        if self._search.active:
            self._go_to_match(self.query_one("#log", LogList).cursor_index, step)
        else:
            context = self.session.render_context()
            how = context.hints((context.key("log.find", "s"), "starts one."))
            self.show_message(f"No search yet. {how}".rstrip())

    def _go_to_match(self, start: int, step: int) -> None:
        at = self.buffer.find_next(self._search, start, step)
        if at < 0:
            self.show_message("Nothing is found.")
        self.query_one("#log", LogList).go_to_index(at)

    def action_jump(self, step: int) -> None:
        log = self.query_one("#log", LogList)
        log.go_to_index(self.buffer.at_time(log.cursor_index, step * _JUMP_SPAN))

    # -- other sources, and more about a line ----------------------------------------------------------------

    def action_source(self) -> None:
        """Events, the log file, and round again; each keeps its filter."""
        self._sources.switch()
        log = self.query_one("#log", LogList)
        log.following = True
        log.empty = "Asking the runtime"
        log.show(self.buffer.shown)
        self._close_detail()
        self._asker.poll_soon()
        self.pace.request()

    def action_open_run(self) -> None:
        entry = self.query_one("#log", LogList).cursor_entry
        if entry is not None and entry.run_id in self.link.summaries:
            self.post_message(OpenRun(entry.run_id))
        else:
            self.show_message("This line belongs to no run that can be shown.")

    def on_line_list_chosen(self, message: LineList.Chosen) -> None:
        """The event under the cursor, whole."""
        entry = self.query_one("#log", LogList).cursor_entry
        if entry is not None and entry.seq and message.lines.id == "log":
            self.run_worker(self._show_whole(entry), group="detail", exclusive=True, exit_on_error=False)

    async def _show_whole(self, entry: LogLine) -> None:
        after = entry.seq - 1
        try:
            (event,) = await self.link.ask(ReadEvents(run_id=entry.run_id, after=after, limit=1), where=entry.host)
        except (LinkError, ValueError) as exc:
            self.show_message(f"The event is not there: {exc}", "error")
            return
        self._detail = entry.key
        page = self.query_one("#detail", TextPage)
        page.add_class("-shown")
        page.show(json_lines(event, self.session.render_context()), entry.key)
        page.focus()
        self.refresh_bindings()

    def _close_detail(self) -> None:
        self._detail = ""
        self.query_one("#detail").remove_class("-shown")
        self.query_one("#log").focus()
        self.refresh_bindings()
