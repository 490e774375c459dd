"""The durable scope: the seam of `orbiter.steps`, carried out with a record of everything.

A scope's path is its identity over all lives of a run. Nodes and steps that are recorded are recalled: they fire no
hooks and count nothing. What is left of a failure waits here for a person; nothing is raised at user code but what an
operator decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import msgspec

from orbiter import steps
from orbiter._internal.user_code import UserCodeError, make_text_safe
from orbiter.mcp.table import ServerTable
from orbiter.steps import Answer, Place, ScopeKind, Skipped, Step, segment
from orbiter.types import Message
from runtime.execution import incidents
from runtime.execution.failures import quarantine
from runtime.execution.failures.errors_in_force import check_declared
from runtime.execution.failures.fault_policy import log_unresolved
from runtime.execution.failures.kept_text import kept_error, kept_text
from runtime.execution.failures.raised_permission import ask_for_grant
from runtime.execution.failures.reroute import fails_at_once
from runtime.execution.failures.stall_detector import check_handoff_circle
from runtime.execution.gates.breakpoint import breakpoint_fault
from runtime.execution.gates.budget import is_out_of_time
from runtime.execution.gates.invocation import permit_invocation
from runtime.execution.gates.permission import is_granted
from runtime.execution.incidents import IncidentDraft
from runtime.execution.late_results import note_late_result
from runtime.execution.message_delivery import deliver_messages
from runtime.execution.node_faults import (
    answer_for_body,
    answered_before,
    classify_node_error,
    comes_of_abort,
    draft_node_fault,
    last_correction,
    pass_failed_agent,
    wait_before_retry,
)
from runtime.execution.replay import RunChanged, displaced_sibling
from runtime.execution.run_session import RunSession
from runtime.execution.secret_vault import VAULT, recorded_arguments
from runtime.execution.step_execution import StepExecution
from runtime.execution.step_runner import run_step
from runtime.execution.wait_tracker import Activity
from runtime.judgement.faults.fault_words import shortened
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import (
    Classification,
)

A = TypeVar("A")
R = TypeVar("R")

_NO_ANSWERS: frozenset[str] = frozenset()
"""Shared: an empty set of its own takes more memory than the rest of a scope."""
_OUTPUT_CHARS = 20_000
"""Of a node's output, kept for the eyes; the whole is in the steps."""


class DurableScope(steps.Scope):
    """An open node of a run that is conducted. The root has the empty path and is not a node itself."""

    __slots__ = (
        "_activity",
        "_info",
        "_kept",
        "_kind",
        "_name",
        "_outcome",
        "_parent",
        "_session",
        "_skipped",
        "_used_answers",
        "_visits",
        "path",
    )

    def __init__(  # noqa: PLR0917 - called at two places of this module
        self,
        session: RunSession,
        path: str,
        kind: ScopeKind | Literal["root"],
        name: str,
        parent: DurableScope | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = path
        self._session = session
        self._kind = kind
        self._name = name
        self._parent = parent
        self._info = info
        self._visits: dict[str, int] = {}
        self._used_answers = _NO_ANSWERS
        self._outcome: ev.NodeClosed | None = None
        self._activity: Activity | None = None
        self._skipped = False
        self._kept = False

    # -- scope ---------------------------------------------------------------------------------------------------

    def scope(
        self, kind: ScopeKind, name: str, place: Place | None = None, info: Mapping[str, Any] | None = None
    ) -> DurableScope:
        # Visits are counted by name, so two names may share a place; a place that was declared has one occupant.
        # So has the root: the swarm itself.
        kept = place is not None or self._kind == "root"
        if place is None:
            place = Place(self._visits.get(name, 0))
            self._visits[name] = place.seq + 1
        child = DurableScope(self._session, self._join(segment(name, place)), kind, name, self, info)
        child._kept = kept
        return child

    @property
    def run_id(self) -> str:
        return self._session.lease.run_id

    @property
    def node_id(self) -> str:
        return self.path

    def _join(self, last: str) -> str:
        return f"{self.path}/{last}" if self.path else last

    def _check_place(self) -> None:
        parent_id = self._parent.path if self._parent is not None else ""
        if self._kept and (other := displaced_sibling(self._session.state, parent_id, self.path)):
            raise RunChanged(f"{other!r} is recorded where {self.path!r} wants to run now: the swarm has been changed")

    async def __aenter__(self) -> Self:
        if self._kind != "root" and self.path not in self._session.state.nodes:
            self._check_place()
            check_declared(self._info)
        self._activity = self._session.tracker.open_activity(
            self._parent._activity if self._parent is not None else None
        )
        if self._kind != "root" and self.path not in self._session.state.nodes:
            self._session.record_soon(
                ev.NodeOpened(
                    node_id=self.path,
                    parent_id=self._parent.path if self._parent is not None else "",
                    kind=self._kind,
                    name=self._name,
                    info=dict(self._info or {}),
                )
            )
        if self._kind == "agent" and not self._session.state.nodes[self.path].terminal:
            try:
                await permit_invocation(self._session, self._activity, self.path)
                await check_handoff_circle(self._session, self._activity, self.path)
            except BaseException as exc:
                await self.__aexit__(type(exc), exc, exc.__traceback__)
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._activity is not None:
            self._session.tracker.close_activity(self._activity)
        if self._kind == "root" or isinstance(exc, asyncio.CancelledError | GeneratorExit):
            # What cancelled closes it: an ancestor when it ends; while the run is only parked it stays open.
            return
        if exc is not None and not isinstance(exc, Exception | Skipped):
            # User code, outside a step. Its task must not end with this: it would stop the loop, and every run on it.
            raise UserCodeError(f"{self._kind} {self._name!r}", exc) from exc
        node = self._session.state.nodes[self.path]
        if node.terminal:
            return
        below = f"{self.path}/"
        for incident in self._session.state.open_incidents:
            # Left open by a branch that lost, in a life that died before it could withdraw.
            if incident.opened.node_id.startswith(below):
                opened, reason = incident.opened, "withdrawn: its branch has ended"
                closed = ev.IncidentClosed(node_id=opened.node_id, incident_id=opened.incident_id, reason=reason)
                self._session.record_soon(closed)
        self._session.record_soon(self._closing_event(exc))

    def _closing_event(self, exc: BaseException | None) -> ev.NodeClosed:
        parent = self._parent.path if self._parent is not None else ""
        if isinstance(exc, Skipped):
            return ev.NodeClosed(node_id=self.path, parent_id=parent, state="skipped", output=str(exc.value))
        if exc is not None:
            over = is_out_of_time(self._session, self._session.state.nodes[self.path])
            state: Literal["timed_out", "failed"] = "timed_out" if over else "failed"
            return ev.NodeClosed(node_id=self.path, parent_id=parent, state=state, error=kept_error(exc))
        closed = self._outcome or ev.NodeClosed(node_id=self.path, parent_id=parent, state="succeeded")
        return msgspec.structs.replace(closed, state="skipped") if self._skipped else closed

    def outcome(
        self, output: str = "", *, state: Literal["succeeded", "degraded", "failed"] = "succeeded", note: str = ""
    ) -> None:
        # The event is masked as a whole; before a cut, since half a secret would not be found then.
        kept = output if len(output) <= _OUTPUT_CHARS else VAULT.mask(output)[:_OUTPUT_CHARS]
        self._outcome = ev.NodeClosed(
            node_id=self.path,
            parent_id=self._parent.path if self._parent is not None else "",
            state=state,
            output="" if state == "failed" else kept,
            error=kept if state == "failed" else kept_text(note),
        )

    def warn(self, text: str) -> None:
        node, whole = self._session.state.nodes.get(self.path), VAULT.mask(text)
        kept = shortened(whole)
        # Earlier versions journaled the whole text: a run that they began has it so.
        if node is None or not {kept, whole}.intersection(node.warnings):
            self._session.record_soon(ev.Warned(node_id=self.path, text=kept))

    def recorded(self, name: str, place: Place) -> Any:
        node = self._session.state.nodes.get(self._join(segment(name, place)))
        return node.result if node is not None and node.recorded else None

    def corrected_input(self) -> Any:
        answer = last_correction(self._session.state, self.path)
        if answer is None:
            return None
        self._used_answers |= {answer.incident_id}
        return answer.params.get("value")

    async def granted(self, permission: str) -> bool:
        agents = [node.name for node in self._session.state.lineage(self.path) if node.kind == "agent"]
        return await is_granted(self._session, self.path, agents[-1] if agents else "", permission)

    def tool_settings(self, name: str) -> Mapping[str, Any]:
        return self._session.config.guest_tools.get(name, {})

    def mcp_servers(self) -> ServerTable | None:
        return self._session.config.mcp

    def late(self, result: Any, error: BaseException | None) -> None:
        note_late_result(self._session, self.path, result, error)

    # -- step ----------------------------------------------------------------------------------------------------

    async def step(self, step: Step[A, R]) -> R:
        if self._session.ending:
            raise asyncio.CancelledError  # user code caught the first one: no step begins any more
        # The path of a model's call does not name the model: another model is a difference to be seen, not another
        # step.
        path = self._join(segment("llm" if step.kind == "llm" else step.name, step.place))
        activity = self._session.tracker.open_activity(self._activity)
        inner = DurableScope(self._session, path, "tool", step.name, self)
        inner._activity = activity
        try:
            result: R = await run_step(
                StepExecution(
                    session=self._session,
                    step=step,
                    node_id=path,
                    parent_id=self.path,
                    activity=activity,
                    scope=inner,
                    requested=recorded_arguments(step),
                )
            )
            return result
        except Skipped:
            self._skipped = True
            raise
        finally:
            self._session.tracker.close_activity(activity)

    async def wait_until_released(self) -> None:
        """Wait while the run is stranded (`runtime.execution.failures.quarantine`)."""
        if self._activity is not None:
            await quarantine.wait_until_released(self._session, self._activity)

    # -- turn ----------------------------------------------------------------------------------------------------

    async def turn(self, number: int, messages: list[Message]) -> None:
        node = self._session.state.nodes.get(self.path)
        if node is None or self._activity is None:
            return
        if not number and (stop := breakpoint_fault(self._session, self.path, "agent", self._name)) is not None:
            await self._wait_at_breakpoint(stop, self._activity)
        if node.delivered or self._session.state.injected:
            await deliver_messages(self._session, node, number, messages)

    async def _wait_at_breakpoint(self, fault: Classification, activity: Activity) -> None:
        answer = await incidents.await_answer(
            self._session, activity, self.path, IncidentDraft(fault=fault, where="agent", message=fault.user_message)
        )
        self._apply_answer(answer, RuntimeError(fault.user_message))

    # -- fault ---------------------------------------------------------------------------------------------------

    async def fault(self, exc: Exception, *, at: int | None = None) -> Answer:
        if comes_of_abort(exc):
            raise exc
        if self._activity is None:
            raise RuntimeError(f"the scope {self.path!r} is not open") from exc
        await make_text_safe(exc)
        session = self._session
        fault = classify_node_error(session, self.path, self._kind, exc)
        await pass_failed_agent(session, self.path, fault)
        answer = answered_before(session.state, self.path, fault, exc, turn=at, used=self._used_answers)
        if answer is None:
            draft = draft_node_fault(fault, exc, self._kind, self._name, at)
            draft = await ask_for_grant(session, self.path, exc, draft)
            if not draft.need and fails_at_once(session.state, self.path):
                draft = replace(draft, policy="fail")
            log_unresolved(draft.fault)
            answer = await incidents.await_answer(session, self._activity, self.path, draft)
        self._used_answers |= {answer.incident_id}
        await wait_before_retry(session, self._activity, answer)
        return self._apply_answer(answer, exc)

    def _apply_answer(self, answer: ev.IncidentAnswered, exc: Exception) -> Answer:
        try:
            found = answer_for_body(self._session, answer, exc)
        except Skipped:
            self._skipped = True
            raise
        # The body is done again from the start: its visits count from the start, too.
        self._visits.clear()
        return found
