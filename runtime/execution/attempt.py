"""One attempt of a step: the gates before it, the call, and its end; what a failure leads to stands in `failed`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from contextlib import nullcontext, suppress
from typing import Any, Literal

from orbiter import errors, steps
from orbiter._internal.user_code import contained, disarm
from orbiter.steps import Aborted, Skipped
from runtime.execution.failures import fault_policy
from runtime.execution.failures.attempt_failure import failed
from runtime.execution.failures.crash_loop import step_alone
from runtime.execution.failures.incident_drafts import config_fault, trouble
from runtime.execution.failures.remedies import breaker_key, caller_of
from runtime.execution.gates import permission
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.gates.budget import priced, stopped_by
from runtime.execution.gates.chain import GATES, Again
from runtime.execution.incidents import Trouble
from runtime.execution.resolution import signed
from runtime.execution.step_context import Carried, Given
from runtime.record.journal import JournalError
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Persistence,
)


async def attempt_once(c: Carried, changes: dict[str, Any]) -> Given | Trouble | None:
    """One attempt: a result, trouble that is left over, or None where another is due (its wait is over)."""
    async with step_alone(c):
        return await _attempt(c, changes)


async def _attempt(c: Carried, changes: dict[str, Any]) -> Given | Trouble | None:
    try:
        arguments = c.step.codec.replace(c.step.arguments, changes) if changes else c.step.arguments
    except Exception as exc:
        return trouble(c, config_fault(exc), exc, changes)
    for ask in GATES:
        stopped = await ask(c, changes)
        if isinstance(stopped, Again):
            return None
        if stopped is not None:
            return stopped
    # Once more, with nothing awaited after it: steps that begin side by side must not overshoot together, and a freeze
    # that came while the gates were asked holds.
    if (hit := stopped_by(c, changes)) is not None or c.life.frozen:
        await _release(c, changes)
        return hit
    attempt = (c.node.attempts if c.node is not None else 0) + 1
    checked = permission.as_used(c, changes)
    if checked is not None:
        arguments = c.step.codec.replace(arguments, {"arguments": checked})
    # From before it is written that it begins until it is written how it ended.
    c.element.holds = not c.repeatable
    try:
        await _start(c, attempt, changes if checked is None else {**changes, "arguments": checked})
        return await _outcome(c, arguments, attempt, changes)
    finally:
        c.element.holds = False


async def _outcome(c: Carried, arguments: Any, attempt: int, changes: dict[str, Any]) -> Given | Trouble | None:
    began = time.monotonic()
    try:
        result = await _call(c, arguments, attempt)
    except asyncio.CancelledError:
        _cancelled(c, attempt, began)
        await _release(c, changes)
        raise
    except (Aborted, Skipped):
        await _release(c, changes)
        raise
    except Exception as exc:
        await disarm(exc)
        return await failed(c, exc, arguments, attempt, time.monotonic() - began, changes)
    return Given(await _succeeded(c, arguments, signed(c, result, changes), attempt, time.monotonic() - began, changes))


async def _release(c: Carried, changes: dict[str, Any]) -> None:
    """The call said nothing of its service: a probe that it held is free, also where all of this is cancelled."""
    key = breaker_key(c, changes)
    if not key:
        return
    with suppress(JournalError):
        await asyncio.shield(breakers_of(c.life.journal).released(key, caller_of(c)))


async def _start(c: Carried, attempt: int, changes: dict[str, Any]) -> None:
    known = c.node is not None and c.node.requested == c.requested
    event = ev.StepStarted(
        **c.spec() | ({"requested": {}} if known else {}),
        attempt=attempt,
        epoch=c.life.lease.epoch,
        effective=changes,
    )
    # A begin is on disk before its call where the call must not be repeated, and where an earlier life of the run ended
    # with its process: this call may have ended it. Waiting for every begin costs a quarter of a step more.
    if event.durable or c.life.state.died or (c.node is not None and c.node.deaths):
        await c.life.record(event)
    else:
        c.life.note(event)


async def _call(c: Carried, arguments: Any, attempt: int) -> Any:
    timeout = c.step.traits.timeout
    with steps.entered(c.scope) if c.step.kind == "tool" else nullcontext():
        if timeout is None:
            return await _asked(c, arguments, attempt)
        try:
            async with asyncio.timeout(timeout) as limit:
                return await _asked(c, arguments, attempt)
        except TimeoutError as exc:
            if not limit.expired():
                raise
            left = "" if c.repeatable else "; whether it took effect is not known"
            raise errors.TimeoutError(
                f"{c.step.name} did not come back within {timeout:g} s{left}",
                operation=c.step.name,
                timeout_seconds=timeout,
            ) from exc


async def _asked(c: Carried, arguments: Any, attempt: int) -> Any:
    with contained(f"{c.step.name!r} of agent {c.step.agent!r}"):
        return await _call_of(c, arguments, attempt)


def _call_of(c: Carried, arguments: Any, attempt: int) -> Awaitable[Any]:
    """The call itself; with pieces of the reply on the way where somebody looks at the run."""
    deltas = c.life.conditions.deltas
    if c.step.stream is None or deltas is None or not deltas.wants(c.life.state.id):
        return c.step.call(arguments)
    run_id, node_id = c.life.state.id, c.node_id

    def emit(kind: Literal["text", "reasoning"], text: str) -> None:
        c.life.moved()
        deltas.put(run_id, node_id, attempt, kind, text)

    return c.step.stream(arguments, emit)


async def _succeeded(  # noqa: PLR0917 - one attempt's whole story
    c: Carried, arguments: Any, result: Any, attempt: int, seconds: float, changes: dict[str, Any]
) -> Any:
    usage = c.step.codec.usage(result)
    cost, unpriced = priced(c, changes, usage)
    await c.life.record(
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
        await breakers_of(c.life.journal).succeeded(key, caller_of(c))
    if c.step.after is not None:
        await c.step.after(arguments, result)
        c.life.note(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return result


def _cancelled(c: Carried, attempt: int, began: float) -> None:
    """Stopped from outside. Parking and stopping leave the attempt open: the next life finds it in doubt."""
    if c.life.ending not in ("", "abort"):
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
    c.life.note(
        ev.StepEnded(
            node_id=c.node_id,
            parent_id=c.parent_id,
            attempt=attempt,
            fault=fault,
            effect_unknown=unknown,
            seconds=round(time.monotonic() - began, 4),
        )
    )
