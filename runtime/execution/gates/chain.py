"""The chain of gates before every attempt: freeze, breakpoint, permission, budget, breaker."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from orbiter import errors
from orbiter.errors import OrbiterError
from runtime.execution.failures import fault_policy
from runtime.execution.failures.attempt_failure import error_result, return_error_to_model
from runtime.execution.failures.incident_drafts import config_fault, draft_incident, permission_fault
from runtime.execution.failures.remedies import (
    breaker_caller,
    breaker_key,
    hand_back_to_swarm,
    use_fallback_model,
)
from runtime.execution.failures.reroute import reroute_past_agent
from runtime.execution.gates import permission
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.gates.breakpoint import breakpoint_fault, has_breakpoint, was_released
from runtime.execution.gates.budget import check_budget
from runtime.execution.incidents import IncidentDraft
from runtime.execution.step_context import Completed, StepContext
from runtime.judgement.permissions.permission import Need, ObjectTooLargeError
from runtime.judgement.recovery.breaker import breaker_open_fault
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause

_CALL_CHARS = 300


class RetryAttempt:
    """The attempt is to be begun anew: something about it has changed."""


Gate = Callable[[StepContext, dict[str, Any]], Awaitable[Completed | IncidentDraft | RetryAttempt | None]]
"""Asked before every attempt: None lets it pass; what is in the way is put before a person, or is the step's result.
A gate may also wait."""


async def permission_gate(c: StepContext, changes: dict[str, Any]) -> Completed | IncidentDraft | None:
    """The permission gate (`runtime.execution.gates.permission`).

    What configuration denies goes back to the model, unasked.
    """
    try:
        stopped = await permission.missing_permission(c, changes)
    except ObjectTooLargeError as exc:
        return await permission.refuse_call(c, Need(exc.verb), f"Denied: {exc}")
    except OrbiterError as exc:
        return draft_incident(c, config_fault(exc), exc, changes)
    if stopped is None:
        return None
    if stopped.denied:
        return await permission.refuse_call(c, stopped.need)
    # A need without an object says nothing of what is to be done: the call does.
    call = "" if stopped.need.object else f"{c.step.name} {json.dumps(dict(c.tool_arguments(changes)), default=str)}"
    error = permission.PermissionNeeded(stopped.need, c.step.agent, call[:_CALL_CHARS])
    return draft_incident(c, permission_fault(error), error, changes, need=str(stopped.need))


async def freeze_gate(c: StepContext, changes: dict[str, Any]) -> IncidentDraft | None:
    """While the run is frozen no step begins."""
    await c.session.wait_until_thawed(c.activity)
    return None


async def breakpoint_gate(c: StepContext, changes: dict[str, Any]) -> IncidentDraft | None:
    """Stop once before a tool that a breakpoint names."""
    if (
        c.step.kind != "tool"
        or not has_breakpoint(c.session, "tool", c.step.name)
        or was_released(c.session, c.node_id)
    ):
        return None
    return draft_incident(c, breakpoint_fault("tool", c.step.name), None, changes)


async def breaker_gate(c: StepContext, changes: dict[str, Any]) -> Completed | IncidentDraft | RetryAttempt | None:
    """The circuit breaker of the model or tool. One that is open lets a fallback model go at once; without one the step
    waits until the breaker tries again, and a tool's call is refused to the model.
    """
    key = breaker_key(c, changes)
    if not key:
        return None
    policy, now = c.session.config.errors.breaker_policy(), c.session.clock().timestamp()
    breaker, verdict = await breakers_of(c.session.journal).admit(key, policy, now, breaker_caller(c))
    if verdict.allowed:
        return None
    fault = breaker_open_fault(breaker, verdict.wait_s)
    if c.step.kind == "llm" and await use_fallback_model(c, fault, None, changes):
        return RetryAttempt()
    error = errors.ExecutionError(fault.user_message, suggestion=f"Wait {verdict.wait_s or _PROBE_RETRY_S:.0f} s")
    if c.step.kind == "tool" and (told := error_result(c, c.step.arguments, error)) is not None:
        c.record_node()
        attempt = c.node.attempts if c.node is not None else 0
        ended = ev.StepEnded(node_id=c.node_id, parent_id=c.parent_id, attempt=attempt, fault=fault)
        return await return_error_to_model(c, ended, c.step.arguments, told)
    c.record_node()
    if c.step.kind == "llm" and (returned := reroute_past_agent(c.session.state, c.node_id, fault)) is not None:
        await hand_back_to_swarm(c, returned, None)
    fault_policy.log_unresolved(fault)
    waited = sum(
        c.session.state.incidents[each].opened.fault.cause is Cause.CIRCUIT_OPEN
        for each in (c.node.incidents if c.node is not None else ())
    )
    # Waiting again and again for a service that does not come back is nothing to do unasked.
    wait_s = None if waited >= fault_policy.retry_policy_of(c, fault).max_attempts else verdict.wait_s or _PROBE_RETRY_S
    made = draft_incident(c, fault, error, changes, wait_s=wait_s)
    return replace(made, action={**(made.action or {}), "breaker": key})


_PROBE_RETRY_S = 5.0
"""How long to wait where another step probes."""

GATES: tuple[Gate, ...] = (freeze_gate, breakpoint_gate, permission_gate, check_budget, breaker_gate)
"""In DESIGN's order: freeze, permission, budget, breaker."""
