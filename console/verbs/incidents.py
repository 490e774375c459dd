"""`incidents`, `answer`, `report`: what waits for a person, and what the person says."""

from __future__ import annotations

import click

from console.lines import Lines
from console.output import emit, note, say, speaks_unicode, table
from console.verbs.frame import (
    Refusal,
    incident_named,
    json_object,
    operator,
    reading,
    run_named,
    state_of,
    verb,
    writing,
)
from console.verbs.runs import incident_object
from console.workspace import workspace
from runtime.judgement import report as reports
from runtime.record.events import utc_now
from runtime.record.journal import Refused
from runtime.record.lock import holder
from runtime.record.state import Incident
from runtime.work.desk import Desk, Reach
from screens.text import clean_line
from screens.words import age


@verb()
@click.option("--run", default="", metavar="RUN", help="Only this run's.")
async def incidents(*, run: str, as_json: bool) -> int:
    """List what waits for a person, oldest first."""
    async with reading() as journal:
        run_id = (await run_named(journal, run)).id if run else None
        found = await journal.incidents(run_id) if journal is not None else []
    if as_json:
        for each in found:
            emit({**incident_object(each.run_id, Incident(each.opened)), "title": each.title})
    elif found:
        now = utc_now()
        table(
            ("incident", "run", "age", "options", "what"),
            [
                (
                    each.opened.incident_id,
                    each.run_id,
                    age(each.opened.ts, now),
                    " ".join(option.id for option in each.opened.options),
                    each.opened.question or each.opened.message,
                )
                for each in found
            ],
        )
    else:
        note("nothing waits for a person")
    return 0


@verb()
@click.argument("incident")
@click.argument("option")
@click.option("--value", help="The text for input or result; a value in its place for skip.")
@click.option("--arguments", metavar="JSON", help="The arguments for edit, a JSON object.")
@click.option("--model", help="The model for switch_model, as provider:name.")
@click.option("--for", "lifetime", help="How long a grant lasts: once, run, swarm or always.")
@click.option("--subject", help="Whom a grant is for: an agent's name, or *.")
@click.option("--pattern", help="What a grant covers; as needed now, if not said.")
@click.option("--message", help="A word to the agent, with deny.")
@click.option("--reach", type=click.Choice(["attempt", "agent", "run"]), help="How far the answer reaches.")
@click.option("--reason", default="", help="Why; kept with the answer.")
@click.option("--revision", type=int, help="Refuse if the incident is not as it was at this revision.")
async def answer(
    incident: str,
    option: str,
    *,
    value: str | None,
    arguments: str | None,
    model: str | None,
    lifetime: str | None,
    subject: str | None,
    pattern: str | None,
    message: str | None,
    reach: Reach | None,
    reason: str,
    revision: int | None,
    as_json: bool,
) -> int:
    """Answer an incident; the first answer counts. Whoever drives the run goes on from the failed step."""
    given = {
        "value": value,
        "arguments": json_object(arguments, "--arguments"),
        "model": model,
        "for": lifetime,
        "subject": subject,
        "pattern": pattern,
        "message": message,
    }
    params = {name: found for name, found in given.items() if found is not None}
    place = workspace()
    if not place.journal.exists():
        await incident_named(None, incident)
    async with writing() as journal:
        outcome = await Desk(journal, place.root).answer(
            incident, option, params, reach=reach, revision=revision, reason=reason, by=operator()
        )
    if isinstance(outcome, Refused):
        raise Refusal(f"the answer was not taken: {outcome.reason}{': ' if outcome.detail else ''}{outcome.detail}")
    taken = outcome.answer
    if as_json:
        body = taken.model_dump(mode="json", include={"run_id", "option", "params", "reach", "reason", "by", "ts"})
        emit({"id": taken.incident_id, "state": "answered", **body})
    note(f"incident {taken.incident_id}: {taken.option}")
    if holder(place.state) is None:
        note("nothing drives this workspace now: orbiter-console serve --foreground carries the run on")
    return 0


@verb()
@click.argument("incident")
async def report(incident: str, *, as_json: bool) -> int:
    """Show the report of an incident, and its options."""
    async with reading() as journal:
        run_id, opened, answered = await incident_named(journal, incident)
        assert journal is not None
        state = await state_of(journal, run_id)
    found = reports.build(state, opened)
    known = state.incidents.get(opened.incident_id)
    if as_json:
        settled = known.state if known is not None else "open"
        emit({"id": opened.incident_id, "state": settled, **found.model_dump(mode="json")})
        return 0
    say(found.markdown())
    if answered is not None:
        by = Lines(ascii_only=not speaks_unicode()).actor(answered.by)
        say(f"\nAnswered: {answered.option} by {by}. {clean_line(answered.reason)}")
    return 0
