"""The durable scope: the seam of `orbiter.steps`, carried out with a record of everything.

A scope's path is its identity over all lives of a run. Nodes and steps that are recorded are recalled: they fire no
hooks and count nothing. What is left of a failure waits here for a person; nothing is raised at user code but what an
operator decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from orbiter import steps
from orbiter._internal.user_code import UserCodeError, make_text_safe
from orbiter.steps import Aborted, Answer, Place, ScopeKind, Skipped, Step, segment
from orbiter.types import Message, UserMessage
from runtime.execution import incidents
from runtime.execution.failures import quarantine
from runtime.execution.failures.fault_policy import log_unresolved
from runtime.execution.failures.incident_drafts import replay_difference_fault
from runtime.execution.failures.reroute import reroute_error, reroute_past_agent
from runtime.execution.failures.stall_detector import check_handoff_circle
from runtime.execution.gates.breakpoint import breakpoint_fault, has_breakpoint, was_released
from runtime.execution.gates.invocation import permit_invocation
from runtime.execution.incidents import IncidentDraft
from runtime.execution.late_results import note_late_result
from runtime.execution.replay import RunChanged, displaced_sibling
from runtime.execution.resolution import ending_reason
from runtime.execution.run_session import Activity, RunSession
from runtime.execution.secret_vault import recorded_arguments
from runtime.execution.step_context import StepContext
from runtime.execution.step_runner import run_step
from runtime.judgement.error_config import ErrorHandlingConfig
from runtime.judgement.faults.classify import classify
from runtime.judgement.faults.fingerprint import message_template
from runtime.judgement.recovery.options import FaultSite
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Incident, Node
from runtime.record.state.fault_taxonomy import (
    Classification,
    Effect,
    Impact,
    Origin,
)
from runtime.record.state.rewind import place_of

A = TypeVar("A")
R = TypeVar("R")

_ORIGINS: dict[str, Origin] = {
    "swarm": Origin.SWARM,
    "group": Origin.SWARM,
    "agent": Origin.AGENT,
    "tool": Origin.TOOL,
}
_OUTPUT_CHARS = 20_000
"""Of a node's output, kept for the eyes; the whole is in the steps."""


class DurableScope(steps.Scope):
    """An open node of a run that is conducted. The root has the empty path and is no node itself."""

    __slots__ = (
        "_consumed",
        "_element",
        "_info",
        "_kept",
        "_kind",
        "_life",
        "_name",
        "_outcome",
        "_parent",
        "_skipped",
        "_visits",
        "path",
    )

    def __init__(  # noqa: PLR0917 - called at two places of this module
        self,
        life: RunSession,
        path: str,
        kind: ScopeKind | Literal["root"],
        name: str,
        parent: DurableScope | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = path
        self._life = life
        self._kind = kind
        self._name = name
        self._parent = parent
        self._info = info
        self._visits: dict[str, int] = {}
        self._consumed: set[str] = set()
        self._outcome: ev.NodeClosed | None = None
        self._element: Activity | None = None
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
        child = DurableScope(self._life, self._join(segment(name, place)), kind, name, self, info)
        child._kept = kept
        return child

    @property
    def run_id(self) -> str:
        return self._life.lease.run_id

    @property
    def node_id(self) -> str:
        return self.path

    def _join(self, last: str) -> str:
        return f"{self.path}/{last}" if self.path else last

    def _check_place(self) -> None:
        parent_id = self._parent.path if self._parent is not None else ""
        if self._kept and (other := displaced_sibling(self._life.state, parent_id, self.path)):
            raise RunChanged(f"{other!r} is recorded where {self.path!r} wants to run now: the swarm has been changed")

    async def __aenter__(self) -> Self:
        if self._kind != "root" and self.path not in self._life.state.nodes:
            self._check_place()
        self._element = self._life.open_activity(self._parent._element if self._parent is not None else None)
        if self._kind != "root" and self.path not in self._life.state.nodes:
            self._life.record_soon(
                ev.NodeOpened(
                    node_id=self.path,
                    parent_id=self._parent.path if self._parent is not None else "",
                    kind=self._kind,
                    name=self._name,
                    info=dict(self._info or {}),
                )
            )
        if self._kind == "agent" and not self._life.state.nodes[self.path].terminal:
            try:
                await permit_invocation(self._life, self._element, self.path)
                await check_handoff_circle(self._life, self._element, self.path)
            except BaseException as exc:
                await self.__aexit__(type(exc), exc, exc.__traceback__)
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._element is not None:
            self._life.close_activity(self._element)
        if self._kind == "root" or isinstance(exc, asyncio.CancelledError | GeneratorExit):
            # Who cancelled closes: an ancestor when it ends, or nobody while the run is only parked.
            return
        if exc is not None and not isinstance(exc, Exception | Skipped):
            # User code, outside a step. Its task must not end with this: it would stop the loop, and every run on it.
            raise UserCodeError(f"{self._kind} {self._name!r}", exc) from exc
        node = self._life.state.nodes[self.path]
        if node.terminal:
            return
        below = f"{self.path}/"
        for incident in self._life.state.open_incidents:
            # Left open by a branch that lost, in a life that died before it could withdraw.
            if incident.opened.node_id.startswith(below):
                opened, reason = incident.opened, "withdrawn: its branch has ended"
                closed = ev.IncidentClosed(node_id=opened.node_id, incident_id=opened.incident_id, reason=reason)
                self._life.record_soon(closed)
        self._life.record_soon(self._closing_event(exc))

    def _closing_event(self, exc: BaseException | None) -> ev.NodeClosed:
        parent = self._parent.path if self._parent is not None else ""
        if isinstance(exc, Skipped):
            return ev.NodeClosed(node_id=self.path, parent_id=parent, state="skipped", output=str(exc.value))
        if exc is not None:
            error = str(exc) or type(exc).__name__
            return ev.NodeClosed(node_id=self.path, parent_id=parent, state="failed", error=error)
        closed = self._outcome or ev.NodeClosed(node_id=self.path, parent_id=parent, state="succeeded")
        return closed.model_copy(update={"state": "skipped"}) if self._skipped else closed

    def outcome(
        self, output: str = "", *, state: Literal["succeeded", "degraded"] = "succeeded", note: str = ""
    ) -> None:
        self._outcome = ev.NodeClosed(
            node_id=self.path,
            parent_id=self._parent.path if self._parent is not None else "",
            state=state,
            output=output[:_OUTPUT_CHARS],
            error=note,
        )

    def warn(self, text: str) -> None:
        node = self._life.state.nodes.get(self.path)
        if node is None or text not in node.warnings:
            self._life.record_soon(ev.Warned(node_id=self.path, text=text))

    def recorded(self, name: str, place: Place) -> Any:
        node = self._life.state.nodes.get(self._join(segment(name, place)))
        return node.result if node is not None and node.recorded else None

    def late(self, result: Any, error: BaseException | None) -> None:
        note_late_result(self._life, self.path, result, error)

    # -- step ----------------------------------------------------------------------------------------------------

    async def step(self, step: Step[A, R]) -> R:
        if self._life.ending:
            raise asyncio.CancelledError  # user code caught the first one: no step begins any more
        # The path of a model's call does not name the model: another model is a difference to be seen, not another
        # step.
        path = self._join(segment("llm" if step.kind == "llm" else step.name, step.place))
        element = self._life.open_activity(self._element)
        inner = DurableScope(self._life, path, "tool", step.name, self)
        inner._element = element
        try:
            result: R = await run_step(
                StepContext(
                    session=self._life,
                    step=step,
                    node_id=path,
                    parent_id=self.path,
                    activity=element,
                    scope=inner,
                    requested=recorded_arguments(step),
                )
            )
            return result
        except Skipped:
            self._skipped = True
            raise
        finally:
            self._life.close_activity(element)

    async def wait_until_released(self) -> None:
        """Wait while the run is stranded (`runtime.execution.failures.quarantine`)."""
        if self._element is not None:
            await quarantine.wait_until_released(self._life, self._element)

    # -- turn ----------------------------------------------------------------------------------------------------

    async def turn(self, number: int, messages: list[Message]) -> None:
        node = self._life.state.nodes.get(self.path)
        if node is None or self._element is None:
            return
        if not number and has_breakpoint(self._life, "agent", self._name) and not was_released(self._life, self.path):
            await self._wait_at_breakpoint(self._element)
        delivered = node.delivered.get(number, ())
        messages.extend(UserMessage(content=text) for text in delivered)
        if not self._life.state.injected or any(place_of(child)[0] >= number for child in self._deliver_messages(node)):
            return  # only at the turn that is really next: what was said in turns that are recalled was said without it
        found = {key: each for key, each in self._life.state.injected.items() if self._is_addressee(each)}
        if found:
            texts = tuple(each.text for each in found.values())
            await self._life.record(
                ev.MessageDelivered(
                    node_id=self.path, parent_id=node.parent_id, turn=number, texts=texts, injection_ids=tuple(found)
                )
            )
            messages.extend(UserMessage(content=text) for text in texts)

    def _deliver_messages(self, node: Node) -> list[str]:
        """The model's calls under this agent that have an answer already."""
        nodes = self._life.state.nodes
        return [child for child in node.children if nodes[child].kind == "llm" and nodes[child].recorded]

    def _is_addressee(self, injected: ev.MessageInjected) -> bool:
        return injected.node_id == self.path if injected.node_id else injected.agent == self._name

    async def _wait_at_breakpoint(self, element: Activity) -> None:
        fault = breakpoint_fault("agent", self._name)
        answer = await incidents.await_answer(
            self._life, element, self.path, IncidentDraft(fault=fault, where="agent", message=fault.user_message)
        )
        self._apply_answer(answer, RuntimeError(fault.user_message))

    # -- fault ---------------------------------------------------------------------------------------------------

    async def fault(self, exc: Exception, *, at: int | None = None) -> Answer:
        if _operator_abort(exc):
            raise exc
        if self._element is None:
            raise RuntimeError(f"the scope {self.path!r} is not open") from exc
        await make_text_safe(exc)
        fault = _classify_error(exc, _ORIGINS.get(self._kind, Origin.RUNNER), self._life.config.errors)
        await self._pass_failed_agent(fault)
        known = self._answered_before(fault, exc, at)
        if known is not None:
            return self._apply_answer(known, exc)
        where: FaultSite = self._kind if self._kind != "root" else "run"
        if where == "run" and fault.impact in (Impact.ABSORBED, Impact.NODE):
            # Nothing below took it up: if nobody does anything, the run ends with it.
            fault = fault.model_copy(update={"impact": Impact.RUN})
        action = {"turn": at} if at is not None else {}
        trouble = IncidentDraft(
            fault=fault,
            where=where,
            message=str(exc) or type(exc).__name__,
            error=exc,
            action=action,
            in_place=at is not None,
            result_type=getattr(exc, "expected", None),
            partial=any(_has_partial_result_of(self._name, link) for link in _cause_chain(exc, set())),
        )
        log_unresolved(fault)
        answer = await incidents.await_answer(self._life, self._element, self.path, trouble)
        self._consumed.add(answer.incident_id)
        return self._apply_answer(answer, exc)

    async def _pass_failed_agent(self, fault: Classification) -> None:
        """Hand the failure back where an agent stands in for this one, or the swarm goes on without it."""
        node = self._life.state.nodes.get(self.path)
        if node is None or fault.impact is Impact.PROCESS or fault.rule_id == "recall-difference":
            return
        returned = node.returned
        if returned is None and (found := reroute_past_agent(self._life.state, self.path, fault)) is not None:
            returned = found.model_copy(update={"parent_id": node.parent_id})
            await self._life.record(returned)
        if returned is not None:
            raise reroute_error(returned)

    def _answered_before(self, fault: Classification, exc: Exception, at: int | None) -> ev.IncidentAnswered | None:
        """The answer that this fault got in an earlier life, or earlier in this one where `at` fixes the spot.

        Without a fixed spot each answer is good for one pass: a body that fails again after it is a new incident.
        """
        wanted = (fault.cause, message_template(str(exc)), at)
        for incident_id, incident in self._own_incidents():
            if incident.answer is None or (at is None and incident_id in self._consumed):
                continue
            opened = incident.opened
            if (opened.fault.cause, message_template(opened.message), opened.action.get("turn")) == wanted:
                self._consumed.add(incident_id)
                return incident.answer
        return None

    def _own_incidents(self) -> list[tuple[str, Incident]]:
        state = self._life.state
        node = state.nodes.get(self.path)
        if node is not None:
            return [(found, state.incidents[found]) for found in node.incidents]
        return [(key, incident) for key, incident in state.incidents.items() if incident.opened.node_id == self.path]

    def _apply_answer(self, answer: ev.IncidentAnswered, exc: Exception) -> Answer:
        value = answer.params.get("value")
        if answer.option == "abort":
            if answer.reach == "run":
                self._life.end("abort")
                raise asyncio.CancelledError
            raise Aborted(ending_reason(answer, self._life.state.incidents[answer.incident_id].opened)) from exc
        if answer.option == "acknowledge":
            # Noted, and not to be mended: what was asked about here is not asked about again further up.
            raise Aborted(str(exc) or type(exc).__name__) from exc
        if answer.option == "skip":
            self._skipped = True
            raise Skipped(value if value is not None else "")
        # The body is done again from the start: its visits count from the start, too.
        self._visits.clear()
        return Answer(answer.option, value)


def _operator_abort(exc: BaseException) -> bool:
    """Whether an operator's abort is what this error comes from: it was asked about once already."""
    return any(isinstance(link, Aborted) for link in _cause_chain(exc, set()))


def _has_partial_result_of(name: str, exc: BaseException) -> bool:
    """Whether an error brings along what the container `name` had finished."""
    return getattr(getattr(exc, "partial", None), "agent", None) == name


def _classify_error(exc: Exception, origin: Origin, config: ErrorHandlingConfig) -> Classification:
    changed = next((link for link in _cause_chain(exc, set()) if isinstance(link, RunChanged)), None)
    if changed is not None:
        return replay_difference_fault(str(changed)).fault
    return config.reclassify(classify(exc, origin=origin, effect=Effect.NONE, rules=config.rules), exc)


def _cause_chain(exc: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    """An error and all that it came from, groups included."""
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        if isinstance(exc, BaseExceptionGroup):
            for inner in exc.exceptions:
                yield from _cause_chain(inner, seen)
        exc = exc.__cause__ or exc.__context__
