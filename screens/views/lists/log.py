"""Lines of the log: each event by itself, as the narrator says it; and the lines of the runtime's log file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from runtime.judgement.reports.narration import LogLevel
from runtime.judgement.reports.narrator import narrate
from runtime.operations.requests.event_object import EventObject
from runtime.operations.requests.reports import LogRow
from runtime.record.state import events as ev
from screens.render.glyphs import state_ink
from screens.render.layout import Span, join_spans, span
from screens.views.lists.log_buffer import LogLine, file_level
from screens.views.run.node_names import place_words
from screens.views.shared.narration_text import sentence_text
from screens.views.shared.render_context import RenderContext

_LEVEL_INKS: Final[Mapping[LogLevel, str]] = {"info": "ink", "warning": "severity-warning", "error": "severity-error"}


def read_event(row: EventObject) -> ev.JournalEvent:
    """The event that a runtime told, or what is left of it if this program cannot read it."""
    try:
        return ev.parse_event(dict(row))
    except ev.InvalidEvent:
        return ev.UnknownEvent(type=row.type, run_id=row.run_id, seq=row.seq)


def event_lines(
    rows: Sequence[tuple[str, LogRow]], context: RenderContext, title: Callable[[str], str] | None = None
) -> list[LogLine]:
    """Lines of what `log` told, each row with its host; by time, where there are several. `title` says what a run is
    called, where the log is of more than one.
    """
    found = [(host, row.at, read_event(row.event)) for host, row in rows]
    if len({host for host, _, _ in found}) > 1:
        found.sort(key=lambda each: each[2].ts)
    return [_line(host, at, event, context, title) for host, at, event in found if narrate(event).weight != "noise"]


def _line(
    host: str, at: int, event: ev.JournalEvent, context: RenderContext, title: Callable[[str], str] | None
) -> LogLine:
    narration = narrate(event)
    state, level = narration.state, narration.level
    sign = context.glyphs.warning if state == "warning" else context.glyphs.state.get(state, " ")
    ink = (
        "severity-warning" if state == "warning" else state_ink(state) if state in context.glyphs.state else "ink-muted"
    )
    run = "" if title is None else "workspace" if event.run_id == ev.WORKSPACE_RUN_ID else title(event.run_id)
    where = join_spans(
        (
            span(context.sanitize_line(host, 40), "ink-muted"),
            span(context.sanitize_line(run, 30), "ink-muted"),
            span(place_words(event.node_id, context, root=title is None), "ink-accent"),
        ),
        context.glyphs.dot,
    )
    recent = context.now - event.ts < timedelta(hours=12)
    head = Span(f"{event.ts.astimezone().strftime('%H:%M:%S' if recent else '%m-%d %H:%M')} ", "ink-muted")
    text = sentence_text(narration, ascii_only=context.ascii_only)
    said = span(text, _LEVEL_INKS[level] if level != "info" else "ink")
    spans = (head, Span(f"{sign} ", ink), *join_spans((where, said), ": " if narration.whole else " "))
    return LogLine(f"{host}:{at}", event.ts, level, spans, host, event.run_id, event.seq)


def gap_line(host: str, after: int, context: RenderContext) -> LogLine:
    """Stands where more happened at once than a log takes in."""
    said = f"{context.glyphs.ellipsis} more happened here than is shown: orbiter-console log has it all"
    return LogLine(f"gap:{host}:{after}", None, "warning", span(said, "severity-warning"), host)


def file_lines(host: str, began: int, text: str, context: RenderContext, before: LogLevel = "info") -> list[LogLine]:
    """Lines of the runtime's log file, which `began` at this byte."""
    found: list[LogLine] = []
    at, level = began, before
    for raw in text.splitlines(keepends=True):
        level = file_level(raw, level)
        where = span(f"{context.sanitize_line(host, 40)} ", "ink-muted")
        line = span(context.sanitize_line(raw.rstrip("\r\n"), 1000), _LEVEL_INKS[level])
        found.append(LogLine(f"file:{host}:{at}", None, level, (*where, *line), host))
        at += len(raw.encode())
    return found
