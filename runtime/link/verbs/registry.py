"""The registry of link verbs: their arguments, and which role may call them.

A verb either looks or acts. Looking changes nothing, so its reply is not kept and a viewer may do it. Acting is done
once for each command id: its reply is stored in the journal, and a command that comes again, even to a runtime that
was restarted in between, gets the stored reply.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from runtime.operations.decisions import Decisions
from runtime.record.journal import AnswerRefused, Journal
from runtime.record.state import events as ev


class CommandError(Exception):
    """A command that cannot be carried out. `error` is a word for programs, the message one for people."""

    def __init__(self, error: str, message: str, **detail: Any) -> None:
        super().__init__(message)
        self.error = error
        self.detail = detail


class VerbArgs(BaseModel):
    """Arguments of a verb. Unlike messages, which must let newer programs talk to older ones, an argument that is
    not known is refused: what the operator meant by it would not happen.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")


class NoArgs(VerbArgs):
    pass


class StartArgs(VerbArgs):
    ref: str = Field(min_length=1)
    input: str = ""
    title: str = ""
    options: dict[str, Any] = Field(default_factory=dict)


class AnswerArgs(VerbArgs):
    incident_id: str = Field(min_length=1)
    option: str = Field(min_length=1)
    params: dict[str, Any] = Field(default_factory=dict)
    reach: Literal["attempt", "agent", "run"] | None = None
    revision: int | None = None
    """Of the incident as the operator saw it; an answer to an older one is refused."""
    reason: str = ""


class AbortArgs(VerbArgs):
    run_id: str = Field(min_length=1)
    reason: str = ""


class RevokeArgs(VerbArgs):
    grant_id: str = Field(min_length=1)


class EventsArgs(VerbArgs):
    run_id: str = Field(min_length=1)
    after: int = Field(default=0, ge=0)
    limit: int = Field(default=500, ge=1, le=5000)


class RunsArgs(VerbArgs):
    limit: int = Field(default=200, ge=1, le=5000)
    states: tuple[str, ...] = ()


class IncidentArgs(VerbArgs):
    incident_id: str = Field(min_length=1)


@dataclass(slots=True, frozen=True)
class CommandOrigin:
    """Who asks, and the id of the command."""

    by: ev.Actor
    command_id: str


@dataclass(slots=True, frozen=True)
class Verb:
    """One verb. `run` takes the checked arguments, gives JSON, and raises `CommandError` or an `OrbiterError`."""

    args: type[VerbArgs]
    run: Callable[[Any, CommandOrigin], Awaitable[Any]]
    acts: bool = False


def decision_verbs(desk: Decisions, hint: Callable[[], None]) -> dict[str, Verb]:
    """The verbs that act. `hint` wakes whoever drives runs; it would find out by itself a little later."""

    async def start(args: StartArgs, asked: CommandOrigin) -> dict[str, Any]:
        run_id = run_id_of(asked.command_id)
        options = dict(args.options)
        await desk.start(args.ref, args.input, title=args.title, options=options, by=asked.by, run_id=run_id)
        hint()
        return {"run_id": run_id}

    async def answer(args: AnswerArgs, asked: CommandOrigin) -> dict[str, Any]:
        outcome = await desk.answer(
            args.incident_id,
            args.option,
            args.params,
            reach=args.reach,
            revision=args.revision,
            reason=args.reason,
            by=asked.by,
        )
        if isinstance(outcome, AnswerRefused):
            raise refused_answer(args.incident_id, outcome)
        hint()
        return {"incident_id": args.incident_id, "option": outcome.answer.option, "seq": outcome.answer.seq}

    async def abort(args: AbortArgs, asked: CommandOrigin) -> dict[str, Any]:
        await desk.abort(args.run_id, reason=args.reason, by=asked.by)
        hint()
        return {"run_id": args.run_id}

    async def revoke(args: RevokeArgs, asked: CommandOrigin) -> dict[str, Any]:
        await desk.revoke(args.grant_id, by=asked.by)
        return {"grant_id": args.grant_id}

    return {
        "start": Verb(StartArgs, start, acts=True),
        "answer": Verb(AnswerArgs, answer, acts=True),
        "abort": Verb(AbortArgs, abort, acts=True),
        "revoke": Verb(RevokeArgs, revoke, acts=True),
    }


def run_id_of(command_id: str) -> str:
    """The id of the run that a command starts: always the same, so that even a runtime that died between creating the
    run and storing its reply starts it once (`Journal.create` is idempotent).
    """
    digest = hashlib.sha256(command_id.encode()).hexdigest()[:8]
    stamp = re.match(r"\d{6}-\d{6}(?=-)", command_id)
    return f"{stamp.group()}-{digest}" if stamp else digest


def refused_answer(incident_id: str, outcome: AnswerRefused) -> CommandError:
    """An answer that was not taken, as an error that says who was first."""
    first = outcome.first
    detail: dict[str, Any] = {"incident_id": incident_id, "reason": outcome.reason}
    message = outcome.detail or f"incident {incident_id} was not answered: {outcome.reason}"
    if first is not None:
        who = first.by.name or first.by.channel
        detail["first"] = {"by": who, "channel": first.by.channel, "option": first.option, "ts": first.ts.isoformat()}
        message = f"{who} was first and answered {first.option} at {first.ts:%H:%M:%S} UTC"
    return CommandError("refused", message, **detail)


def read_verbs(journal: Journal) -> dict[str, Verb]:
    """The verbs that look into the journal."""

    async def events(args: EventsArgs, _asked: CommandOrigin) -> list[Any]:
        found = await journal.read(args.run_id, after=args.after, limit=args.limit)
        return [_to_json(event) for event in found]

    async def runs(args: RunsArgs, _asked: CommandOrigin) -> list[Any]:
        return [found.to_dict(brief=True) for found in await journal.runs(args.limit, states=args.states)]

    async def incident(args: IncidentArgs, _asked: CommandOrigin) -> dict[str, Any]:
        found = await journal.incident(args.incident_id)
        if found is None:
            raise CommandError("unknown_incident", f"no incident is called {args.incident_id}, nor only one begins so")
        run_id, opened, answer = found
        return {"run_id": run_id, "opened": _to_json(opened), "answer": None if answer is None else _to_json(answer)}

    async def grants(_args: NoArgs, _asked: CommandOrigin) -> list[Any]:
        return [_to_json(found) for found in await journal.grants()]

    return {
        "events": Verb(EventsArgs, events),
        "runs": Verb(RunsArgs, runs),
        "incident": Verb(IncidentArgs, incident),
        "grants": Verb(NoArgs, grants),
    }


def runtime_verbs(status: Callable[[], Mapping[str, Any]], stop: Callable[[], None]) -> dict[str, Verb]:
    """`status` and `stop`: the two that every later version must go on to understand."""

    async def tell(_args: NoArgs, _asked: CommandOrigin) -> dict[str, Any]:
        return dict(status())

    async def end(_args: NoArgs, _asked: CommandOrigin) -> dict[str, Any]:
        stop()
        return {"stopping": True}

    return {"status": Verb(NoArgs, tell), "stop": Verb(NoArgs, end, acts=True)}


def _to_json(model: BaseModel) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_defaults=True) | (
        {"type": model.type} if isinstance(model, ev.JournalEvent) else {}  # type: ignore[attr-defined]
    )
