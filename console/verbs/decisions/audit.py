"""`audit`, `digest`: who decided what, and what happened while you were away."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import click

from console.output import print_json, print_line, print_note
from console.verbs.base import (
    BadInput,
    cli_origin,
    find_run,
    open_for_reading,
    open_for_writing,
    operations_on,
    verb,
)
from console.workspace import workspace
from runtime.judgement.reports.report_types import AuditEntry
from runtime.operations.requests.reports import ListAudit, NoteLook, ReadDigest
from runtime.record.places import journal_exists
from runtime.record.state.events import utc_now
from screens.render.formatting import format_duration
from screens.render.sanitize import sanitize_line

_SPANS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def since_of(text: str) -> datetime | None:
    """A date or time (ISO 8601, local where no zone is given), or a span back from now (30m, 12h, 7d, 2w).

    Raises:
        BadInput: it is neither.
    """
    if not text:
        return None
    unit = _SPANS.get(text[-1:])
    try:
        if unit is not None and text[:-1].isdecimal():
            return utc_now() - timedelta(**{unit: int(text[:-1])})
        return datetime.fromisoformat(text).astimezone()
    except OverflowError as exc:
        raise BadInput(f"--since {text!r} is out of range (years 1 to 9999): leave it out to list everything") from exc
    except ValueError as exc:
        raise BadInput(
            f"--since {text!r}: must be a date or a span, for example 2026-01-31, 2026-01-31T12:00 or 7d"
        ) from exc


@verb(reads=True)
@click.option("--run", default="", metavar="RUN", help="Only decisions in this run.")
@click.option("--since", default="", metavar="WHEN", help="A date, or a span such as 7d.")
@click.option("--by", "person", default="", metavar="NAME", help="Only decisions of this person.")
async def audit(*, run: str, since: str, person: str, as_json: bool) -> int:
    """Show who decided what: person, channel, option, time to answer, reason; oldest first."""
    async with open_for_reading() as journal:
        run_id = (await find_run(journal, run)).id if run else ""
        asked = ListAudit(run_id=run_id, since=since_of(since), person=person)
        found = await operations_on(journal).run(asked, cli_origin()) if journal is not None else ()
    if as_json:
        for each in found:
            print_json(each)
        return 0
    for each in found:
        print_line(_line(each))
    if not found:
        print_note("no decision has been made yet")
    return 0


def _line(each: AuditEntry) -> str:
    """One decision; every piece that is not ours passes the gate by itself, so that none forges a line."""
    told = [
        each.ts.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
        f"{sanitize_line(each.person, limit=60) or 'the runtime'} ({each.channel})",
        f"{each.what} {each.option}".strip(),
        f"after {format_duration(each.seconds)}" if each.seconds is not None else "",
        f"[{each.incident_id or each.run_id}]" if each.incident_id or each.run_id else "",
        sanitize_line(json.dumps(each.params, ensure_ascii=False), limit=200) if each.params else "",
        f"because: {sanitize_line(each.reason, limit=300)}" if each.reason else "",
        f"asked: {sanitize_line(each.asked, limit=300)}" if each.asked else "",
    ]
    return "  ".join(part for part in told if part)


@verb(reads=True)
@click.option("--since", default="", metavar="WHEN", help="A date, or a span such as 7d; else your last look.")
@click.option("--keep", is_flag=True, help="Do not count this as a look: the next digest begins where this one does.")
async def digest(*, since: str, keep: bool, as_json: bool) -> int:
    """Show what happened since you last looked."""
    if not journal_exists(workspace().state):
        print_note("nothing has been run here yet")
        return 0
    async with open_for_writing() as journal:
        operations = operations_on(journal)
        found = await operations.run(ReadDigest(since=since_of(since)), cli_origin())
        if not keep and not since:
            await operations.run(NoteLook(), cli_origin())
    if as_json:
        print_json(found)
        return 0
    began = found.since.astimezone().strftime("%Y-%m-%d %H:%M:%S") if found.since is not None else "the beginning"
    for line in found.sentences:
        print_line(line)
    print_note(f"since {began}" if not found.empty else f"nothing has happened since {began}")
    return 0
