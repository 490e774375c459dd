"""What an attempt leads to that a gate stopped, or that failed: retry, fallback, an error result for the model, or an
incident.

It is decided here, and done by the attempt (`Attempt.settle`). What ends the run, or is the node's to deal with, is
raised.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from orbiter.ask import NeedsInput
from orbiter.errors import ToolCallError
from orbiter.steps import Step
from runtime.execution.failures import fault_policy
from runtime.execution.failures.errors_in_force import errors_at, retry_policy_for
from runtime.execution.failures.raised_permission import as_request
from runtime.execution.failures.remedies import (
    AnyRemedy,
    find_fallback,
    find_remedy,
    long_wait,
)
from runtime.execution.failures.reroute import reroute_kind, reroute_past_agent, reroute_to_itself
from runtime.execution.gates.blocked import Blocked
from runtime.execution.gates.permission import PermissionDenied, grantable_need
from runtime.execution.step_execution import StepExecution
from runtime.execution.step_result import AttemptEnd, StepResult
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.recovery.retry import RetryDecision, decide_retry
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Impact,
    Remedy,
)

Settlement = StepResult | Blocked | AnyRemedy | ev.RetryScheduled
"""What is to be done about an attempt: the step ends, a person is asked, other means are tried, or the same again."""


async def handle_block(execution: StepExecution, blocked: Blocked) -> Settlement:
    """Decide about an attempt that a gate stopped, before it began or while it was under way.

    A refusal goes to the model, unasked. A breaker that is open lets a fallback model go at once; without one the step
    waits until the breaker tries again. Code of an agent's own that is told of failures is told of it before. A tool's
    call is refused to the model, if it is not `_to_be_repeated`.
    """
    fault, step, state = blocked.fault, execution.step, execution.state
    is_open = fault.cause is Cause.CIRCUIT_OPEN
    if is_open and step.kind == "llm" and step.handled and blocked.error is not None:
        told = _told_model(step, step.arguments, blocked.error)
        if told is not None:
            return msgspec.structs.replace(told, fault=fault)
    if is_open and step.kind == "llm" and (fell_back := await find_fallback(execution, fault)) is not None:
        return fell_back
    refused = blocked.refused or (
        is_open and step.kind == "tool" and not _to_be_repeated(step, execution.node, execution.last_answer)
    )
    if refused and blocked.error is not None:
        told = _told_model(step, step.arguments, blocked.error)
        if told is not None:
            return msgspec.structs.replace(told, fault=fault)
    spent_swarm = (blocked.action or {}).get("budget", {}).get("scope") if fault.cause is Cause.LIMIT_REACHED else None
    if spent_swarm and (passed := reroute_past_agent(state, str(spent_swarm), fault)) is not None:
        # What is around a nested swarm whose own budget is used up says how to go on.
        return passed
    if is_open:
        execution.record_node()  # what is around it is read from its node
        if step.kind == "llm" and (returned := reroute_past_agent(state, execution.node_id, fault)) is not None:
            return returned
        fault_policy.log_unresolved(fault)
        policy = retry_policy_for(execution.session, step, execution.parent_id, fault, execution.scope.warn)
        if _times_blocked(state, execution.node) >= policy.max_attempts:
            # Waiting again and again for a service that does not come back is nothing to do unasked.
            return replace(blocked, wait_s=None)
    return blocked


def _told_model(step: Step[Any, Any], arguments: Any, error: Exception) -> StepResult | None:
    """A failure as the step's result, which the model is told. None: it has no such form, or the policy is `fail`."""
    if step.traits.failure == "fail" and not isinstance(error, ToolCallError):
        return None
    told = step.codec.absorb(arguments, error)
    return StepResult(told, absorbed=True) if told is not None else None


def _to_be_repeated(step: Step[Any, Any], node: Node | None, last_answer: ev.IncidentAnswered | None) -> bool:
    """Whether the call failed before, and its author or an operator said that it is to be tried again."""
    failed = node.fault if node is not None else None
    if failed is None:
        return False
    return last_answer is not None or fault_policy.is_kept_from_model(failed, step)


def _times_blocked(state: DurableRun, node: Node | None) -> int:
    """How often a step has waited for a breaker."""
    ids = node.incidents if node is not None else []
    return sum(state.incidents[each].opened.fault.cause is Cause.CIRCUIT_OPEN for each in ids)


async def handle_failure(
    execution: StepExecution, error: Exception, attempt: AttemptEnd, fault: Classification
) -> Settlement:
    """Decide about an attempt that failed.

    Args:
        execution: The step.
        error: As it was raised.
        attempt: The end of the attempt.
        fault: What the error is judged to be.

    Raises:
        Exception: `error` itself, where it is its node's to deal with.
        CancelledError: the run ends.
    """
    session, step, node = execution.session, execution.step, execution.node
    if error is not step.failed:
        await execution.breaker.record_failure(fault)
    if isinstance(error, NeedsInput):
        return Blocked(fault, error)
    if step.handled and (told := _told_model(step, attempt.arguments, error)) is not None:
        return told
    if step.kind == "value":
        await session.record(attempt.event())
        raise error
    if (need := await grantable_need(session, execution.node_id, step.agent, error)) is not None:
        return Blocked(as_request(fault), error, need=str(need))
    policy = retry_policy_for(session, step, execution.parent_id, fault, execution.scope.warn)
    rounds = node.round if node is not None else 1
    decision = decide_retry(fault, attempt=max(1, rounds), policy=policy, rng=random.Random())
    if decision.remedy in (Remedy.RETRY, Remedy.WAIT_RETRY) and decision.delay_s is not None:
        model = execution.model
        fault_policy.log_retry(fault, model.partition(":")[2] or model or step.name, decision)
        return _scheduled(decision, execution.node_id, execution.parent_id, fault, session.clock())
    if fault.impact is Impact.PROCESS:
        fault_policy.log_unresolved(fault)
        await session.record(attempt.event())
        session.finish(ev.RunFinished(state="failed", error=fault.user_message))
        raise asyncio.CancelledError
    demanded = fault_policy.demands_operator(fault, step, decision)
    if not demanded and (remedy := await find_remedy(execution, fault, decision)) is not None:
        return remedy
    wish, returned = reroute_kind(fault), None
    if step.kind == "tool" and wish is not None:
        returned = reroute_to_itself(session.state, execution.node_id, fault, wish)
    if returned is not None or not (demanded or wish):
        # Its author asks for another plan, and the agent plans by itself: it is told so, else what failed.
        cause = error if returned is None else PermissionDenied(returned.reason)
        told = _told_model(step, attempt.arguments, cause)
        if told is not None:
            return msgspec.structs.replace(told, before=returned)
    return _left_over(error, fault, decision, errors_at(session, execution.parent_id))


def _left_over(error: Exception, fault: Classification, decision: RetryDecision, errors: FaultHandling) -> Blocked:
    """A failure that was not healed and is not for the model: a person, or the swarm's policy, decides."""
    if fault.cause is Cause.QUOTA_EXHAUSTED and errors.quota_action(fault.provider) == "notify":
        # Told on every channel, as what ends a run is: without a quota nothing goes on.
        fault = msgspec.structs.replace(fault, impact=Impact.RUN)
    fault_policy.log_unresolved(fault)
    return Blocked(fault, error, wait_s=long_wait(errors, fault, decision), by_policy=True)


def _scheduled(
    decision: RetryDecision, node_id: str, parent_id: str, fault: Classification, now: datetime
) -> ev.RetryScheduled:
    delay = decision.delay_s or 0.0
    return ev.RetryScheduled(
        ts=now,
        node_id=node_id,
        parent_id=parent_id,
        attempt=decision.attempt + 1,
        max_attempts=decision.max_attempts,
        delay_s=round(delay, 3),
        until=now + timedelta(seconds=delay),
        source=decision.source_of_delay,
        reason=fault.user_message,
    )
