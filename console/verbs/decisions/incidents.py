"""`incidents`, `report`: what waits for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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
from console.verbs.unserved_runs import note_unserved_runs
from runtime.operations.requests.answers import ListIncidents, ShowReport
from runtime.operations.requests.incident_results import OpenIncident
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.events import IncidentAnswered, IncidentOpened, utc_now
from screens.render.confusables import mark_confusables
from screens.render.formatting import format_age
from screens.render.sanitize import sanitize_line


def _what(opened: IncidentOpened) -> str:
    return mark_confusables(opened.what) if opened.action.get("permission") else opened.what


@verb()
@click.option("--run", default="", metavar="RUN", help="Only this run's.")
@click.option("--grouped", is_flag=True, help="One line for all that are the same: the oldest, and how many there are.")
async def incidents(*, run: str, grouped: bool, as_json: bool) -> int:
    """List what waits for a person, oldest first."""
    async with open_for_reading() as journal:
        run_id = (await find_run(journal, run)).id if run else None
        found = await journal.incidents(run_id) if journal is not None else []
        rows: Sequence[OpenIncident] = ()
        if as_json and journal is not None:
            rows = await operations_on(journal).run(ListIncidents(run_id=run_id or ""), cli_origin())
        if not run:
            await note_unserved_runs(journal)
    alike = Counter(each.opened.fingerprint or each.opened.incident_id for each in found)
    if grouped:
        oldest = {each.opened.fingerprint or each.opened.incident_id: each for each in reversed(found)}
        found = [each for each in found if each in oldest.values()]
    if as_json:
        shown = {each.opened.incident_id for each in found}
        for row in rows:
            if row.id in shown:
                print_json(row)
    elif found:
        now = utc_now()
        print_table(
            ("incident", "run", "same", "age", "options", "what"),
            [
                (
                    each.opened.incident_id,
                    each.run_id,
                    str(alike[each.opened.fingerprint or each.opened.incident_id]),
                    format_age(each.opened.ts, now),
                    " ".join(option.id for option in each.opened.options),
                    _what(each.opened),
                )
                for each in found
            ],
        )
    else:
        print_note("nothing waits for a person")
    return 0


@verb()
@click.argument("incident", default="")
@click.option("--file", "path", default="", metavar="FILE", help="Of an incident that was exported to a file.")
@click.option("--plain", is_flag=True, help="As text without marks, instead of Markdown.")
async def report(incident: str, *, path: str, plain: bool, as_json: bool) -> int:
    """Show the report of an incident, and its options."""
    if path:
        from runtime.operations.objects import report_object

        state, opened, answered = _of_file(path, incident)
        found = report_object(state, opened)
    elif not incident:
        raise BadInput("say which incident, or --file FILE for one that was exported")
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
    print_line("\n".join(rows), framed=True)
    print_line("")
    print_line(found.text if plain else found.markdown, framed=True)
    if answered is not None:
        from console.linear.event_lines import EventLines

        by = EventLines(ascii_only=not supports_unicode()).actor(answered.by)
        print_line(f"\nAnswered: {answered.option} by {by}. {sanitize_line(answered.reason)}")
    return 0


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
