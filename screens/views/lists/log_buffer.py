"""The buffer of a log: a bounded number of lines, and its filter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from runtime.judgement.reports.narration import LogLevel
from screens.render.layout import Span, Spans, plain_text
from screens.views.shared.row_filter import RowFilter

MAX_KEPT_LINES: Final = 20_000
"""Lines that a log remembers; the oldest go first."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line. `key` is its own; `run_id` and `seq` lead to the event, on `host`, where it is one."""

    key: str
    ts: datetime | None
    level: LogLevel
    spans: Spans
    host: str = ""
    run_id: str = ""
    seq: int = 0


@dataclass
class LogBuffer:
    """Lines, oldest first. `shown` are those that the filter means."""

    kept: int = MAX_KEPT_LINES
    filter: RowFilter = field(default_factory=RowFilter)
    faults_only: bool = False
    lines: list[LogLine] = field(default_factory=list)
    shown: list[LogLine] = field(default_factory=list)

    def add(self, lines: Sequence[LogLine]) -> int:
        """Lines that came after all that are there; how many of them are shown."""
        lines = lines[-self.kept :]
        meant = [line for line in lines if self.passes_filter(line)]
        self.lines += lines
        self.shown += meant
        gone = self.lines[: max(0, len(self.lines) - self.kept)]
        if gone:
            del self.lines[: len(gone)]
            del self.shown[: sum(self.passes_filter(line) for line in gone)]
        return len(meant)

    def add_older(self, lines: Sequence[LogLine]) -> int:
        """Lines that lie before all that are there, as many as there is room for; how many were taken."""
        room = self.kept - len(self.lines)
        taken = list(lines)[-room:] if room > 0 else []
        self.lines[:0] = taken
        self.shown[:0] = [line for line in taken if self.passes_filter(line)]
        return len(taken)

    def narrow(self, text: str | None = None, *, faults_only: bool | None = None) -> None:
        """Leave out other lines than now."""
        self.filter = self.filter if text is None else RowFilter(text)
        self.faults_only = self.faults_only if faults_only is None else faults_only
        self.shown = [line for line in self.lines if self.passes_filter(line)]

    def passes_filter(self, line: LogLine) -> bool:
        if self.faults_only and line.level == "info":
            return False
        return not self.filter.active or self.filter.matches(plain_text(line.spans))

    @property
    def left_out(self) -> int:
        return len(self.lines) - len(self.shown)

    # -- places ----------------------------------------------------------------------------------------------

    def find_next(self, pattern: RowFilter, start: int, step: int) -> int:
        """The next line after `start` (before it, with a `step` of -1) that a pattern means, and round again; -1 if
        there is none.
        """
        count = len(self.shown)
        for distance in range(1, count + 1):
            at = (start + step * distance) % count
            if pattern.matches(plain_text(self.shown[at].spans)):
                return at
        return -1

    def find_all(self, pattern: RowFilter) -> list[int]:
        """All lines that are shown and that a pattern means."""
        return [at for at, line in enumerate(self.shown) if pattern.matches(plain_text(line.spans))]

    def at_time(self, start: int, by: timedelta) -> int:
        """The first line that is at least `by` later than that at `start`, or the last that is so much earlier; the end
        of the log where there is none.
        """
        here = self.shown[start].ts if 0 <= start < len(self.shown) else None
        if here is None:
            return start
        later = by > timedelta(0)
        order = range(start, len(self.shown)) if later else range(start, -1, -1)
        for at in order:
            ts = self.shown[at].ts
            if ts is not None and (ts >= here + by if later else ts <= here + by):
                return at
        return len(self.shown) - 1 if later else 0


def mark_matches(spans: Spans, pattern: RowFilter) -> Spans:
    """The spans with what a pattern finds in them in another ink."""
    found: list[Span] = []
    for piece in spans:
        at = 0
        for start, end in pattern.find_spans(piece.text):
            found += [piece._replace(text=piece.text[at:start]), Span(piece.text[start:end], "ink-key", bold=True)]
            at = end
        found.append(piece._replace(text=piece.text[at:]))
    return tuple(piece for piece in found if piece.text)


_FILE_LINE: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d{3} (DEBUG|INFO|WARNING|ERROR|CRITICAL) ")


def file_level(text: str, before: LogLevel) -> LogLevel:
    """The level of a line of the runtime's log file (`runtime.daemon.log_file.LOG_FORMAT`). A line that continues the
    one `before` it has that one's level.
    """
    head = _FILE_LINE.match(text)
    if head is None:
        return before
    return "error" if head[2] in ("ERROR", "CRITICAL") else "warning" if head[2] == "WARNING" else "info"
