"""`answer`: what a person says to an incident, or to all that are like it."""

from __future__ import annotations

import getpass
import os
import pwd
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import click
from msgspec import Struct

from console.exit_codes import FAILED
from console.linear.grant_preview import grant_preview_lines
from console.output import print_json, print_note, print_table, supports_unicode
from console.verbs.argument_values import text_of_stdin
from console.verbs.base import (
    BadInput,
    cli_origin,
    find_incident,
    open_for_writing,
    operations_on,
    verb,
)
from console.verbs.decisions.answer_flags import AnswerCommand, given_params
from console.verbs.run_operation import is_driven
from console.verbs.unserved_runs import print_undriven
from console.workspace import workspace
from runtime.daemon.errors import DaemonError
from runtime.judgement.forms.secret_schema import is_secret
from runtime.judgement.recovery.option_table import STANDING_LIFETIMES, effect_of
from runtime.link.client.blocking_request import ask_runtime
from runtime.operations.context import OperationError
from runtime.operations.operations import Operations
from runtime.operations.requests.answers import (
    PROOF_TIMEOUT_S,
    AnswerEqual,
    AnswerIncident,
    PreviewGrant,
    TakenAnswer,
)
from runtime.record.places import journal_exists
from runtime.record.state.operator_terms import Reach
from screens.shell import file_input

if TYPE_CHECKING:
    from runtime.record.state.events import IncidentOpened


class _Given(Struct, frozen=True, kw_only=True):
    """What was given beside the incident and the option, by the names of the flags below."""

    reach: Reach | None = None
    reason: str = ""
    revision: int | None = None
    path: str | None = None
    fields: tuple[str, ...] = ()
    like_this: bool = False
    looked_at: tuple[str, ...] = ()
    proof: float = PROOF_TIMEOUT_S
    dry_run: bool = False
    params: dict[str, Any]
    """The parameters of the option."""

    @classmethod
    def from_flags(cls, flags: Mapping[str, Any]) -> Self:
        own = {name: value for name, value in flags.items() if name in cls.__struct_fields__}
        return cls(**own, params=given_params({name: value for name, value in flags.items() if name not in own}))

    @property
    def reads_nothing(self) -> bool:
        """Whether nothing has to be read of the incident before the answer is sent."""
        reads = self.path is not None or self.fields or self.like_this or self.dry_run or "value" in self.params
        return not reads and self.params.get("for") not in STANDING_LIFETIMES

    def request(self, incident_id: str, option: str) -> AnswerIncident:
        return AnswerIncident(
            incident_id=incident_id,
            option=option,
            params=self.params,
            reach=self.reach,
            revision=self.revision,
            reason=self.reason,
        )


def _answer_at_once(*, incident: str, option: str, as_json: bool, **flags: Any) -> int | None:
    """Have the runtime take the answer, where nothing is to be read of the incident before it is sent."""
    given = _Given.from_flags(flags)
    if not given.reads_nothing or effect_of(option) in (None, "input") or _has_another_name():
        return None
    try:
        taken = ask_runtime(workspace().state, given.request(incident, option))
    except DaemonError as exc:
        raise BadInput(
            f"the answer was sent, but it is not known whether it was taken: {exc}. To find out:"
            f" orbiter-console report {incident}",
            code=FAILED,
        ) from exc
    if taken is None:
        return None
    _print_taken(taken, as_json=as_json)
    return 0


def _has_another_name() -> bool:
    """Whether the user goes by another name than that of the account (`$LOGNAME`), which is all that a socket tells."""
    try:
        return getpass.getuser() != pwd.getpwuid(os.getuid()).pw_name
    except (KeyError, OSError):  # an account without a name
        return True


def _print_taken(taken: TakenAnswer, *, as_json: bool) -> None:
    if as_json:
        print_json(taken)
    print_note(f"incident {taken.id}: {taken.option}")


@verb(command_class=AnswerCommand, at_once=_answer_at_once)
@click.argument("incident")
@click.argument("option")
@click.option("--file", "path", metavar="FILE", help="A file's content as the value.")
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME=VALUE",
    help="One field of an answer that is an object; may be repeated. Other fields get their defaults.",
)
@click.option(
    "--reach",
    type=click.Choice(["attempt", "agent", "run"]),
    help="What the answer applies to: this attempt, the agent, or the run.",
)
@click.option("--reason", default="", help="Why; kept with the answer.")
@click.option("--revision", type=int, help="Refuse the answer if the incident has changed since this revision.")
@click.option(
    "--like-this",
    is_flag=True,
    help="Then give the same answer to all equal open incidents, once this one's step has continued.",
)
@click.option(
    "--looked-at",
    multiple=True,
    metavar="INCIDENT",
    help="With --like-this: an incident whose effect did not happen, as you checked. May be repeated.",
)
@click.option("--proof", default=PROOF_TIMEOUT_S, show_default=True, type=click.FloatRange(0), metavar="SECONDS",
              help="With --like-this: how long to wait until the first step has continued.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only show what a grant would have matched; send no answer.")
async def answer(incident: str, option: str, *, as_json: bool, **flags: Any) -> int:
    """Answer an incident; the first answer counts. The run continues from the failed step.

    The options are listed by: report INCIDENT. For example: answer i-7kq2 edit --arguments '{"path": "a.md"}'
    """
    # What is known of events is loaded here: an answer that the runtime takes needs none of it.
    from console.verbs.decisions.answer_fields import value_of_fields
    from runtime.judgement.recovery.input_validation import secret_warning

    given = _Given.from_flags(flags)
    params = given.params
    values = params.pop("value", ())
    place = workspace()
    if not journal_exists(place.state):
        await find_incident(None, incident)
    async with open_for_writing() as journal:
        _, opened, _ = await find_incident(journal, incident)
        if given.fields and (values or given.path is not None):
            raise BadInput("give --field, --value or --file, not more than one of them")
        value = (
            value_of_fields(opened, option, given.fields)
            if given.fields
            else _value(opened, option, values, given.path)
        )
        if value is not None:
            params["value"] = value
            if not given.fields and _is_secret(opened, option) and (warning := secret_warning(str(value))):
                print_note(f"warning: this secret is {warning}")
        operations = operations_on(journal)
        if effect_of(option) == "grant":
            await _preview(operations, opened, option, given, as_json=as_json)
        elif given.dry_run:
            raise BadInput("--dry-run is for grant: it says what the permission would have matched")
        if given.dry_run:
            return 0
        if given.like_this:
            seen = [(await find_incident(journal, each))[1].incident_id for each in given.looked_at]
            equal = AnswerEqual(
                incident_id=opened.incident_id,
                option=option,
                params=params,
                looked_at=tuple(seen),
                reason=given.reason,
                proof_s=given.proof,
            )
            return await _answer_equal(operations, equal, as_json=as_json)
        try:
            taken = await operations.run(given.request(opened.incident_id, option), cli_origin())
        except OperationError as exc:
            raise BadInput(f"the answer was not taken: {exc}") from exc
    _print_taken(taken, as_json=as_json)
    if not await is_driven():
        print_undriven()
    return 0


async def _preview(
    operations: Operations, opened: IncidentOpened, option: str, given: _Given, *, as_json: bool
) -> None:
    """Say what a grant that lasts would have covered."""
    params, dry_run = given.params, given.dry_run
    if params.get("for") in STANDING_LIFETIMES:
        preview = await operations.run(PreviewGrant(incident_id=opened.incident_id, params=params), cli_origin())
        if dry_run and as_json:
            print_json(preview)
        for line in grant_preview_lines(preview, ascii_only=not supports_unicode()):
            print_note(line)
    elif dry_run:
        from runtime.judgement.recovery.answer_wording import wording_of
        from runtime.operations.answer_params import checked_params

        checked_params(opened, option, params)
        print_note(f"once: this very call and no other, {wording_of(opened, option)}")


def _value(opened: IncidentOpened, option: str, values: tuple[str, ...], path: str | None) -> Any:
    """The value as it was given: text, several texts, a file's content, or what is typed without being shown.

    Raises:
        BadInput: it was given in two ways, or the file cannot be read.
    """
    if path is not None:
        if values:
            raise BadInput("give --value or --file, not both")
        return _content(opened, path)
    if not values:
        asks = _is_secret(opened, option) and sys.stdin.isatty()
        return click.prompt(opened.question, hide_input=True, err=True) if asks else None
    read = [text_of_stdin().removesuffix("\n") if each == "-" else each for each in values]
    return read[0] if len(read) == 1 else read


def _is_secret(opened: IncidentOpened, option: str) -> bool:
    return effect_of(option) == "input" and is_secret(opened.answer_schema)


def _content(opened: IncidentOpened, path: str) -> str:
    binary = (opened.answer_schema or {}).get("contentEncoding") == "base64"
    try:
        return file_input.read_file_input(path, binary=binary, pipe=True)
    except ValueError as exc:
        raise BadInput(f"--file {exc}") from exc


async def _answer_equal(operations: Operations, request: AnswerEqual, *, as_json: bool) -> int:
    items = await operations.run(request, cli_origin())
    if as_json:
        for item in items:
            print_json(item)
    else:
        rows = [(item.id, item.run_id, item.state, item.detail) for item in items]
        print_table(("incident", "run", "came to", "detail"), rows)
    went = sum(item.state == "went on" for item in items)
    print_note(f"{went} of {len(items)} went on")
    return 0 if went == len(items) else FAILED
