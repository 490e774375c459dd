"""`log`: what happened, in all runs or in one, a line for each event; and the runtime's own log file."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec.structs import replace

from console.output import print_json, print_line, print_note, supports_unicode
from console.verbs.base import (
    BadInput,
    cli_origin,
    find_run,
    open_for_reading,
    operations_on,
    verb,
)
from console.workspace import workspace
from orbiter.errors import ConfigurationError
from runtime.daemon.log_file import log_path
from runtime.execution.secret_vault import make_redactor
from runtime.operations.log_lines import read_log_file
from runtime.operations.operations import Operations
from runtime.operations.requests.reports import MAX_LOG_ROWS, LogRow, ReadLog
from runtime.operations.requests.runs import ListRuns
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.layout import plain_text
from screens.render.sanitize import sanitize_line
from screens.views.lists.log import event_lines
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter

_MAX_TITLES: Final = 10_000
"""Runs whose titles are read."""


@verb(reads=True)
@click.argument("run", default="")
@click.option(
    "--limit",
    default=500,
    show_default=True,
    type=click.IntRange(1, 20_000),
    help="The most lines; the latest are printed.",
)
@click.option("-f", "--follow", is_flag=True, help="Print new lines as they come, until ctrl+c.")
@click.option("--faults", is_flag=True, help="Only warnings and faults.")
@click.option(
    "--grep",
    default="",
    metavar="PATTERN",
    help="Only lines that contain or match this; with ! before it: the other lines.",
)
@click.option("--file", "of_file", is_flag=True, help="Show the end of the runtime's own log file instead.")
async def log(run: str, *, limit: int, follow: bool, faults: bool, grep: str, of_file: bool, as_json: bool) -> int:
    """Show what happened, in the order in which it was recorded."""
    pattern = RowFilter(grep)
    if pattern.problem:
        raise BadInput(f"--grep {grep!r}: {pattern.problem}")
    if of_file:
        return _file(pattern, limit, as_json=as_json)
    async with open_for_reading() as journal:
        run_id = (await find_run(journal, run)).id if run else ""
        if journal is None:
            print_note("nothing has been run here yet")
            return 0
        reader = _LogReader(operations_on(journal), run_id)
        titles = {} if run else await reader.titles()
        async for row in reader.rows(journal, limit, follow=follow):
            event_run = row.event.run_id
            if not run and event_run not in titles:
                titles = {event_run: event_run, **titles, **await reader.titles()}
            _print_event(row, None if run else titles, pattern, faults=faults, as_json=as_json)
    return 0


class _LogReader:
    """The log of a run, or with an empty id of all of them, in whole events."""

    def __init__(self, operations: Operations, run_id: str) -> None:
        self._operations = operations
        self._run_id = run_id

    async def titles(self) -> dict[str, str]:
        """What the newest runs are called, by their ids."""
        found = await self._operations.run(ListRuns(limit=_MAX_TITLES), cli_origin())
        return {ev.WORKSPACE_RUN_ID: "", **{each.id: each.shown_title for each in found}}

    async def rows(self, journal: Journal, limit: int, *, follow: bool) -> AsyncIterator[LogRow]:
        """The latest `limit` events, and with `follow` what comes after them, for ever. The journal's tail is the bell
        of what is new.
        """
        at = 0
        for row in await self._latest(0, limit):
            at = row.at
            yield row
        if follow:
            async for _ in journal.tail(self._run_id or None, at):
                for row in await self._latest(at, None):
                    at = row.at
                    yield row

    async def _latest(self, after: int, limit: int | None) -> list[LogRow]:
        """The latest events after a place, at most `limit` (None: all of them), as many requests as that takes."""
        found: deque[LogRow] = deque()
        while limit is None or len(found) < limit:
            wanted = MAX_LOG_ROWS if limit is None else min(MAX_LOG_ROWS, limit - len(found))
            before = found[0].at if found else None
            request = ReadLog(run_id=self._run_id, after=after, before=before, limit=wanted, whole=True)
            page = await self._operations.run(request, cli_origin())
            found.extendleft(reversed(page))
            if len(page) < wanted:
                break
        return [*found]


def _print_event(
    row: LogRow, titles: dict[str, str] | None, pattern: RowFilter, *, faults: bool, as_json: bool
) -> None:
    context = RenderContext(ev.utc_now(), UNICODE_GLYPHS if supports_unicode() else ASCII_GLYPHS)
    name = None if titles is None else lambda run_id: titles.get(run_id, run_id)
    for line in event_lines([("", row)], context, name):
        if (line.level != "info" or not faults) and pattern.matches(plain_text(line.spans)):
            if as_json:
                print_json({"id": f"{row.event.run_id}:{row.event.seq}", "level": line.level, **row.event})
            else:
                print_line(plain_text(line.spans))


def _file(pattern: RowFilter, limit: int, *, as_json: bool) -> int:
    """It needs neither the journal nor sound settings: the file may tell what is wrong with them."""
    place = workspace()
    found = read_log_file(log_path(place.state), None, make_redactor(_redacted_patterns(place.root)))
    if not found.end:
        print_note(f"the log file {found.path} does not exist: no runtime has worked in the background here")
    lines = found.text.removesuffix("\n").split("\n") if found.text else []
    chosen = [each for each in lines if pattern.matches(each)][-limit:]
    if as_json:
        print_json(replace(found, text="".join(f"{each}\n" for each in chosen)))
    else:
        for line in chosen:
            print_line(sanitize_line(line, limit=1000))
    return 0


def _redacted_patterns(root: Path) -> Sequence[str]:
    """The operator's patterns of secrets; none where the settings cannot be read."""
    from runtime.config.loader import load_configuration  # other uses of `log` need no settings

    try:
        return load_configuration(root).settings.redaction.patterns
    except ConfigurationError:
        return ()
