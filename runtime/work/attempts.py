"""One attempt of a step: the gates before it, the call, and what is done when it fails."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

from orbiter import errors, steps
from orbiter.ask import NeedsInput
from orbiter.errors import OrbiterError
from orbiter.steps import Aborted, Skipped
from runtime.judgement.retry import Decision, RetryPolicy, decide
from runtime.record import events as ev
from runtime.record.taxonomy import Cause, Classification, Effect, Persistence, Remedy
from runtime.work import gate
from runtime.work.answers import signed
from runtime.work.breakpoints import breakpoint_fault, stops_at, was_stopped
from runtime.work.carried import Carried, Given
from runtime.work.incidents import Trouble
from runtime.work.troubles import ORIGINS, classified, config_fault, permission_fault, trouble

Gate = Callable[[Carried, dict[str, Any]], Awaitable[Given | Trouble | None]]
"""Asked before every attempt: None lets it pass; what is in the way is put before a person, or is the step's result.
A gate may also wait."""


async def permitted(c: Carried, changes: dict[str, Any]) -> Given | Trouble | None:
    """The permission gate (`runtime.work.gate`). What configuration denies goes back to the model, unasked."""
    try:
        stopped = await gate.stopped_by(c, changes)
    except OrbiterError as exc:
        return trouble(c, config_fault(exc), exc, changes)
    if stopped is None:
        return None
    if stopped.denied:
        return await gate.refused(c, stopped.need)
    error = gate.PermissionNeeded(stopped.need, c.step.agent)
    return trouble(c, permission_fault(error), error, changes, need=str(stopped.need))


async def not_frozen(c: Carried, changes: dict[str, Any]) -> Trouble | None:
    """While the run is frozen no step begins."""
    await c.life.thawed(c.element)
    return None


async def no_breakpoint(c: Carried, changes: dict[str, Any]) -> Trouble | None:
    """Stop once before a tool that a breakpoint names."""
    if c.step.kind != "tool" or not stops_at(c.life, "tool", c.step.name) or was_stopped(c.life, c.node_id):
        return None
    return trouble(c, breakpoint_fault("tool", c.step.name), None, changes)


GATES: tuple[Gate, ...] = (not_frozen, no_breakpoint, permitted)
"""In DESIGN's order: freeze, permission, budget, breaker."""


async def attempt_once(c: Carried, changes: dict[str, Any]) -> Given | Trouble | None:
    """One attempt: a result, trouble that is left over, or None where another is due (its wait is over)."""
    try:
        arguments = c.step.codec.replace(c.step.arguments, changes) if changes else c.step.arguments
    except Exception as exc:
        return trouble(c, config_fault(exc), exc, changes)
    for ask in GATES:
        stopped = await ask(c, changes)
        if stopped is not None:
            return stopped
    attempt = (c.node.attempts if c.node is not None else 0) + 1
    checked = gate.as_used(c, changes)
    if checked is not None:
        arguments = c.step.codec.replace(arguments, {"arguments": checked})
    await _start(c, attempt, changes if checked is None else {**changes, "arguments": checked})
    began = time.monotonic()
    try:
        result = await _call(c, arguments, attempt)
    except asyncio.CancelledError:
        _cancelled(c, attempt, began)
        raise
    except (Aborted, Skipped):
        raise
    except Exception as exc:
        return await _failed(c, exc, arguments, attempt, time.monotonic() - began, changes)
    return Given(await _succeeded(c, arguments, signed(c, result, changes), attempt, time.monotonic() - began))


async def _start(c: Carried, attempt: int, changes: dict[str, Any]) -> None:
    known = c.node is not None and c.node.requested == c.requested
    event = ev.StepStarted(
        **c.spec() | ({"requested": {}} if known else {}),
        attempt=attempt,
        epoch=c.life.lease.epoch,
        effective=changes,
    )
    if event.durable:
        await c.life.record(event)
    else:
        c.life.note(event)


async def _call(c: Carried, arguments: Any, attempt: int) -> Any:
    timeout = c.step.traits.timeout
    c.element.holds = not c.repeatable
    try:
        with steps.entered(c.scope) if c.step.kind == "tool" else nullcontext():
            async with asyncio.timeout(timeout) as limit:
                deltas = c.life.conditions.deltas
                if c.step.stream is not None and deltas is not None and deltas.wants(c.life.state.id):
                    run_id, node_id = c.life.state.id, c.node_id
                    return await c.step.stream(
                        arguments, lambda kind, text: deltas.put(run_id, node_id, attempt, kind, text)
                    )
                return await c.step.call(arguments)
    except TimeoutError as exc:
        if not limit.expired():
            raise
        left = "" if c.repeatable else "; whether it took effect is not known"
        raise errors.TimeoutError(
            f"{c.step.name} did not come back within {timeout:g} s{left}",
            operation=c.step.name,
            timeout_seconds=timeout,
        ) from exc
    finally:
        c.element.holds = False


async def _succeeded(c: Carried, arguments: Any, result: Any, attempt: int, seconds: float) -> Any:
    usage = c.step.codec.usage(result)
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
        )
    )
    if c.step.after is not None:
        await c.step.after(arguments, result)
        c.life.note(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return result


async def _failed(  # noqa: PLR0917 - one attempt's whole story
    c: Carried, exc: Exception, arguments: Any, attempt: int, seconds: float, changes: dict[str, Any]
) -> Given | Trouble | None:
    fault = classified(c, exc)
    ended = ev.StepEnded(
        node_id=c.node_id,
        parent_id=c.parent_id,
        attempt=attempt,
        fault=fault,
        effect_unknown=isinstance(exc, TimeoutError) and not c.repeatable,
        seconds=round(seconds, 4),
    )
    if isinstance(exc, NeedsInput):
        return trouble(c, fault, exc, changes, ended=ended)
    if c.step.kind == "value":
        await c.life.record(ended)
        raise exc
    decision = _decide(c, fault)
    if decision.remedy in (Remedy.RETRY, Remedy.WAIT_RETRY) and decision.delay_s is not None:
        await _wait_for_next(c, ended, decision)
        return None
    absorbed = None if c.step.traits.failure == "fail" else c.step.codec.absorb(arguments, exc)
    if absorbed is None:
        return trouble(c, fault, exc, changes, wait_s=_too_long(decision, fault), ended=ended)
    await c.life.record(
        ended.model_copy(
            update={"absorbed": True, "result": c.step.codec.dump(absorbed), "settled": c.step.after is None}
        )
    )
    if c.step.after is not None:
        await c.step.after(arguments, absorbed)
        c.life.note(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return Given(absorbed)


def _decide(c: Carried, fault: Classification) -> Decision:
    policy = c.life.conditions.policy_for(fault)
    if c.step.traits.retry_policy is not None:
        policy = RetryPolicy.from_mapping(c.step.traits.retry_policy())
    rounds = c.node.round if c.node is not None else 1
    return decide(fault, attempt=rounds, policy=policy, rng=random.Random())


async def _wait_for_next(c: Carried, ended: ev.StepEnded, decision: Decision) -> None:
    delay = decision.delay_s or 0.0
    await c.life.record(
        ended,
        ev.RetryScheduled(
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


def _cancelled(c: Carried, attempt: int, began: float) -> None:
    """Stopped from outside. Parking and stopping leave the attempt open: the next life finds it in doubt."""
    if c.life.ending not in ("", "abort"):
        return
    unknown = not c.repeatable
    fault = Classification(
        origin=ORIGINS[c.step.kind],
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
