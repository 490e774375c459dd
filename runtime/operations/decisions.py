"""Decisions of operators (answers, grants, runs) as events, without a run's lease.

It validates first, says exactly what is wrong and what would be right, and appends only its own kinds of event. An
answer is compare-and-set on its incident: the first one wins, a late one is told who was first.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from orbiter.config import parse_model_string
from orbiter.models.provider import model_registry
from runtime.config.loader import load_configuration
from runtime.execution.gates.budget import parse_run_budget
from runtime.execution.view_redaction import MaskNotReplaced, ViewRedactor, has_mark
from runtime.judgement.permissions import command_matching
from runtime.judgement.permissions.canonical import PermissionSyntaxError, canonical_pattern
from runtime.judgement.permissions.changed_patterns import READING_VERSION
from runtime.judgement.permissions.patterns import Kind, Verbs
from runtime.judgement.permissions.permission import Need, covers, grant_matches
from runtime.operations.answer_params import InvalidCommand, checked_params, parse_expiry
from runtime.operations.run_creation import create_run
from runtime.record.ids import new_id
from runtime.record.journal import AnswerAccepted, AnswerRefused, Journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from runtime.swarms import loader

__all__ = ["Decisions", "InvalidCommand", "Reach", "asking_agent"]

Reach = Literal["attempt", "agent", "run"]
_DEFAULT_REACHES: tuple[Reach, ...] = ("attempt",)
_REACHES_BY_OPTION: dict[str, tuple[Reach, ...]] = {
    "abort": ("attempt", "agent", "run"),
    "skip": ("attempt", "agent"),
    "acknowledge": ("attempt", "agent"),
    "switch_model": ("attempt", "agent", "run"),
}
"""How far an answer can reach, where that is further than its step."""
Lifetime = Literal["run", "swarm", "always"]


class Decisions:
    """Commands of operators on one workspace."""

    def __init__(
        self,
        journal: Journal,
        workspace: Path,
        *,
        program: str = "",
        verbs: Verbs | None = None,
        views: ViewRedactor | None = None,
    ) -> None:
        """`verbs`: the classes of verbs that the drives go by; `views`: what viewers are shown. None: as the
        workspace's files say.
        """
        self._journal = journal
        self._workspace = workspace
        self._program = program
        self._verbs = verbs
        self._views = views

    @property
    def workspace(self) -> Path:
        """Where relative paths begin."""
        return self._workspace

    @property
    def verbs(self) -> Verbs:
        """The class of each permission's verb.

        Raises:
            InvalidConfiguration: the workspace's files cannot be read.
        """
        if self._verbs is None:
            self._verbs = load_configuration(self._workspace).permissions.verbs
        return self._verbs

    async def start(
        self,
        ref: str,
        input: str,
        *,
        title: str = "",
        options: dict[str, Any] | None = None,
        by: ev.Actor,
        run_id: str = "",
    ) -> str:
        """Ask for a run; returns its id. The reference is made absolute and loaded by whoever drives the run.

        Raises:
            SwarmLoadError: the reference has no such form or names no file.
            InvalidCommand: the run's own `budget`, among its options, is none.
        """
        ref = loader.absolute_ref(ref, self._workspace)
        if options and "budget" in options:
            try:
                options = {**options, "budget": parse_run_budget(options["budget"])}
            except ValueError as exc:
                raise InvalidCommand(str(exc)) from exc
        return await create_run(
            self._journal,
            ref,
            input,
            title=title or _title(ref),
            options=options or {},
            program=self._program,
            run_id=run_id,
            by=by,
        )

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
    ) -> AnswerAccepted | AnswerRefused:
        """Answer an incident. `params`: see `runtime.operations.answer_params`.

        Raises:
            InvalidCommand: no such incident or option, or a parameter that the option needs is missing or wrong.
        """
        found = await self._journal.incident(incident_id)
        if found is None:
            raise InvalidCommand(
                f"there is no incident {incident_id!r}: 'orbiter-console incidents' lists the open ones"
            )
        run_id, opened, first = found
        if first is not None:
            return AnswerRefused("answered", _id_prefix(first), first)
        given = await self._validated_params(run_id, opened, option, params or {})
        if option == "abort":
            reason = reason or str(given.pop("value", ""))
        if reach is not None and reach not in _REACHES_BY_OPTION.get(option, _DEFAULT_REACHES):
            able = " or ".join(_REACHES_BY_OPTION.get(option, _DEFAULT_REACHES))
            raise InvalidCommand(f"{option!r} cannot reach as far as the {reach}: leave it out, or say {able}")
        grant = await self._standing_grant(run_id, opened, given, by) if option == "grant" else None
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
        outcome = await self._journal.answer(answer, grant)
        if grant is not None and isinstance(outcome, AnswerAccepted):
            await self._record_breakpoint_pass(grant, opened, by)
        return outcome

    async def _record_breakpoint_pass(self, grant: ev.GrantAdded, first: ev.IncidentOpened, by: ev.Actor) -> None:
        """A grant that lasts is given: what else waits for just that goes on, too. Whoever gave it saw how many there
        are. Each is answered by reference to the grant, so that taking it back stops them as it stops the first.
        """
        refs: dict[str, str] = {}
        for found in await self._journal.incidents():
            need, agent = str(found.opened.action.get("permission", "")), asking_agent(found.opened)
            if not need or (grant.lifetime == "run" and found.run_id != grant.scope):
                continue
            if found.run_id not in refs:
                summary = await self._journal.summary(found.run_id)
                refs[found.run_id] = summary.ref if summary is not None else ""
            verb, _, target = need.partition(":")
            need_of = Need(verb, target)
            if not covers(grant, need_of, agent=agent, run_id=found.run_id, ref=refs[found.run_id], verbs=self.verbs):
                continue
            await self._journal.answer(
                ev.IncidentAnswered(
                    run_id=found.run_id,
                    node_id=found.opened.node_id,
                    parent_id=found.opened.parent_id,
                    incident_id=found.opened.incident_id,
                    revision=found.opened.revision,
                    option="grant",
                    params={"for": grant.lifetime, "grant_id": grant.grant_id},
                    reason=f"covered by the grant that was given at {first.incident_id}",
                    by=by,
                )
            )

    async def abort(self, run_id: str, *, reason: str = "", by: ev.Actor) -> None:
        """End a run now.

        Raises:
            InvalidCommand: no such run, or it has ended.
        """
        summary = await self._journal.summary(run_id)
        if summary is None:
            raise InvalidCommand(f"there is no run {run_id!r}: 'orbiter-console runs' lists them")
        if summary.state in ("completed", "degraded", "failed", "interrupted", "aborted"):
            raise InvalidCommand(f"run {run_id} has ended already: it is {summary.state}")
        await self._journal.post(run_id, ev.AbortRequested(reason=reason, by=by))

    async def revoke(self, grant_id: str, *, by: ev.Actor) -> None:
        """Take a grant back: the very next attempt that needs it is asked about again.

        Raises:
            InvalidCommand: no such grant.
        """
        if all(grant.grant_id != grant_id for grant in await self._journal.grants()):
            raise InvalidCommand(f"there is no grant {grant_id!r} in force: 'orbiter-console grants' lists them")
        await self._journal.post(ev.WORKSPACE_RUN_ID, ev.GrantRevoked(grant_id=grant_id, by=by))

    async def state(self, run_id: str) -> DurableRun:
        """A run as far as it is written.

        Raises:
            InvalidCommand: no such run.
        """
        recorded = await self._journal.read(run_id)
        if not recorded:
            raise InvalidCommand(f"there is no run {run_id!r}: 'orbiter-console runs' lists them")
        return fold_events(recorded)

    async def _validated_params(
        self, run_id: str, opened: ev.IncidentOpened, option: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The parameters as they are recorded: complete, of the right type, and sealed where they are secret."""
        given = checked_params(opened, option, self._restore_params(opened, params))
        if option == "switch_model":
            await self._check_provider(run_id, str(given["model"]))
        return given

    def _restore_params(self, opened: ev.IncidentOpened, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters with original values where an operator who was shown masks left them as they were.

        Raises:
            InvalidCommand: a mask is left.
        """
        if not has_mark(params):
            return dict(params)
        views = self._views or load_configuration(self._workspace).views
        try:
            shown: dict[str, Any] = views.restore(params, {"arguments": opened.action.get("arguments")})
        except MaskNotReplaced as exc:
            raise InvalidCommand(str(exc)) from exc
        return shown

    async def _check_provider(self, run_id: str, model: str) -> None:
        provider, name = parse_model_string(model)
        if not name or model in model_registry:  # a provider's name alone would be taken for that of a model
            raise InvalidCommand(f"{model!r} names no model: give --model provider:name")
        if provider in model_registry:
            return
        # One that the swarm registers itself is not known here, but its runs have used it.
        state = fold_events(await self._journal.read(run_id))
        used = {str(node.requested.get("model", "")).partition(":")[0] for node in state.nodes.values()}
        if provider not in used:
            known = sorted(model_registry.list_all())
            near = get_close_matches(provider, known, n=1)
            hint = f"did you mean {near[0]}:{name}? " if near else ""
            raise InvalidCommand(f"there is no provider {provider!r}: {hint}There are {', '.join(known)}")

    async def _standing_grant(
        self, run_id: str, opened: ev.IncidentOpened, params: dict[str, Any], by: ev.Actor
    ) -> ev.GrantAdded | None:
        """The standing grant that an answer makes; None for `once`, which allows this one step by the answer itself."""
        if params["for"] == "once":
            return None
        grant = await self.proposed_grant(run_id, opened, params, by=by)
        params["grant_id"] = grant.grant_id
        return grant

    async def proposed_grant(
        self, run_id: str, opened: ev.IncidentOpened, params: Mapping[str, Any], *, by: ev.Actor
    ) -> ev.GrantAdded:
        """The grant that answering an incident with these parameters would make. Writes nothing.

        Raises:
            InvalidCommand: the pattern does not cover what is asked for, or the date is none or past.
        """
        wanted = params.get("for")
        lifetime: Lifetime = wanted if wanted in ("swarm", "always") else "run"
        need = str(opened.action.get("permission", ""))
        verb, _, target = need.partition(":")
        summary = await self._journal.summary(run_id)
        scope = {"swarm": summary.ref if summary is not None else "", "always": "", "run": run_id}[lifetime]
        if "*" in target and not params.get("pattern"):
            raise InvalidCommand(
                f"{target!r} has a star in it, which a pattern takes for anything: say --pattern, or once"
            )
        agent = asking_agent(opened)
        subject = str(params.get("subject") or agent)
        if subject not in ("*", agent):
            raise InvalidCommand(f"a grant for {subject!r} does not cover {agent!r}, who asks: nothing granted")
        try:
            words = str(params.get("pattern") or target)
            pattern = canonical_pattern(verb, words, root=str(self._workspace), verbs=self.verbs)
        except PermissionSyntaxError as exc:
            raise InvalidCommand(str(exc)) from exc
        kind = self.verbs.kind(verb)
        if not grant_matches(pattern, target, kind):
            why = command_matching.why_uncovered(pattern, target) if kind is Kind.COMMAND else ""
            raise InvalidCommand(
                f"the pattern {pattern!r} does not cover {target!r}, which is asked for{why}: nothing granted"
            )
        return ev.GrantAdded(
            grant_id=f"g-{new_id()}",
            subject=subject,
            verb=verb,
            pattern=pattern,
            lifetime=lifetime,
            scope=scope,
            until=parse_expiry(params.get("until")),
            incident_id=opened.incident_id,
            by=by,
            reading=READING_VERSION,
        )


def asking_agent(opened: ev.IncidentOpened) -> str:
    """Who asked for the permission: a grant is for that agent unless somebody says otherwise."""
    if opened.action.get("agent"):
        return str(opened.action["agent"])
    agents = [name for name in opened.lineage if name]
    return agents[-2] if len(agents) > 1 else "*"


def _default_reach(option: str) -> Reach:
    return "run" if option == "abort" else "attempt"


def _title(ref: str) -> str:
    target, _, attribute = ref.rpartition(":")
    return f"{Path(target).name}:{attribute}"


def _id_prefix(first: ev.IncidentAnswered) -> str:
    return f"{first.by.name or 'somebody'} answered {first.option!r} at {first.ts:%H:%M:%S}"
