"""Lines of logs: events cut to what a line has room for, and whole lines of the runtime's own log file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from orbiter.redaction import Redactor
from runtime.judgement.reports.audit import shown_params
from runtime.operations.requests.event_object import EventObject
from runtime.operations.requests.reports import LogFileText
from runtime.record.state import events as ev

MAX_TEXT_CHARS: Final = 300
"""Characters kept of each text of an event."""
MAX_ITEMS: Final = 10
"""Entries kept of each list and object of an event."""
PAGE_BYTES: Final = 32 * 1024
"""Of the log file, in one answer."""
_OMITTED_FIELDS: Final = frozenset(
    {"traceback", "options", "answer_schema", "arguments_schema", "result_schema", "causes"}
)
"""What a line of a log has no room for; a reader of one event asks for it as a whole."""


def shorten_event(event: ev.JournalEvent) -> EventObject:
    """An event as JSON that `runtime.record.state.events.parse_event` reads, with long texts, lists and objects cut."""
    body = json.loads(ev.dump_event(event))
    if isinstance(event, ev.IncidentAnswered) and event.params:
        body["params"] = shown_params(event.params)
    return EventObject({name: _shorten_value(value) for name, value in body.items() if name not in _OMITTED_FIELDS})


def _shorten_value(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT_CHARS else value[: MAX_TEXT_CHARS - 1] + "…"
    if isinstance(value, list):
        return [_shorten_value(each) for each in value[:MAX_ITEMS]]
    if isinstance(value, dict):
        return {name: _shorten_value(each) for name, each in list(value.items())[: 4 * MAX_ITEMS]}
    return value


def read_log_file(path: Path, after: int | None, redactor: Redactor) -> LogFileText:
    """The runtime's own log file without secrets; `after` and what is read of it: see `read_whole_lines`."""
    text, began, end = read_whole_lines(path, after)
    return LogFileText(path=str(path), text=redactor.text(text), began=began, end=end)


def read_whole_lines(path: Path, after: int | None) -> tuple[str, int, int]:
    """Lines of a log that ended by now, where they begin and where they end in bytes: at most the last `PAGE_BYTES` of
    what lies behind `after`. A log that is shorter than `after` was begun again: it is read from its beginning.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = 0 if after is None or after > size else after
            whole = after is not None and size - start <= PAGE_BYTES
            start = start if whole else max(start, size - PAGE_BYTES)
            file.seek(start)
            data = file.read(PAGE_BYTES)
    except FileNotFoundError:
        return "", 0, 0
    if not whole and start:  # the first of what was read is the end of a line
        cut = data.find(b"\n") + 1
        start, data = start + cut, data[cut:]
    data = data[: data.rfind(b"\n") + 1]
    return data.decode(errors="replace"), start, start + len(data)
