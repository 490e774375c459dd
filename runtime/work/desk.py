"""The desk: where people's commands become events, without a run's lease.

It validates first, says exactly what is wrong and what would be right, and appends only its own kinds of event. An
answer is compare-and-set on its incident: the first one wins, a late one is told who was first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from orbiter.errors import OrbiterError
from runtime.judgement.options import LABELS
from runtime.record import events as ev
from runtime.record.journal import Accepted, Journal, Refused
from runtime.record.state import RunState, fold
from runtime.work import loader
from runtime.work.life import new_id

Reach = Literal["attempt", "agent", "run"]
LIFETIMES = ("once", "run", "swarm", "always")


class BadCommand(OrbiterError):
    """What was asked for cannot be done as it was said; nothing was written."""


class Desk:
    """Commands of operators on one workspace."""

    def __init__(self, journal: Journal, workspace: Path, *, program: str = "") -> None:
        self._journal = journal
        self._workspace = workspace
        self._program = program

    async def start(
        self,
        ref: str,
        input: str,  # noqa: A002 - the field's name for it
        *,
        title: str = "",
        options: dict[str, Any] | None = None,
        by: ev.Actor,
        run_id: str = "",
    ) -> str:
        """Ask for a run; returns its id. The reference is made absolute and loaded by whoever drives the run.

        Raises:
            LoadError: the reference has no such form or names no file.
        """
        ref = loader.absolute(ref, self._workspace)
        run_id = run_id or f"{ev.utc_now():%y%m%d-%H%M%S}-{new_id(4)}"
        created = ev.RunCreated(
            run_id=run_id,
            ref=ref,
            title=title or _title(ref),
            input=input,
            options=options or {},
            program=self._program,
            by=by,
        )
        state = RunState()
        state.apply(created)
        await self._journal.create(created, state.summary())
        return run_id

    async def answer(
        self,
        incident_id: str,
        option: str,
        params: dict[str, Any] | None = None,
        *,
        reach: Reach | None = None,
        revision: int | None = None,
        reason: str = "",
        by: ev.Actor,
    ) -> Accepted | Refused:
        """Answer an incident. `params`: `value` (input, result, skip), `arguments` (edit), `model` (switch_model),
        `for`, `subject`, `pattern` (grant), `message` (deny).

        Raises:
            BadCommand: no such incident or option, or a parameter that the option needs is missing or wrong.
        """
        found = await self._journal.incident(incident_id)
        if found is None:
            raise BadCommand(f"there is no incident {incident_id!r}: 'orbiter-console incidents' lists the open ones")
        run_id, opened, first = found
        if first is not None:
            return Refused("answered", _who(first), first)
        given = dict(params or {})
        self._check(opened, option, given)
        answer = ev.IncidentAnswered(
            run_id=run_id,
            node_id=opened.node_id,
            parent_id=opened.parent_id,
            incident_id=opened.incident_id,
            revision=opened.revision if revision is None else revision,
            option=option,
            params=given,
            reach=reach or _default_reach(option),
            reason=reason,
            by=by,
        )
        grant = await self._grant(run_id, opened, given, by) if option == "grant" else None
        outcome = await self._journal.answer(answer)
        if grant is not None and isinstance(outcome, Accepted):
            await self._journal.post(ev.WORKSPACE, grant)
        return outcome

    async def abort(self, run_id: str, *, reason: str = "", by: ev.Actor) -> None:
        """End a run now.

        Raises:
            BadCommand: no such run, or it has ended.
        """
        summary = await self._journal.summary(run_id)
        if summary is None:
            raise BadCommand(f"there is no run {run_id!r}: 'orbiter-console runs' lists them")
        if summary.state in ("completed", "degraded", "failed", "interrupted", "aborted"):
            raise BadCommand(f"run {run_id} has ended already: it is {summary.state}")
        await self._journal.post(run_id, ev.AbortRequested(reason=reason, by=by))

    async def revoke(self, grant_id: str, *, by: ev.Actor) -> None:
        """Take a grant back: the very next attempt that needs it is asked about again.

        Raises:
            BadCommand: no such grant.
        """
        if all(grant.grant_id != grant_id for grant in await self._journal.grants()):
            raise BadCommand(f"there is no grant {grant_id!r} in force: 'orbiter-console grants' lists them")
        await self._journal.post(ev.WORKSPACE, ev.GrantRevoked(grant_id=grant_id, by=by))

    async def state(self, run_id: str) -> RunState:
        """A run as far as it is written.

        Raises:
            BadCommand: no such run.
        """
        recorded = await self._journal.read(run_id)
        if not recorded:
            raise BadCommand(f"there is no run {run_id!r}: 'orbiter-console runs' lists them")
        return fold(recorded)

    @staticmethod
    def _check(opened: ev.IncidentOpened, option: str, params: dict[str, Any]) -> None:
        offered = {found.id: found for found in opened.options}
        if option not in offered:
            known = "" if option in LABELS else f" ({option!r} is no option at all)"
            raise BadCommand(f"incident {opened.incident_id} takes {', '.join(offered)}, not {option!r}{known}")
        needs = offered[option].needs
        if needs == "text" and "value" not in params:
            raise BadCommand(f"{option!r} needs a value: give --value TEXT (an empty text is a value, too)")
        if needs == "arguments" and not isinstance(params.get("arguments"), dict):
            raise BadCommand(f"{option!r} needs arguments: give --arguments with a JSON object")
        if needs == "model" and not params.get("model"):
            raise BadCommand(f"{option!r} needs a model: give --model provider:name")
        if option == "grant" and params.setdefault("for", "once") not in LIFETIMES:
            raise BadCommand(f"a grant is for {', '.join(LIFETIMES)}; {params['for']!r} is none of these")

    async def _grant(
        self, run_id: str, opened: ev.IncidentOpened, params: dict[str, Any], by: ev.Actor
    ) -> ev.GrantAdded | None:
        """The standing grant that an answer makes; None for `once`, which allows this one step by the answer itself."""
        lifetime = params["for"]
        if lifetime == "once":
            return None
        verb, _, target = str(opened.action.get("permission", "")).partition(":")
        summary = await self._journal.summary(run_id)
        scope = {"run": run_id, "swarm": summary.ref if summary is not None else "", "always": ""}[lifetime]
        agents = [name for name in opened.lineage if name]
        return ev.GrantAdded(
            grant_id=f"g-{new_id()}",
            subject=str(params.get("subject") or (agents[-2] if len(agents) > 1 else "*")),
            verb=verb,
            pattern=str(params.get("pattern") or target),
            lifetime=lifetime,
            scope=scope,
            incident_id=opened.incident_id,
            by=by,
        )


def _default_reach(option: str) -> Reach:
    return "run" if option == "abort" else "attempt"


def _title(ref: str) -> str:
    target, _, attribute = ref.rpartition(":")
    return f"{Path(target).name}:{attribute}"


def _who(first: ev.IncidentAnswered) -> str:
    return f"{first.by.name or 'somebody'} answered {first.option!r} at {first.ts:%H:%M:%S}"
