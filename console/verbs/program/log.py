"""`log`: what happened, in all runs or in one, a line for each event; and the runtime's own log file."""

from __future__ import annotations

from collections.abc import AsyncIterator

import click

from console.output import print_json, print_line, print_note, supports_unicode
from console.verbs.base import (
    BadInput,
    find_run,
    open_for_reading,
    verb,
)
from console.workspace import workspace
from runtime.daemon.log_file import log_path
from runtime.judgement.reports.audit import shown_params
from runtime.link.verbs.logs import read_whole_lines
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.layout import plain_text
from screens.render.sanitize import clean_line
from screens.views.lists.log import event_lines
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter


@verb()
@click.argument("run", default="")
@click.option("--limit", default=500, show_default=True, type=click.IntRange(1, 20_000), help="The latest so many.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens, until ctrl+c.")
@click.option("--faults", is_flag=True, help="Only warnings and faults.")
@click.option("--grep", default="", metavar="PATTERN", help="Only lines with these words, or that match; ! turns it.")
@click.option("--file", "of_file", is_flag=True, help="The end of the runtime's own log file, instead.")
async def log(run: str, *, limit: int, follow: bool, faults: bool, grep: str, of_file: bool, as_json: bool) -> int:
    """Say what happened, in the order in which it was written."""
    pattern = RowFilter(grep)
    if pattern.problem:
        raise BadInput(f"--grep {grep!r}: {pattern.problem}")
    if of_file:
        return _file(pattern, limit)
    async with open_for_reading() as journal:
        if journal is None:
            print_note("nothing has been run here yet")
            return 0
        run_id = (await find_run(journal, run)).id if run else None
        titles = {} if run else {each.id: each.title or each.ref for each in await journal.runs(10_000)}
        async for at, event in _events(journal, run_id, limit, follow=follow):
            if event.run_id not in titles and not run and (summary := await journal.summary(event.run_id)):
                titles[event.run_id] = summary.title or summary.ref
            _print_event(at, event, titles if not run else None, pattern, faults=faults, as_json=as_json)
    return 0


async def _events(
    journal: Journal, run_id: str | None, limit: int, *, follow: bool
) -> AsyncIterator[tuple[int, ev.JournalEvent]]:
    """The latest events, and with `follow` what comes after them, for ever; each with its place."""
    at = 0
    for placed in await journal.latest(run_id, limit=limit):
        at = placed.pos
        yield at, placed.event
    if follow:
        async for batch in journal.tail(run_id, at):
            for event in batch:
                yield event.seq if run_id else 0, event


def _print_event(
    at: int, event: ev.JournalEvent, titles: dict[str, str] | None, pattern: RowFilter, *, faults: bool, as_json: bool
) -> None:
    looks = RenderContext(ev.utc_now(), UNICODE_GLYPHS if supports_unicode() else ASCII_GLYPHS)
    if isinstance(event, ev.IncidentAnswered):
        event = event.model_copy(update={"params": shown_params(event.params)})
    row = ("", {"at": at, "event": event.model_dump(mode="json")})
    name = None if titles is None else lambda run_id: titles.get(run_id, run_id)
    for line in event_lines([row], looks, name):
        if (line.level != "info" or not faults) and pattern.matches(plain_text(line.spans)):
            if as_json:
                print_json({"id": f"{event.run_id}:{event.seq}", "level": line.level, **event.model_dump(mode="json")})
            else:
                print_line(plain_text(line.spans))


def _file(pattern: RowFilter, limit: int) -> int:
    path = log_path(workspace().state)
    text, _, end = read_whole_lines(path, None)
    if not end:
        print_note(f"there is no log file {path}: no runtime has worked in the background here")
    for line in [each for each in text.splitlines() if pattern.matches(each)][-limit:]:
        print_line(clean_line(line, limit=1000))
    return 0
