"""What a failed attempt leads to: another one, another way, a word to the model, or trouble for a person."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from orbiter import errors
from orbiter.ask import NeedsInput
from runtime.execution.failures import fault_policy
from runtime.execution.failures.incident_drafts import trouble
from runtime.execution.failures.remedies import (
    breaker_key,
    caller_of,
    feeds_back,
    quota_wait,
    remedied,
)
from runtime.execution.failures.reroute import wish_of
from runtime.execution.gates import permission
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.incidents import Trouble
from runtime.execution.step_context import Carried, Given
from runtime.judgement.recovery.retry import Decision
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Impact,
    Remedy,
)


async def failed(  # noqa: PLR0917 - one attempt's whole story
    c: Carried, exc: Exception, arguments: Any, attempt: int, seconds: float, changes: dict[str, Any]
) -> Given | Trouble | None:
    fault = fault_policy.classified(c, exc, changes)
    ended = ev.StepEnded(
        node_id=c.node_id,
        parent_id=c.parent_id,
        attempt=attempt,
        fault=fault,
        effect_unknown=isinstance(exc, TimeoutError) and not c.repeatable,
        seconds=round(seconds, 4),
    )
    if key := breaker_key(c, changes):
        policy, now = c.life.conditions.errors.breaker_policy(), c.life.clock().timestamp()
        await breakers_of(c.life.journal).failed(key, fault, policy, now, caller_of(c))
    if isinstance(exc, NeedsInput):
        return trouble(c, fault, exc, changes, ended=ended)
    if c.step.kind == "value":
        await c.life.record(ended)
        raise exc
    decision = fault_policy.decided(c, fault)
    if decision.remedy in (Remedy.RETRY, Remedy.WAIT_RETRY) and decision.delay_s is not None:
        fault_policy.log_retry(c, fault, decision, changes)
        await _wait_for_next(c, ended, decision)
        return None
    return await _not_repeated(c, exc, fault, decision, ended, arguments, changes)


async def _not_repeated(  # noqa: PLR0917 - one attempt's whole story
    c: Carried,
    exc: Exception,
    fault: Classification,
    decision: Decision,
    ended: ev.StepEnded,
    arguments: Any,
    changes: dict[str, Any],
) -> Given | Trouble | None:
    """A failure after which the same is not done again: healed by other means, told to the model, or left over."""
    if fault.impact is Impact.PROCESS:
        fault_policy.log_left_over(fault)
        await c.life.record(ended)
        c.life.finish(ev.RunFinished(state="failed", error=fault.user_message))
        raise asyncio.CancelledError
    if not fault_policy.insists(c, fault, decision) and await remedied(c, fault, decision, ended, changes):
        return None
    if (returned := feeds_back(c, fault)) is not None:
        told = absorbed(c, arguments, permission.PermissionDenied(returned.reason))
        if told is not None:
            await c.life.record(returned)
            return await tell(c, ended, arguments, told)
    told = None if fault_policy.insists(c, fault, decision) or wish_of(fault) else absorbed(c, arguments, exc)
    if told is not None:
        return await tell(c, ended, arguments, told)
    if fault.cause is Cause.QUOTA_EXHAUSTED and c.life.conditions.errors.quota_action(fault.provider) == "notify":
        # Told on every channel, as what ends a run is: without a quota nothing goes on.
        fault = fault.model_copy(update={"impact": Impact.RUN})
    fault_policy.log_left_over(fault)
    wait_s = _too_long(decision, fault)
    return trouble(c, fault, exc, changes, wait_s=quota_wait(c, fault) if wait_s is None else wait_s, ended=ended)


def absorbed(c: Carried, arguments: Any, exc: Exception) -> Any:
    """The failure as a result for the model; None where it has no such form, or the policy is `fail`."""
    if c.step.traits.failure == "fail" and not isinstance(exc, errors.ToolCallError):
        return None
    return c.step.codec.absorb(arguments, exc)


async def tell(c: Carried, ended: ev.StepEnded, arguments: Any, told: Any) -> Given:
    """The model is told of a failure, as the result of its call."""
    await c.life.record(
        ended.model_copy(update={"absorbed": True, "result": c.step.codec.dump(told), "settled": c.step.after is None})
    )
    if c.step.after is not None:
        await c.step.after(arguments, told)
        c.life.note(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return Given(told)


async def _wait_for_next(c: Carried, ended: ev.StepEnded, decision: Decision) -> None:
    delay = decision.delay_s or 0.0
    await c.life.record(
        ended,
        ev.RetryScheduled(
            ts=c.life.clock(),
            node_id=c.node_id,
            parent_id=c.parent_id,
            attempt=decision.attempt + 1,
            max_attempts=decision.max_attempts,
            delay_s=round(delay, 3),
            until=c.life.clock() + timedelta(seconds=delay),
            source=decision.source_of_delay,
            reason=ended.fault.user_message if ended.fault is not None else "",
        ),
    )
    await asyncio.sleep(delay)


def _too_long(decision: Decision, fault: Classification) -> float | None:
    """A wait that the server asks for and that is longer than a run should stay in memory for."""
    if decision.remedy is Remedy.WAIT_RETRY and decision.delay_s is None:
        return fault.retry_after_s
    return None
