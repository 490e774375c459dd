"""The execution of one step: the owner of its context, its overrides and its end.

Whatever ends a step (a result, a refusal, a failure that the model is told of, a person's answer) goes through
`StepExecution.finish`. What is counted (attempts, rounds) is read from the fold, so that a step goes on in a later life
where an earlier one stopped.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from orbiter import steps
from orbiter.steps import Step
from runtime.execution import incidents
from runtime.execution.failures.errors_in_force import errors_at
from runtime.execution.failures.fault_policy import log_success
from runtime.execution.failures.reroute import fails_at_once
from runtime.execution.gates.blocked import Blocked
from runtime.execution.gates.breaker import NO_BREAKER, NoBreaker, StepBreaker
from runtime.execution.gates.budget import usage_fields
from runtime.execution.incidents import IncidentDraft
from runtime.execution.run_session import RunSession
from runtime.execution.step_overrides import StepOverrides
from runtime.execution.step_result import NO_RESULT, AttemptEnd, Completed
from runtime.execution.wait_tracker import Activity
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.fault_taxonomy import Classification, Impact


class FinishedTwiceError(RuntimeError):
    """A step was ended that had its end already: a fault of this program."""

    def __init__(self, node_id: str) -> None:
        super().__init__(f"the step {node_id!r} was ended a second time; each way of ending a step calls finish once")


def step_fields(
    step: Step[Any, Any], node_id: str, parent_id: str, requested: dict[str, Any], *, refused: bool
) -> dict[str, Any]:
    """The fields that every event has which introduces a step. `refused`: see `StepExecution.refused`."""
    return {
        "node_id": node_id,
        "parent_id": parent_id,
        "kind": step.kind,
        "name": step.name,
        "agent": step.agent,
        "requested": requested,
        "idempotent": step.traits.idempotent or refused,
        "permissions": () if refused else step.traits.permissions,
    }


class StepExecution(msgspec.Struct, eq=False):
    """A step on its way. `scope` is where nodes that the call opens go; `requested` is the request as JSON."""

    session: RunSession
    step: Step[Any, Any]
    node_id: str
    parent_id: str
    activity: Activity
    scope: steps.Scope
    requested: dict[str, Any]
    overrides: StepOverrides = msgspec.field(default_factory=StepOverrides)
    _finished: bool = False

    # -- what is known of the step -------------------------------------------------------------------------------

    @property
    def state(self) -> DurableRun:
        """The run's state."""
        return self.session.state

    @property
    def node(self) -> Node | None:
        """The step's node in the state; None before anything is recorded of it."""
        return self.session.state.nodes.get(self.node_id)

    @property
    def attempts(self) -> int:
        """How many attempts have begun, in all lives."""
        node = self.node
        return node.attempts if node is not None else 0

    @property
    def failed_before(self) -> Exception | None:
        """What stands for the step's first attempt; None where a call is to be made."""
        if self.step.failed is None:
            return None
        node = self.node
        return self.step.failed if node is None or node.fault is None else None

    @property
    def refused(self) -> bool:
        """Whether the call cannot be made: it touches nothing, and no permission is asked for. Not once a person gave
        other arguments: then it is a call like any other.
        """
        return self.step.refused and self.overrides.arguments is None

    @property
    def repeatable(self) -> bool:
        """Whether beginning it a second time is safe, whatever came of the first."""
        step = self.step
        return step.kind != "tool" or step.traits.idempotent or self.refused or self.failed_before is not None

    @property
    def last_answer(self) -> ev.IncidentAnswered | None:
        """The latest answer to an incident of this step."""
        node = self.node
        for incident_id in reversed(node.incidents) if node is not None else ():
            if (answer := self.state.incidents[incident_id].answer) is not None:
                return answer
        return None

    # -- what an attempt will use --------------------------------------------------------------------------------

    @property
    def tool_arguments(self) -> Mapping[str, Any]:
        """A tool's arguments as they will be used, with what hooks made of them; empty for other steps."""
        found: Any = self.overrides.arguments
        if found is None and self.step.kind == "tool":
            codec, given = self.step.codec, self.step.arguments
            found = (codec.editable(given) or codec.describe(given)).get("arguments", {})
        return found if isinstance(found, Mapping) else {}

    @property
    def model(self) -> str:
        """The model that will be asked; empty for other steps."""
        if self.step.kind != "llm":
            return ""
        return self.step.name if self.overrides.model is None else self.overrides.model

    @property
    def action(self) -> dict[str, Any]:
        """What exactly is to be done, for the person who decides about it."""
        if self.step.kind == "tool":
            return {"tool": self.step.name, "arguments": dict(self.tool_arguments)}
        return {"model": self.model} if self.step.kind == "llm" else {}

    @property
    def breaker_key(self) -> str:
        """Of what the breaker before the next attempt is; empty for value steps and refused calls, which have none."""
        step = self.step
        if step.kind == "value" or self.refused:
            return ""
        if step.kind == "llm":
            return f"model:{self.model}"
        server = step.traits.server
        return f"mcp:{server}" if server else f"tool:{step.name}"

    @property
    def breaker(self) -> StepBreaker | NoBreaker:
        """The breaker before the next attempt.

        One that lets every call pass where the step has none, where breakers are off, and in a run begun with
        ``breakers`` off: a drill, whose invented failures say nothing of any service.
        """
        session, key = self.session, self.breaker_key
        errors = errors_at(session, self.parent_id)
        if not key or not errors.enable_circuit_breaker or session.state.options.get("breakers") is False:
            return NO_BREAKER
        caller = f"{session.state.id}/{self.node_id}#{session.lease.epoch}"
        return StepBreaker(session.breakers, key, caller, errors, session.clock)

    # -- recording -----------------------------------------------------------------------------------------------

    def record_node(self) -> None:
        """Introduce the step before its first attempt, because something is about to be recorded of it. Again where
        what is requested has changed since (a message was delivered): it is compared with what is requested later.
        """
        node = self.node
        if node is None or not (node.recorded or node.hooks_due or node.requested == self.requested):
            fields = step_fields(self.step, self.node_id, self.parent_id, self.requested, refused=self.refused)
            self.session.record_soon(ev.StepRequested(**fields))

    def draft(self, blocked: Blocked, attempt: AttemptEnd | None = None) -> IncidentDraft:
        """What a person is to be told where the step cannot go on by itself.

        Args:
            blocked: What stands in the way.
            attempt: The attempt that failed; its end is written together with the incident.
        """
        fault, error = blocked.fault, blocked.error
        if attempt is not None and blocked.need:
            # Code that raises for a permission says that nothing was done yet.
            attempt = msgspec.structs.replace(attempt, fault=fault, effect_unknown=False)
        if fault.impact is Impact.ABSORBED:
            # What a person is asked about was not absorbed, whatever is usual for its kind.
            fault = msgspec.structs.replace(fault, impact=Impact.NODE)
        shown = self.action
        if blocked.need:
            shown["permission"] = blocked.need
        return IncidentDraft(
            fault=fault,
            where=self.step.kind,
            message=(str(error) or type(error).__name__) if error is not None else fault.user_message,
            error=error,
            action={**shown, **(blocked.action or {})},
            need=blocked.need,
            not_offered=self.step.traits.not_offered,
            arguments_schema=self.step.traits.schema if self.step.kind == "tool" else None,
            result_type=self.step.traits.result_type,
            wait_s=blocked.wait_s,
            policy="fail" if blocked.by_policy and fails_at_once(self.state, self.node_id) else "",
            ended=attempt.event() if attempt is not None else None,
        )

    def await_answer(self, draft: IncidentDraft) -> Coroutine[Any, Any, ev.IncidentAnswered]:
        """Open an incident at the step and wait for its answer."""
        return incidents.await_answer(self.session, self.activity, self.node_id, draft)

    # -- the end -------------------------------------------------------------------------------------------------

    async def finish(
        self,
        result: Any,
        *,
        attempt: AttemptEnd | None = None,
        fault: Classification | None = None,
        absorbed: bool = False,
        by: ev.Actor | None = None,
        skipped: bool = False,
        secret: bool = False,
        written: Any = None,
        beside: tuple[ev.JournalEvent, ...] = (),
    ) -> Completed:
        """End the step: write its end, then run its POST hooks. Once for each execution.

        Args:
            result: The step's result, or `NO_RESULT`. POST hooks run for a result that no person gave.
            attempt: The attempt that led to it; None where none did.
            fault: What stood in the way, where no attempt was made.
            absorbed: The fault was dealt with: it went to the model as `result`, or back into the swarm.
            by: Who gave the result in place of the step, or let it be skipped.
            skipped: It was let be skipped.
            secret: The result is written nowhere; a later life asks for it again.
            written: What is written where there is no result.
            beside: Events that are written in the same transaction.

        Raises:
            FinishedTwiceError: the step has its end already.
            Exception: whatever a POST hook raises; the end is written by then.
        """
        if self._finished:
            raise FinishedTwiceError(self.node_id)
        self._finished = True
        if attempt is None:
            self.record_node()
            attempt = AttemptEnd(self.node_id, self.parent_id, self.attempts, self.step.arguments, fault=fault)
        after = self.step.after if by is None and result is not NO_RESULT else None
        end: dict[str, Any] = {"absorbed": absorbed, "by": by, "skipped": skipped, "settled": after is None}
        if secret:
            end |= {"secret": True, "settled": False}
        else:
            end["result"] = written if result is NO_RESULT else self.step.codec.dump(result)
        succeeded = attempt.fault is None and by is None
        if succeeded:
            usage = self.step.codec.usage(result)
            if usage is not None:
                end |= usage_fields(self.session.config.prices, self.model, usage, self.session.clock())
        await self.session.record(attempt.event(**end), *beside)
        if succeeded:
            if (node := self.node) is not None and node.round > 1:
                log_success(node.round - 1)
            if self.session.breakers.has_counted(self.breaker_key):  # hardly ever
                await self.breaker.record_success()
        if after is not None:
            await after(attempt.arguments, result)
            self.session.record_soon(ev.StepSettled(node_id=self.node_id, parent_id=self.parent_id))
        return Completed(result)
