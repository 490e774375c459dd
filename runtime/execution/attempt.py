"""One attempt of a step: the gates before it, the call, and its end; what a failure leads to stands in `failed`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from contextlib import nullcontext, suppress
from typing import Any, Literal

from orbiter import errors, steps
from orbiter._internal.user_code import guard_user_code, make_text_safe
from orbiter.steps import Aborted, Skipped
from runtime.execution.failures import fault_policy
from runtime.execution.failures.attempt_failure import handle_failure
from runtime.execution.failures.crash_loop import step_alone
from runtime.execution.failures.incident_drafts import config_fault, draft_incident
from runtime.execution.failures.remedies import breaker_caller, breaker_key
from runtime.execution.gates import permission
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.gates.budget import cost_of_usage, exhausted_budget
from runtime.execution.gates.chain import GATES, RetryAttempt
from runtime.execution.incidents import IncidentDraft
from runtime.execution.resolution import sign_changed_result
from runtime.execution.step_context import Completed, StepContext
from runtime.record.journal import JournalError
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Persistence,
)


async def run_attempt(c: StepContext, changes: dict[str, Any]) -> Completed | IncidentDraft | None:
    """One attempt: a result, trouble that is left over, or None where another is due (its wait is over)."""
    async with step_alone(c):
        return await _gate_and_call(c, changes)


async def _gate_and_call(c: StepContext, changes: dict[str, Any]) -> Completed | IncidentDraft | None:
    try:
        arguments = c.step.codec.replace(c.step.arguments, changes) if changes else c.step.arguments
    except Exception as exc:
        return draft_incident(c, config_fault(exc), exc, changes)
    for ask in GATES:
        stopped = await ask(c, changes)
        if isinstance(stopped, RetryAttempt):
            return None
        if stopped is not None:
            return stopped
    # Once more, with nothing awaited after it: steps that begin side by side must not overshoot together, and a freeze
    # that came while the gates were asked holds.
    if (hit := exhausted_budget(c, changes)) is not None or c.session.is_frozen:
        await _release_probe(c, changes)
        return hit
    attempt = (c.node.attempts if c.node is not None else 0) + 1
    checked = permission.checked_arguments(c, changes)
    if checked is not None:
        arguments = c.step.codec.replace(arguments, {"arguments": checked})
    # From before it is written that it begins until it is written how it ended.
    c.activity.must_not_repeat = not c.repeatable
    try:
        await _record_start(c, attempt, changes if checked is None else {**changes, "arguments": checked})
        return await _call_and_record(c, arguments, attempt, changes)
    finally:
        c.activity.must_not_repeat = False


async def _call_and_record(
    c: StepContext, arguments: Any, attempt: int, changes: dict[str, Any]
) -> Completed | IncidentDraft | None:
    began = time.monotonic()
    try:
        result = await _call(c, arguments, attempt)
    except asyncio.CancelledError:
        _record_cancellation(c, attempt, began)
        await _release_probe(c, changes)
        raise
    except (Aborted, Skipped):
        await _release_probe(c, changes)
        raise
    except Exception as exc:
        await make_text_safe(exc)
        return await handle_failure(c, exc, arguments, attempt, time.monotonic() - began, changes)
    return Completed(
        await _record_success(
            c, arguments, sign_changed_result(c, result, changes), attempt, time.monotonic() - began, changes
        )
    )


async def _release_probe(c: StepContext, changes: dict[str, Any]) -> None:
    """The call said nothing of its service: a probe that it held is free, also where all of this is cancelled."""
    key = breaker_key(c, changes)
    if not key:
        return
    with suppress(JournalError):
        await asyncio.shield(breakers_of(c.session.journal).release_probe(key, breaker_caller(c)))


async def _record_start(c: StepContext, attempt: int, changes: dict[str, Any]) -> None:
    known = c.node is not None and c.node.requested == c.requested
    event = ev.StepStarted(
        **c.step_fields() | ({"requested": {}} if known else {}),
        attempt=attempt,
        epoch=c.session.lease.epoch,
        effective=changes,
    )
    # A begin is on disk before its call where the call must not be repeated, and where an earlier life of the run ended
    # with its process: this call may have ended it. Waiting for every begin costs a quarter of a step more.
    if event.durable or c.session.state.died or (c.node is not None and c.node.deaths):
        await c.session.record(event)
    else:
        c.session.record_soon(event)


async def _call(c: StepContext, arguments: Any, attempt: int) -> Any:
    timeout = c.step.traits.timeout
    with steps.entered(c.scope) if c.step.kind == "tool" else nullcontext():
        if timeout is None:
            return await _call_with_fault_origin(c, arguments, attempt)
        try:
            async with asyncio.timeout(timeout) as limit:
                return await _call_with_fault_origin(c, arguments, attempt)
        except TimeoutError as exc:
            if not limit.expired():
                raise
            left = "" if c.repeatable else "; whether it took effect is not known"
            raise errors.TimeoutError(
                f"{c.step.name} did not come back within {timeout:g} s{left}",
                operation=c.step.name,
                timeout_seconds=timeout,
            ) from exc


async def _call_with_fault_origin(c: StepContext, arguments: Any, attempt: int) -> Any:
    with guard_user_code(f"{c.step.name!r} of agent {c.step.agent!r}"):
        return await _call_of(c, arguments, attempt)


def _call_of(c: StepContext, arguments: Any, attempt: int) -> Awaitable[Any]:
    """The call itself; with pieces of the reply on the way where somebody looks at the run."""
    deltas = c.session.config.deltas
    if c.step.stream is None or deltas is None or not deltas.wants(c.session.state.id):
        return c.step.call(arguments)
    run_id, node_id = c.session.state.id, c.node_id

    def emit(kind: Literal["text", "reasoning"], text: str) -> None:
        c.session.touch()
        deltas.put(run_id, node_id, attempt, kind, text)

    return c.step.stream(arguments, emit)


async def _record_success(  # noqa: PLR0917 - one attempt's whole story
    c: StepContext, arguments: Any, result: Any, attempt: int, seconds: float, changes: dict[str, Any]
) -> Any:
    usage = c.step.codec.usage(result)
    cost, unpriced = cost_of_usage(c, changes, usage)
    await c.session.record(
        ev.StepEnded(
            node_id=c.node_id,
            parent_id=c.parent_id,
            attempt=attempt,
            result=c.step.codec.dump(result),
            settled=c.step.after is None,
            seconds=round(seconds, 4),
            input_tokens=usage.input_tokens if usage is not None else 0,
            output_tokens=usage.output_tokens if usage is not None else 0,
            cost_usd=cost,
            unpriced=unpriced,
        )
    )
    fault_policy.log_success(c)
    if key := breaker_key(c, changes):
        await breakers_of(c.session.journal).record_success(key, breaker_caller(c))
    if c.step.after is not None:
        await c.step.after(arguments, result)
        c.session.record_soon(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return result


def _record_cancellation(c: StepContext, attempt: int, began: float) -> None:
    """Stopped from outside. Parking and stopping leave the attempt open: the next life finds it in doubt."""
    if c.session.ending not in ("", "abort"):
        return
    unknown = not c.repeatable
    fault = Classification(
        origin=fault_policy.ORIGINS[c.step.kind],
        cause=Cause.CANCELLED,
        persistence=Persistence.UNKNOWN,
        effect=Effect.UNKNOWN if unknown else Effect.NONE,
        user_message="cancelled while it was under way",
        rule_id="cancelled",
    )
    c.session.record_soon(
        ev.StepEnded(
            node_id=c.node_id,
            parent_id=c.parent_id,
            attempt=attempt,
            fault=fault,
            effect_unknown=unknown,
            seconds=round(time.monotonic() - began, 4),
        )
    )
