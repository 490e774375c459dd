"""Link verbs of logs: `log` for events, `logfile` for the runtime's own log file.

Both are asked for more from the place where the last answer ended, and only when somebody looks: nothing here runs by
itself.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from runtime.daemon.log_file import log_path
from runtime.execution.secret_vault import make_redactor
from runtime.judgement.reports.audit import shown_params
from runtime.link.verbs.registry import CommandOrigin, Verb, VerbArgs
from runtime.record.journal import Journal
from runtime.record.state import events as ev

MAX_TEXT_CHARS: Final = 300
"""Characters kept of each text of an event."""
MAX_ITEMS: Final = 10
"""Entries kept of each list and object of an event."""
EVENTS_PER_TURN: Final = 50
"""Events that are shortened before other consoles have a turn."""
PAGE_BYTES: Final = 32 * 1024
"""Of the log file, in one answer."""
_OMITTED_FIELDS: Final = frozenset(
    {"traceback", "options", "answer_schema", "arguments_schema", "result_schema", "causes"}
)
"""What a line of a log has no room for; a reader of one event asks for it as a whole."""


class LogArgs(VerbArgs):
    """Without `run_id`: of all runs and the workspace; places are then positions in the journal, else `seq`s."""

    run_id: str = ""
    after: int = Field(default=0, ge=0)
    before: int | None = Field(default=None, ge=0)
    limit: int = Field(default=500, ge=1, le=2000)


class LogfileArgs(VerbArgs):
    """`after`: the byte at which the last answer ended; None: the end of the file as it is."""

    after: int | None = Field(default=None, ge=0)


def log_verbs(journal: Journal, state_dir: Path, redact: tuple[str, ...] = ()) -> dict[str, Verb]:
    """The verbs by name. `redact` are patterns of what the log file is told without."""

    async def log(args: LogArgs, _asked: CommandOrigin) -> list[dict[str, Any]]:
        found = await journal.latest(args.run_id or None, after=args.after, before=args.before, limit=args.limit)
        lines: list[dict[str, Any]] = []
        for placed in found:
            if not len(lines) % EVENTS_PER_TURN:
                await asyncio.sleep(0)
            lines.append({"at": placed.pos, "event": shorten_event(placed.event)})
        return lines

    async def logfile(args: LogfileArgs, _asked: CommandOrigin) -> dict[str, Any]:
        path = log_path(state_dir)
        text, began, end = await asyncio.to_thread(read_whole_lines, path, args.after)
        return {"path": str(path), "text": make_redactor(redact).text(text), "began": began, "end": end}

    return {"log": Verb(LogArgs, log), "logfile": Verb(LogfileArgs, logfile)}


def shorten_event(event: ev.JournalEvent) -> dict[str, Any]:
    """An event as JSON that `runtime.record.state.events.parse_event` reads, with long texts, lists and objects cut."""
    body = json.loads(ev.dump_event(event))
    if isinstance(event, ev.IncidentAnswered) and event.params:
        body["params"] = shown_params(event.params)
    return {name: _shorten_value(value) for name, value in body.items() if name not in _OMITTED_FIELDS}


def _shorten_value(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT_CHARS else value[: MAX_TEXT_CHARS - 1] + "…"
    if isinstance(value, list):
        return [_shorten_value(each) for each in value[:MAX_ITEMS]]
    if isinstance(value, dict):
        return {name: _shorten_value(each) for name, each in list(value.items())[: 4 * MAX_ITEMS]}
    return value


def read_whole_lines(path: Path, after: int | None) -> tuple[str, int, int]:
    """Lines of a log that ended by now, where they begin and where they end in bytes: at most the last `PAGE_BYTES` of
    what lies behind `after`. A log that is shorter than `after` was begun anew: it is read from its beginning.
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
