"""Decisions of operators (answers, grants, runs) as events, without a run's lease.

It validates first, says exactly what is wrong and what would be right, and appends only its own kinds of event. An
answer is compare-and-set on its incident: the first one wins, a late one is told who was first.
Settings, grants and what makes a run are imported where they are needed: a verb is a process of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.execution.view_redaction import ViewRedactor, has_mark
from runtime.judgement.recovery.input_validation import InvalidInput
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.secret_box import is_sealed
from runtime.operations.answer_params import InvalidCommand, checked_params, restored_params
from runtime.operations.lookup import answered_by, find_events, find_incident, find_run
from runtime.record.journal import AnswerAccepted, AnswerRefused, Journal, StaleSequence
from runtime.record.state import events as ev
from runtime.record.state.durable_run import RUN_TERMINAL, DurableRun, fold_events
from runtime.record.state.operator_terms import Reach

if TYPE_CHECKING:
    from runtime.config.configuration import Configuration
    from runtime.judgement.permissions.patterns import Verbs

__all__ = ["Decisions", "InvalidCommand"]


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
        queues: Mapping[str, str] | None = None,
    ) -> None:
        """`verbs`: the classes of verbs that the drives go by; `views`: what viewers are shown; `queues`: those of
        swarms, by their references or the ends of them. None: as the workspace's files say.
        """
        self._queues = queues
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
            self._verbs = self._configuration().permissions.verbs
        return self._verbs

    def _configuration(self) -> Configuration:
        from runtime.config.loader import load_configuration

        return load_configuration(self._workspace)

    async def start(
        self,
        ref: str,
        input: str,
        *,
        title: str = "",
        options: dict[str, Any] | None = None,
        queue: str = "",
        reason: str = "",
        by: ev.Actor,
        run_id: str = "",
    ) -> str:
        """Ask for a run; returns its id. The reference is made absolute, and loaded by the process that drives the run.

        Args:
            ref: The swarm.
            input: Its task.
            title: What the run is called; else the first line of its input.
            options: Its own settings.
            queue: Which workers drive it; empty: as the swarm's setting says.
            reason: Why it is begun.
            by: Who asks.
            run_id: Its id; else a new one.

        Raises:
            SwarmLoadError: the reference has no such form or names no file.
            InvalidCommand: the run's own `budget` or `errors`, among its options, or its queue's name is not valid.
            InvalidConfiguration: the workspace's files cannot be read.
        """
        from runtime.operations.run_creation import checked_options, checked_queue, create_run, one_line_title, queue_of
        from runtime.swarms import loader

        ref = loader.absolute_ref(ref, self._workspace)
        patterns = self._views.patterns if self._views is not None else ()
        asked = ev.RunCreated(
            run_id=run_id,
            ref=ref,
            title=one_line_title(title, ref, input, patterns),
            input=input,
            options=checked_options(options or {}),
            program=self._program,
            queue=checked_queue(queue) if queue else queue_of(ref, self._queues_of_swarms()),
            reason=reason,
            by=by,
        )
        return await create_run(self._journal, asked)

    def _queues_of_swarms(self) -> Mapping[str, str]:
        if self._queues is None:
            self._queues = self._configuration().swarm_queues
        return self._queues

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
        run_id, opened, first = await find_incident(self._journal, incident_id)
        if first is not None:
            return AnswerRefused("answered", answered_by(first), first)
        given = await self._validated_params(run_id, opened, option, params or {})
        spec = OPTIONS[option]
        if spec.effect == "abort":
            reason = reason or str(given.pop("value", ""))
        if reach is not None and reach not in spec.reaches:
            able = " or ".join(spec.reaches)
            raise InvalidCommand(f"{option!r} does not apply to the {reach}: leave it out, or say {able}")
        grant = await self._granted(run_id, opened, given, by) if spec.effect == "grant" else None
        answer = ev.IncidentAnswered.of(
            opened,
            run_id,
            option,
            revision=revision,
            params=given,
            reach=reach or spec.reach,
            reason=reason,
            by=by,
        )
        outcome = await self._journal.answer(answer, grant)
        if spec.effect == "grant" and isinstance(outcome, AnswerAccepted):
            await self._answer_others(opened, given, grant, by)
        return outcome

    async def propose(
        self,
        incident_id: str,
        option: str,
        params: Mapping[str, Any],
        *,
        revision: int | None = None,
        reason: str = "",
        by: ev.Actor,
    ) -> ev.AnswerProposed:
        """Record what an agent proposes as the answer to an open incident; it is checked as the answer would be.

        Raises:
            InvalidCommand: no such open incident or option, an old revision, a parameter that is missing or wrong, or a
                secret.
        """
        run_id, opened, first = await find_incident(self._journal, incident_id)
        if first is not None:
            raise InvalidCommand(f"incident {opened.incident_id} is answered: {answered_by(first)}")
        if revision is not None and revision != opened.revision:
            raise InvalidCommand(f"incident {opened.incident_id} has changed: read it again, then propose")
        given = await self._validated_params(run_id, opened, option, params)
        if any(is_sealed(each) for each in given.values()):
            raise InvalidCommand("a secret is typed by a person, and not proposed")
        proposed = ev.AnswerProposed(
            node_id=opened.node_id,
            parent_id=opened.parent_id,
            incident_id=opened.incident_id,
            revision=opened.revision,
            option=option,
            params=given,
            reason=reason,
            by=by,
        )
        try:
            posted = await self._journal.post(run_id, proposed, effective=True)
        except StaleSequence as exc:  # a person was faster
            _, _, first = await find_incident(self._journal, opened.incident_id)
            why = f"is answered: {answered_by(first)}" if first is not None else "has changed: read it again"
            raise InvalidCommand(f"incident {opened.incident_id} {why}") from exc
        assert isinstance(posted, ev.AnswerProposed)
        return posted

    async def abort(self, run_id: str, *, reason: str = "", by: ev.Actor) -> None:
        """End a run now.

        Raises:
            InvalidCommand: no such run, or it has ended.
        """
        summary = await find_run(self._journal, run_id)
        if summary.state in RUN_TERMINAL:
            raise InvalidCommand(f"run {run_id} has ended already: it is {summary.state}")
        await self._journal.post(run_id, ev.AbortRequested(reason=reason, by=by))

    async def revoke(self, grant_id: str, *, by: ev.Actor) -> None:
        """Take a grant back: the very next attempt that needs it is asked about again.

        Raises:
            InvalidCommand: no such grant.
        """
        if all(grant.grant_id != grant_id for grant in await self._journal.grants()):
            raise InvalidCommand(f"grant {grant_id!r} is not in force: 'orbiter-console grants' lists them")
        await self._journal.post(ev.WORKSPACE_RUN_ID, ev.GrantRevoked(grant_id=grant_id, by=by))

    async def state(self, run_id: str) -> DurableRun:
        """A run as far as it is written.

        Raises:
            InvalidCommand: no such run.
        """
        return fold_events(await find_events(self._journal, run_id))

    async def _validated_params(
        self, run_id: str, opened: ev.IncidentOpened, option: str, params: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The parameters as they are recorded: complete, of the right type, and sealed where they are secret."""
        given = checked_params(opened, option, self._restore_params(opened, params))
        for param in OPTIONS[option].params:
            if param.kind == "model" and param.name in given:
                from runtime.judgement.recovery.model_name import check_model_name

                try:
                    check_model_name(str(given[param.name]), await self.state(run_id))
                except InvalidInput as exc:
                    raise InvalidCommand(f"{option!r}: {exc}") from exc
        return given

    def _restore_params(self, opened: ev.IncidentOpened, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters, with what stood behind masks where an operator left those as they were shown."""
        if not has_mark(params):
            return dict(params)
        return restored_params(self._views or self._configuration().views, params, opened.action.get("arguments"))

    async def _granted(
        self, run_id: str, opened: ev.IncidentOpened, params: dict[str, Any], by: ev.Actor
    ) -> ev.GrantAdded | None:
        """The standing grant that an answer makes; none is made for `once`, and for a server, which is approved."""
        from runtime.operations.server_approval import approve_server, asks_for_server

        if asks_for_server(opened):
            await approve_server(self._configuration().mcp_servers, opened, params, run_id)
        elif params["for"] != "once":  # which the answer itself allows
            grant = await self.proposed_grant(run_id, opened, params, by=by)
            params["grant_id"] = grant.grant_id
            return grant
        return None

    async def _answer_others(
        self, opened: ev.IncidentOpened, params: Mapping[str, Any], grant: ev.GrantAdded | None, by: ev.Actor
    ) -> None:
        """Answer the other incidents that ask for what was granted with this answer."""
        from runtime.operations.grants import answer_covered
        from runtime.operations.server_approval import answer_waiting_for, asks_for_server

        if grant is not None:
            await answer_covered(self._journal, grant, opened, verbs=self.verbs, by=by)
        elif asks_for_server(opened) and params.get("for") == "always":
            await answer_waiting_for(self._journal, opened, by)

    async def proposed_grant(
        self, run_id: str, opened: ev.IncidentOpened, params: Mapping[str, Any], *, by: ev.Actor
    ) -> ev.GrantAdded:
        """The grant that answering an incident with these parameters would make. Writes nothing.

        Raises:
            InvalidCommand: the pattern does not cover what is asked for, or the date is not valid or past.
        """
        from runtime.operations.grants import make_grant

        summary = await self._journal.summary(run_id)
        ref = summary.ref if summary is not None else ""
        return make_grant(opened, params, run_id=run_id, ref=ref, root=self._workspace, verbs=self.verbs, by=by)
