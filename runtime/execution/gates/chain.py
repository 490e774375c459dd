"""What is asked before every attempt: freeze, breakpoint, permission, budget, breaker."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from orbiter import errors
from orbiter.errors import OrbiterError
from runtime.execution.failures import fault_policy
from runtime.execution.failures.attempt_failure import absorbed, tell
from runtime.execution.failures.incident_drafts import config_fault, permission_fault, trouble
from runtime.execution.failures.remedies import (
    breaker_key,
    caller_of,
    fallen_back,
    hand_back,
)
from runtime.execution.failures.reroute import past
from runtime.execution.gates import permission
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.gates.breakpoint import breakpoint_fault, stops_at, was_stopped
from runtime.execution.gates.budget import within_budget
from runtime.execution.incidents import Trouble
from runtime.execution.step_context import Carried, Given
from runtime.judgement.permissions.permission import Need, ObjectTooLargeError
from runtime.judgement.recovery.breaker import open_fault
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause

_CALL_CHARS = 300


class Again:
    """The attempt is to be begun anew: something about it has changed."""


Gate = Callable[[Carried, dict[str, Any]], Awaitable[Given | Trouble | Again | None]]
"""Asked before every attempt: None lets it pass; what is in the way is put before a person, or is the step's result.
A gate may also wait."""


async def permitted(c: Carried, changes: dict[str, Any]) -> Given | Trouble | None:
    """The permission gate (`runtime.execution.gates.permission`). What configuration denies goes back to the model, unasked."""
    try:
        stopped = await permission.stopped_by(c, changes)
    except ObjectTooLargeError as exc:
        return await permission.refused(c, Need(exc.verb), f"Denied: {exc}")
    except OrbiterError as exc:
        return trouble(c, config_fault(exc), exc, changes)
    if stopped is None:
        return None
    if stopped.denied:
        return await permission.refused(c, stopped.need)
    # A need without an object says nothing of what is to be done: the call does.
    call = "" if stopped.need.object else f"{c.step.name} {json.dumps(dict(c.tool_arguments(changes)), default=str)}"
    error = permission.PermissionNeeded(stopped.need, c.step.agent, call[:_CALL_CHARS])
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


async def breaker_closed(c: Carried, changes: dict[str, Any]) -> Given | Trouble | Again | None:
    """The circuit breaker of the model or tool. One that is open lets a fallback model go at once; without one the step
    waits until the breaker tries again, and a tool's call is refused to the model.
    """
    key = breaker_key(c, changes)
    if not key:
        return None
    policy, now = c.life.conditions.errors.breaker_policy(), c.life.clock().timestamp()
    breaker, verdict = await breakers_of(c.life.journal).admit(key, policy, now, caller_of(c))
    if verdict.allowed:
        return None
    fault = open_fault(breaker, verdict.wait_s)
    if c.step.kind == "llm" and await fallen_back(c, fault, None, changes):
        return Again()
    error = errors.ExecutionError(fault.user_message, suggestion=f"Wait {verdict.wait_s or _PROBED_S:.0f} s")
    if c.step.kind == "tool" and (told := absorbed(c, c.step.arguments, error)) is not None:
        c.make_known()
        attempt = c.node.attempts if c.node is not None else 0
        ended = ev.StepEnded(node_id=c.node_id, parent_id=c.parent_id, attempt=attempt, fault=fault)
        return await tell(c, ended, c.step.arguments, told)
    c.make_known()
    if c.step.kind == "llm" and (returned := past(c.life.state, c.node_id, fault)) is not None:
        await hand_back(c, returned, None)
    fault_policy.log_left_over(fault)
    waited = sum(
        c.life.state.incidents[each].opened.fault.cause is Cause.CIRCUIT_OPEN
        for each in (c.node.incidents if c.node is not None else ())
    )
    # Waiting again and again for a service that does not come back is nothing to do unasked.
    wait_s = None if waited >= fault_policy.policy_of(c, fault).max_attempts else verdict.wait_s or _PROBED_S
    made = trouble(c, fault, error, changes, wait_s=wait_s)
    return replace(made, action={**(made.action or {}), "breaker": key})


_PROBED_S = 5.0
"""How long to wait where another step probes."""

GATES: tuple[Gate, ...] = (not_frozen, no_breakpoint, permitted, within_budget, breaker_closed)
"""In DESIGN's order: freeze, permission, budget, breaker."""
