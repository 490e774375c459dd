"""What a failed attempt leads to: retry, fallback, an error result for the model, or an incident."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from orbiter import errors
from orbiter.ask import NeedsInput
from runtime.execution.failures import fault_policy
from runtime.execution.failures.incident_drafts import draft_incident
from runtime.execution.failures.remedies import (
    apply_remedy,
    breaker_caller,
    breaker_key,
    quota_wait,
    returns_error_to_planner,
)
from runtime.execution.failures.reroute import reroute_kind
from runtime.execution.gates import permission
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.incidents import IncidentDraft
from runtime.execution.step_context import Completed, StepContext
from runtime.judgement.recovery.retry import RetryDecision
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Impact,
    Remedy,
)


async def handle_failure(  # noqa: PLR0917 - one attempt's whole story
    c: StepContext, exc: Exception, arguments: Any, attempt: int, seconds: float, changes: dict[str, Any]
) -> Completed | IncidentDraft | None:
    fault = fault_policy.classify_failure(c, exc, changes)
    ended = ev.StepEnded(
        node_id=c.node_id,
        parent_id=c.parent_id,
        attempt=attempt,
        fault=fault,
        effect_unknown=isinstance(exc, TimeoutError) and not c.repeatable,
        seconds=round(seconds, 4),
    )
    if key := breaker_key(c, changes):
        policy, now = c.session.config.errors.breaker_policy(), c.session.clock().timestamp()
        await breakers_of(c.session.journal).record_failure(key, fault, policy, now, breaker_caller(c))
    if isinstance(exc, NeedsInput):
        return draft_incident(c, fault, exc, changes, ended=ended)
    if c.step.kind == "value":
        await c.session.record(ended)
        raise exc
    decision = fault_policy.retry_decision(c, fault)
    if decision.remedy in (Remedy.RETRY, Remedy.WAIT_RETRY) and decision.delay_s is not None:
        fault_policy.log_retry(c, fault, decision, changes)
        await _wait_for_retry(c, ended, decision)
        return None
    return await _resolve_without_retry(c, exc, fault, decision, ended, arguments, changes)


async def _resolve_without_retry(  # noqa: PLR0917 - one attempt's whole story
    c: StepContext,
    exc: Exception,
    fault: Classification,
    decision: RetryDecision,
    ended: ev.StepEnded,
    arguments: Any,
    changes: dict[str, Any],
) -> Completed | IncidentDraft | None:
    """A failure after which the same is not done again: healed by other means, told to the model, or left over."""
    if fault.impact is Impact.PROCESS:
        fault_policy.log_unresolved(fault)
        await c.session.record(ended)
        c.session.finish(ev.RunFinished(state="failed", error=fault.user_message))
        raise asyncio.CancelledError
    if not fault_policy.demands_operator(c, fault, decision) and await apply_remedy(c, fault, decision, ended, changes):
        return None
    if (returned := returns_error_to_planner(c, fault)) is not None:
        told = error_result(c, arguments, permission.PermissionDenied(returned.reason))
        if told is not None:
            await c.session.record(returned)
            return await return_error_to_model(c, ended, arguments, told)
    told = (
        None
        if fault_policy.demands_operator(c, fault, decision) or reroute_kind(fault)
        else error_result(c, arguments, exc)
    )
    if told is not None:
        return await return_error_to_model(c, ended, arguments, told)
    if fault.cause is Cause.QUOTA_EXHAUSTED and c.session.config.errors.quota_action(fault.provider) == "notify":
        # Told on every channel, as what ends a run is: without a quota nothing goes on.
        fault = fault.model_copy(update={"impact": Impact.RUN})
    fault_policy.log_unresolved(fault)
    wait_s = _exceeds_hint_cap(decision, fault)
    return draft_incident(
        c, fault, exc, changes, wait_s=quota_wait(c, fault) if wait_s is None else wait_s, ended=ended
    )


def error_result(c: StepContext, arguments: Any, exc: Exception) -> Any:
    """The failure as a result for the model; None where it has no such form, or the policy is `fail`."""
    if c.step.traits.failure == "fail" and not isinstance(exc, errors.ToolCallError):
        return None
    return c.step.codec.absorb(arguments, exc)


async def return_error_to_model(c: StepContext, ended: ev.StepEnded, arguments: Any, told: Any) -> Completed:
    """The model is told of a failure, as the result of its call."""
    await c.session.record(
        ended.model_copy(update={"absorbed": True, "result": c.step.codec.dump(told), "settled": c.step.after is None})
    )
    if c.step.after is not None:
        await c.step.after(arguments, told)
        c.session.record_soon(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return Completed(told)


async def _wait_for_retry(c: StepContext, ended: ev.StepEnded, decision: RetryDecision) -> None:
    delay = decision.delay_s or 0.0
    await c.session.record(
        ended,
        ev.RetryScheduled(
            ts=c.session.clock(),
            node_id=c.node_id,
            parent_id=c.parent_id,
            attempt=decision.attempt + 1,
            max_attempts=decision.max_attempts,
            delay_s=round(delay, 3),
            until=c.session.clock() + timedelta(seconds=delay),
            source=decision.source_of_delay,
            reason=ended.fault.user_message if ended.fault is not None else "",
        ),
    )
    await asyncio.sleep(delay)


def _exceeds_hint_cap(decision: RetryDecision, fault: Classification) -> float | None:
    """A wait that the server asks for and that is longer than a run should stay in memory for."""
    if decision.remedy is Remedy.WAIT_RETRY and decision.delay_s is None:
        return fault.retry_after_s
    return None
