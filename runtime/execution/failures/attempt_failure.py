"""What an attempt leads to that a gate stopped, or that failed: retry, fallback, an error result for the model, or an
incident.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from orbiter.ask import NeedsInput
from orbiter.steps import Step
from runtime.execution.failures import fault_policy
from runtime.execution.failures.errors_in_force import errors_at, retry_policy_for
from runtime.execution.failures.raised_permission import as_request
from runtime.execution.failures.remedies import (
    AnyRemedy,
    Compaction,
    find_fallback,
    find_remedy,
    long_wait,
)
from runtime.execution.failures.reroute import reroute_error, reroute_kind, reroute_past_agent, reroute_to_itself
from runtime.execution.gates.blocked import Blocked
from runtime.execution.gates.permission import PermissionDenied, grantable_need
from runtime.execution.incidents import IncidentDraft
from runtime.execution.step_execution import StepExecution
from runtime.execution.step_result import NO_RESULT, AttemptEnd, Completed
from runtime.judgement.recovery.retry import RetryDecision, decide_retry
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Impact,
    Remedy,
)


async def handle_block(
    execution: StepExecution, blocked: Blocked, attempt: AttemptEnd | None = None
) -> Completed | IncidentDraft | None:
    """Deal with an attempt that a gate stopped; returns and raises as `handle_failure`. `attempt`: its end, where a
    limit was reached while it was under way.

    A refusal goes to the model, unasked. A breaker that is open lets a fallback model go at once; without one the step
    waits until the breaker tries again. A tool's call is refused to the model, if it is not `_to_be_repeated`.
    """
    fault, step, wait_s = blocked.fault, execution.step, blocked.wait_s
    state = execution.state
    is_open = fault.cause is Cause.CIRCUIT_OPEN
    if is_open and step.kind == "llm" and (fell_back := await find_fallback(execution, fault)) is not None:
        await _apply_remedy(execution, fell_back, None)
        return None
    refused = blocked.refused or (
        is_open and step.kind == "tool" and not _to_be_repeated(step, execution.node, execution.last_answer)
    )
    if refused and blocked.error is not None:
        told = await execution.absorb(blocked.error, fault=fault)
        if told is not None:
            return told
    spent_swarm = (blocked.action or {}).get("budget", {}).get("scope") if fault.cause is Cause.LIMIT_REACHED else None
    if spent_swarm and (passed := reroute_past_agent(state, str(spent_swarm), fault)) is not None:
        # What is around a nested swarm whose own budget is used up says how to go on.
        await _apply_remedy(execution, passed, attempt)
    if is_open:
        execution.record_node()
        returned = reroute_past_agent(state, execution.node_id, fault) if step.kind == "llm" else None
        if returned is not None:
            await _apply_remedy(execution, returned, None)
        fault_policy.log_unresolved(fault)
        policy = retry_policy_for(execution.session, step, execution.parent_id, fault, execution.scope.warn)
        if _times_blocked(state, execution.node) >= policy.max_attempts:
            # Waiting again and again for a service that does not come back is nothing to do unasked.
            wait_s = None
    return execution.draft(
        fault, blocked.error, need=blocked.need, wait_s=wait_s, action=blocked.action, attempt=attempt
    )


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
    execution: StepExecution, error: Exception, fault: Classification, attempt: AttemptEnd
) -> Completed | IncidentDraft | None:
    """Deal with an attempt that failed.

    Returns:
        The step's result where the model is told of the failure; None where another attempt is due, its wait over; else
        what a person is to be asked.

    Raises:
        HandedBack: the failure went back into the swarm.
        Exception: `error` itself, where it is its node's to deal with.
    """
    session, step = execution.session, execution.step
    if error is not step.failed:
        await execution.breaker.record_failure(fault)
    if isinstance(error, NeedsInput):
        return execution.draft(fault, error, attempt=attempt)
    if step.handled and (told := await execution.absorb(error, attempt=attempt)) is not None:
        return told
    if step.kind == "value":
        await session.record(attempt.event())
        raise error
    if (need := await grantable_need(session, execution.node_id, step.agent, error)) is not None:
        asked = as_request(fault)
        ended = replace(attempt, fault=asked, effect_unknown=False)
        return execution.draft(asked, error, need=str(need), attempt=ended)
    policy = retry_policy_for(session, step, execution.parent_id, fault, execution.scope.warn)
    rounds = execution.node.round if execution.node is not None else 1
    decision = decide_retry(fault, attempt=max(1, rounds), policy=policy, rng=random.Random())
    if decision.remedy in (Remedy.RETRY, Remedy.WAIT_RETRY) and decision.delay_s is not None:
        model = execution.model
        fault_policy.log_retry(fault, model.partition(":")[2] or model or step.name, decision)
        scheduled = _scheduled(decision, execution.node_id, execution.parent_id, fault, session.clock())
        await session.record(attempt.event(), scheduled)
        await asyncio.sleep(decision.delay_s if session.config.retry_waits else 0.0)
        return None
    return await _resolve_without_retry(execution, error, fault, decision, attempt)


async def _resolve_without_retry(
    execution: StepExecution,
    error: Exception,
    fault: Classification,
    decision: RetryDecision,
    attempt: AttemptEnd,
) -> Completed | IncidentDraft | None:
    """A failure after which the same is not done again: healed by other means, told to the model, or left over."""
    session, step = execution.session, execution.step
    if fault.impact is Impact.PROCESS:
        fault_policy.log_unresolved(fault)
        await session.record(attempt.event())
        session.finish(ev.RunFinished(state="failed", error=fault.user_message))
        raise asyncio.CancelledError
    demanded = fault_policy.demands_operator(fault, step, decision)
    if not demanded and (remedy := await find_remedy(execution, fault, decision)) is not None:
        await _apply_remedy(execution, remedy, attempt)
        return None
    wish, returned = reroute_kind(fault), None
    if step.kind == "tool" and wish is not None:
        returned = reroute_to_itself(session.state, execution.node_id, fault, wish)
    if returned is not None or not (demanded or wish):
        # Its author asks for another plan, and the agent plans by itself: it is told so, else what failed.
        cause = error if returned is None else PermissionDenied(returned.reason)
        told = await execution.absorb(cause, attempt=attempt, before=returned)
        if told is not None:
            return told
    errors = errors_at(session, execution.parent_id)
    if fault.cause is Cause.QUOTA_EXHAUSTED and errors.quota_action(fault.provider) == "notify":
        # Told on every channel, as what ends a run is: without a quota nothing goes on.
        fault = fault.model_copy(update={"impact": Impact.RUN})
    fault_policy.log_unresolved(fault)
    wait_s = long_wait(errors, fault, decision)
    return execution.draft(fault, error, wait_s=wait_s, attempt=attempt, by_policy=True)


async def _apply_remedy(execution: StepExecution, remedy: AnyRemedy, attempt: AttemptEnd | None) -> None:
    """Record a remedy, together with the end of the attempt that failed, and let the next attempt use it.

    Raises:
        HandedBack: the failure goes back into the swarm. The fault of an attempt stands as the step's end then: the
            step will not be carried out again.
    """
    if isinstance(remedy, ev.ControlReturned):
        returned = remedy.model_copy(update={"parent_id": execution.parent_id})
        if attempt is None:
            execution.record_node()
            await execution.session.record(returned)
        else:
            await execution.finish(NO_RESULT, attempt=attempt, absorbed=True, beside=(returned,))
        raise reroute_error(returned)
    ended = () if attempt is None else (attempt.event(),)
    if isinstance(remedy, Compaction):
        execution.overrides.messages = remedy.messages
        await execution.session.record(*ended, remedy.event)
        execution.scope.warn(f"the request was too large and lost {', '.join(remedy.event.cuts)}")
    else:
        execution.overrides.model = remedy.to_model
        execution.record_node()
        await execution.session.record(*ended, remedy)
        execution.scope.warn(f"{remedy.to_model} stands in for {remedy.from_model}: {remedy.reason}")


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
