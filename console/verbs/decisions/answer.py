"""`answer`: what a person says to an incident, or to all that are like it."""

from __future__ import annotations

import sys
from typing import Any

import click

from console.exit_codes import FAILED
from console.linear.grant_preview import print_grant_preview
from console.linear.prompts import STANDING_LIFETIMES
from console.output import print_json, print_note, print_table
from console.verbs.base import (
    BadInput,
    cli_actor,
    find_incident,
    json_object,
    open_for_writing,
    text_of_stdin,
    verb,
)
from console.workspace import workspace
from runtime.judgement.recovery.input_validation import is_secret, secret_warning
from runtime.judgement.recovery.options import wording_of
from runtime.judgement.reports.audit import shown_params
from runtime.operations.answer_params import checked_params
from runtime.operations.bulk_answers import PROOF_TIMEOUT_S, answer_equal_incidents
from runtime.operations.decisions import Decisions, Reach
from runtime.record.journal import AnswerRefused, Journal
from runtime.record.places import journal_exists
from runtime.record.state.events import IncidentOpened
from runtime.record.workspace_lock import holder
from screens.shell import file_input


@verb()
@click.argument("incident")
@click.argument("option")
@click.option("--value", "values", multiple=True, help="For input, result, skip; again for several. - reads stdin.")
@click.option("--file", "path", metavar="FILE", help="A file's content as the value.")
@click.option("--arguments", metavar="JSON", help="The arguments for edit, a JSON object.")
@click.option("--model", help="The model for switch_model, as provider:name.")
@click.option("--seconds", type=float, help="How long wait_retry waits.")
@click.option("--amount", type=float, help="How far extend goes.")
@click.option("--for", "lifetime", help="How long a grant lasts: once, run, swarm or always.")
@click.option("--until", help="When a grant ends: a date, or a span such as 7d.")
@click.option("--subject", help="Whom a grant is for: an agent's name, or *.")
@click.option("--pattern", help="What a grant covers; as needed now, if not said.")
@click.option("--message", help="A word to the agent, with deny.")
@click.option("--reach", type=click.Choice(["attempt", "agent", "run"]), help="How far the answer reaches.")
@click.option("--reason", default="", help="Why; kept with the answer.")
@click.option("--revision", type=int, help="Refuse if the incident is not as it was at this revision.")
@click.option("--like-this", is_flag=True, help="And, once it went on, all open ones that are the same.")
@click.option(
    "--looked-at",
    multiple=True,
    metavar="INCIDENT",
    help="With --like-this: may be repeated, for you looked and it had not happened. Again for several.",
)
@click.option("--proof", default=PROOF_TIMEOUT_S, show_default=True, type=click.FloatRange(0), metavar="SECONDS",
              help="With --like-this: how long the first may take to go on.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what a grant would have matched, and answer nothing.")
async def answer(  # noqa: PLR0917 - one option each
    incident: str,
    option: str,
    values: tuple[str, ...],
    path: str | None,
    arguments: str | None,
    model: str | None,
    seconds: float | None,
    amount: float | None,
    lifetime: str | None,
    until: str | None,
    subject: str | None,
    pattern: str | None,
    message: str | None,
    reach: Reach | None,
    reason: str,
    revision: int | None,
    like_this: bool,
    looked_at: tuple[str, ...],
    proof: float,
    dry_run: bool,
    *,
    as_json: bool,
) -> int:
    """Answer an incident; the first answer counts. Whoever drives the run goes on from the failed step.

    What is offered stands in: report INCIDENT. For example: answer i-7kq2 edit --arguments '{"path": "a.md"}'
    """
    given = {
        "arguments": json_object(arguments, "--arguments"),
        "model": model,
        "seconds": seconds,
        "amount": amount,
        "for": lifetime,
        "until": until,
        "subject": subject,
        "pattern": pattern,
        "message": message,
    }
    params = {name: found for name, found in given.items() if found is not None}
    place = workspace()
    if not journal_exists(place.state):
        await find_incident(None, incident)
    async with open_for_writing() as journal:
        _, opened, _ = await find_incident(journal, incident)
        if (value := _value(opened, option, values, path)) is not None:
            params["value"] = value
            if option == "input" and is_secret(opened.answer_schema) and (warning := secret_warning(str(value))):
                print_note(f"warning: this secret is {warning}")
        desk = Decisions(journal, place.root)
        if dry_run and option != "grant":
            raise BadInput("--dry-run is for grant: it says what the permission would have matched")
        if option == "grant" and lifetime in STANDING_LIFETIMES:
            for line in await print_grant_preview(desk, journal, opened, params, cli_actor()):
                print_note(line)
        elif dry_run:
            checked_params(opened, option, params)
            print_note(f"once: this very call and no other, {wording_of(opened, option)}")
        if dry_run:
            return 0
        if like_this:
            seen = [(await find_incident(journal, each))[1].incident_id for each in looked_at]
            return await _answer_equal(
                desk, journal, opened.incident_id, option, params, seen, reason, proof, as_json=as_json
            )
        outcome = await desk.answer(
            opened.incident_id, option, params, reach=reach, revision=revision, reason=reason, by=cli_actor()
        )
    if isinstance(outcome, AnswerRefused):
        raise BadInput(f"the answer was not taken: {outcome.reason}{': ' if outcome.detail else ''}{outcome.detail}")
    taken = outcome.answer
    if as_json:
        body = taken.model_dump(mode="json", include={"run_id", "option", "params", "reach", "reason", "by", "ts"})
        print_json({"id": taken.incident_id, "state": "answered", **body, "params": shown_params(body["params"])})
    print_note(f"incident {taken.incident_id}: {taken.option}")
    if holder(place.state) is None:
        print_note("nothing drives this workspace now: orbiter-console serve carries the run on")
    return 0


def _value(opened: IncidentOpened, option: str, values: tuple[str, ...], path: str | None) -> Any:
    """The value as it was given: text, several texts, a file's content, or what is typed without being shown.

    Raises:
        Refusal: it was given in two ways, or the file cannot be read.
    """
    if path is not None:
        if values:
            raise BadInput("give --value or --file, not both")
        return _content(opened, path)
    if not values:
        secret = option == "input" and is_secret(opened.answer_schema)
        return click.prompt(opened.question, hide_input=True, err=True) if secret and sys.stdin.isatty() else None
    read = [text_of_stdin().removesuffix("\n") if each == "-" else each for each in values]
    return read[0] if len(read) == 1 else read


def _content(opened: IncidentOpened, path: str) -> str:
    binary = (opened.answer_schema or {}).get("contentEncoding") == "base64"
    try:
        return file_input.read_file_input(path, binary=binary, pipe=True)
    except ValueError as exc:
        raise BadInput(f"--file {exc}") from exc


async def _answer_equal(  # noqa: PLR0917 - the parts of one answer
    desk: Decisions,
    journal: Journal,
    incident_id: str,
    option: str,
    params: dict[str, Any],
    looked_at: list[str],
    reason: str,
    proof: float,
    *,
    as_json: bool,
) -> int:
    items = await answer_equal_incidents(
        desk, journal, incident_id, option, params, looked_at=looked_at, reason=reason, by=cli_actor(), proof_s=proof
    )
    if as_json:
        for item in items:
            print_json({"id": item.incident_id, "state": item.state, "run_id": item.run_id, "detail": item.detail})
    else:
        print_table(
            ("incident", "run", "came to", "detail"),
            [(item.incident_id, item.run_id, item.state, item.detail) for item in items],
        )
    went = sum(item.state == "went on" for item in items)
    print_note(f"{went} of {len(items)} went on")
    return 0 if went == len(items) else FAILED
