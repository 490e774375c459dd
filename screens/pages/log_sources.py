"""What the log page asks for: events and the runtime's own log file, of every host, each with lines of its own."""

from __future__ import annotations

from typing import Final, Literal

from runtime.operations.requests.reports import LogRow, ReadLog, ReadLogFile
from screens.shell.context import ConsoleContext
from screens.views.lists.log import event_lines, file_lines, gap_line
from screens.views.lists.log_buffer import LogBuffer, LogLine
from screens.views.lists.runs import title_of

FIRST_EVENTS: Final = 500
"""Lines that are asked for at first, and then each time that the reader scrolls back."""
_MAX_NEW_EVENTS: Final = 2000


class LogSources:
    """Knows how far each source was read, and asks for what came since. With a `run_id` the events are of that run.

    Its `fetch` methods raise `LinkError`.
    """

    def __init__(self, session: ConsoleContext, run_id: str) -> None:
        self.current: Literal["events", "file"] = "events"
        """The source that is read and shown."""
        self.paths: dict[str, str] = {}
        """Where the log file is, by host."""
        self._session = session
        self._run_id = run_id
        self._books = {"events": LogBuffer(), "file": LogBuffer()}
        self._ends: dict[tuple[str, str], int] = {}
        """Where the last answer of a source ended, by host."""
        self._starts: dict[str, int] = {}
        """Where the events that are here begin, by host."""

    @property
    def buffer(self) -> LogBuffer:
        """The lines of the current source."""
        return self._books[self.current]

    def switch(self) -> None:
        """To the other source."""
        self.current = "file" if self.current == "events" else "events"

    async def fetch(self) -> int:
        """Ask the current source for what is new; how many lines came."""
        return await (self._fetch_events() if self.current == "events" else self._fetch_file())

    async def _fetch_events(self) -> int:
        """All hosts, and then their lines together: where one does not answer, nothing of the others is passed over."""
        rows: list[tuple[str, LogRow]] = []
        gaps: list[LogLine] = []
        for host in self._hosts:
            after = self._ends.get(("events", host))
            limit = FIRST_EVENTS if after is None else _MAX_NEW_EVENTS
            found = await self._session.link.ask(
                ReadLog(run_id=self._run_id, after=after or 0, limit=limit), where=host
            )
            rows += [(host, row) for row in found]
            if after is not None and len(found) == limit:
                gaps.append(gap_line(host, after, self._session.render_context()))
        came = [*gaps, *self._lines(rows)]
        for host, row in rows:
            self._ends["events", host] = row.at
            self._starts.setdefault(host, row.at)
        return self._books["events"].add(came)

    async def fetch_older(self) -> str:
        """Ask for what came before the first event. What to say where nothing was added; empty where something was."""
        rows: list[tuple[str, LogRow]] = []
        for host in self._hosts if self.current == "events" else ():
            before = self._starts.get(host, 0)
            if before > 1:
                found = await self._session.link.ask(
                    ReadLog(run_id=self._run_id, before=before, limit=FIRST_EVENTS), where=host
                )
                rows += [(host, row) for row in found]
                self._starts[host] = found[0].at if found else 0
        taken = self._books["events"].add_older(self._lines(rows))
        if taken:
            return ""
        return "This is the first line." if not rows else "No more lines are kept: filter, or ask for one run."

    async def _fetch_file(self) -> int:
        book, context, came = self._books["file"], self._session.render_context(), 0
        for host in self._hosts:
            found = await self._session.link.ask(ReadLogFile(after=self._ends.get(("file", host))), where=host)
            self.paths[host] = found.path
            self._ends["file", host] = found.end
            level = book.lines[-1].level if book.lines else "info"
            came += book.add(file_lines(host, found.began, found.text, context, level))
        return came

    def _lines(self, rows: list[tuple[str, LogRow]]) -> list[LogLine]:
        return event_lines(rows, self._session.render_context(), None if self._run_id else self.title_of_run)

    def title_of_run(self, run_id: str) -> str:
        summary = self._session.link.summaries.get(run_id)
        return title_of(summary, self._session.render_context()) if summary is not None else run_id

    @property
    def _hosts(self) -> tuple[str, ...]:
        names = tuple(self._session.link.host_names)
        where = self._session.link.host_of(self._run_id) if self._run_id else ""
        return (where,) if where in names else names
