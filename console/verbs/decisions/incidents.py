"""`incidents`, `report`: what waits for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from console.output import print_json, print_line, print_note, print_table, supports_unicode
from console.verbs.base import (
    BadInput,
    cli_origin,
    find_incident,
    find_run,
    open_for_reading,
    operations_on,
    verb,
)
from console.verbs.unserved_runs import (
    lacks_driver_here,
    note_undriven,
    note_undriven_here,
    note_unserved_runs,
    print_unserved,
)
from console.workspace import workspace
from runtime.operations.requests.answers import ListIncidents, ShowReport
from runtime.operations.requests.incident_results import OpenIncident, ReportRow
from runtime.operations.requests.listed_incidents import listed_incident_rows
from runtime.operations.requests.workers import UnservedRuns
from runtime.record.listed import ListedIncident
from runtime.record.places import read_lists
from runtime.record.state.clock import utc_now
from runtime.record.state.summary import RUN_ACTIVE
from screens.render.confusables import exact_line
from screens.render.formatting import format_age
from screens.render.sanitize import sanitize_line

if TYPE_CHECKING:
    from runtime.record.state.durable_run import DurableRun
    from runtime.record.state.events import IncidentAnswered, IncidentOpened


_RUNS_LOOKED_AT = 200
"""Of the newest runs, those among which one is looked for that nothing drives."""


class _Listed(NamedTuple):
    """An open incident as the list has it."""

    run_id: str
    opened: IncidentOpened | ListedIncident

    @property
    def sort(self) -> str:
        """Equal for incidents that are the same."""
        return self.opened.fingerprint or self.opened.incident_id

    @property
    def what(self) -> str:
        told = self.opened.what
        exact = bool(self.opened.action.get("permission"))
        return exact_line(told, limit=10_000, ascii_only=not supports_unicode()) if exact else told


def _oldest(found: Sequence[_Listed]) -> list[_Listed]:
    """Of those that are the same, the oldest."""
    oldest = {each.sort: each for each in reversed(found)}
    return [each for each in found if oldest[each.sort] is each]


def _print_incidents(found: Sequence[_Listed], *, grouped: bool) -> None:
    if not found:
        print_note("nothing waits for a person")
        return
    now, alike = utc_now(), Counter(each.sort for each in found)
    print_table(
        ("incident", "run", "same", "age", "options", "what"),
        [
            (
                each.opened.incident_id,
                each.run_id,
                str(alike[each.sort]),
                format_age(each.opened.ts, now),
                " ".join(option.id for option in each.opened.options),
                each.what,
            )
            for each in (_oldest(found) if grouped else found)
        ],
    )


def _incidents_at_once(*, run: str, grouped: bool, as_json: bool) -> int | None:
    if run:
        return None
    looked_at = _RUNS_LOOKED_AT if lacks_driver_here() else 0
    listed = read_lists(workspace().state, runs=looked_at, incidents=True, leave_proposals=not as_json)
    if listed is None:
        return None
    rows: Sequence[OpenIncident] = ()
    if as_json:
        try:
            rows = listed_incident_rows(listed.incidents)
        except ValueError:  # opening the journal says what is wrong with it
            return None
    print_unserved(UnservedRuns.by_need(listed.unserved.items()))
    found = [_Listed(each.run_id, each) for each in listed.incidents]
    if as_json:
        _print_rows(rows, found, grouped=grouped)
    else:
        _print_incidents(found, grouped=grouped)
    note_undriven_here(each.public() for each in listed.runs)
    return 0


def _print_rows(rows: Sequence[OpenIncident], found: Sequence[_Listed], *, grouped: bool) -> None:
    shown = {each.opened.incident_id for each in (_oldest(found) if grouped else found)}
    for row in rows:
        if row.id in shown:
            print_json(row)


@verb(reads=True, at_once=_incidents_at_once)
@click.option("--run", default="", metavar="RUN", help="Only incidents of this run.")
@click.option("--grouped", is_flag=True, help="One line for equal incidents: the oldest, and their number.")
async def incidents(*, run: str, grouped: bool, as_json: bool) -> int:
    """List what waits for a person, oldest first."""
    async with open_for_reading() as journal:
        chosen = [await find_run(journal, run)] if run else []
        run_id = chosen[0].id if chosen else None
        open_now = await journal.incidents(run_id) if journal is not None else []
        rows: Sequence[OpenIncident] = ()
        if as_json and journal is not None:
            rows = await operations_on(journal).run(ListIncidents(run_id=run_id or ""), cli_origin())
        if journal is not None and not run:
            await note_unserved_runs(journal)
            chosen = await journal.runs(_RUNS_LOOKED_AT, states=RUN_ACTIVE)
    found = [_Listed(each.run_id, each.opened) for each in open_now]
    if as_json:
        _print_rows(rows, found, grouped=grouped)
    else:
        _print_incidents(found, grouped=grouped)
    await note_undriven(each.public() for each in chosen)
    return 0


@verb(reads=True)
@click.argument("incident", default="")
@click.option("--file", "path", default="", metavar="FILE", help="Show an incident that was exported to this file.")
@click.option("--plain", is_flag=True, help="As text without marks, instead of Markdown.")
async def report(incident: str, *, path: str, plain: bool, as_json: bool) -> int:
    """Show the report of an incident, and its options."""
    if path:
        from runtime.operations.objects import report_object

        state, opened, answered = _of_file(path, incident)
        found = report_object(state, opened)
    elif not incident:
        raise BadInput("give an INCIDENT (orbiter-console incidents lists them), or --file FILE with an exported one")
    else:
        async with open_for_reading() as journal:
            _, opened, answered = await find_incident(journal, incident)
            assert journal is not None
            found = await operations_on(journal).run(ShowReport(incident_id=opened.incident_id), cli_origin())
    if as_json:
        print_json(found)
        return 0
    from runtime.judgement.reports.framing import markdown_text

    lines = found.explanation.lines
    rows = [f"{label}: {text}" if plain else f"**{label}:** {markdown_text(text)}" for label, text in lines.items()]
    print_line("\n".join([*rows, "", *_option_lines(found, plain=plain)]), framed=True)
    print_line("")
    print_line(found.text if plain else found.markdown, framed=True)
    if answered is not None:
        from console.linear.event_lines import EventLines

        by = EventLines(ascii_only=not supports_unicode()).actor(answered.by)
        print_line(f"\nAnswered: {answered.option} by {by}. {sanitize_line(answered.reason)}")
    return 0


def _option_lines(found: ReportRow, *, plain: bool) -> list[str]:
    """Each option that is offered, with what it will do."""
    from runtime.judgement.reports.explanation.sentence import option_words
    from runtime.judgement.reports.framing import markdown_text

    rows = []
    for option in found.options:
        name, words = option.id, option_words(option.id, option.hint, found.explanation.consequences)
        safe = " (the safe default)" if option.id == found.safe else ""
        if not plain:
            name, words = f"**{markdown_text(name)}**", markdown_text(words)
        rows.append(f"- {name}{safe}: {words}" if words else f"- {name}{safe}")
    return rows


def _of_file(path: str, name: str) -> tuple[DurableRun, IncidentOpened, IncidentAnswered | None]:
    """An incident of an exported run: the one that was exported, the one that is named, or the only one."""
    from console.verbs.runs.export import read_export_file

    exported = read_export_file(path)
    state = exported.state()
    wanted = name or exported.header.incident_id
    fitting = [each for key, each in state.incidents.items() if key.startswith(wanted)]
    if len(fitting) != 1:
        raise BadInput(
            f"{path} has {len(state.incidents)} incidents: say which: {', '.join(state.incidents) or 'none'}"
        )
    return state, fitting[0].opened, fitting[0].answer
