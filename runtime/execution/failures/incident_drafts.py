"""Drafts of incidents: facts and options of a step that cannot go on by itself."""

from __future__ import annotations

from typing import Any

from runtime.execution.gates import permission
from runtime.execution.incidents import IncidentDraft
from runtime.execution.step_context import StepContext
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)


def draft_incident(
    c: StepContext,
    fault: Classification,
    exc: Exception | None,
    changes: dict[str, Any],
    *,
    need: str = "",
    wait_s: float | None = None,
    ended: ev.StepEnded | None = None,
) -> IncidentDraft:
    if fault.impact is Impact.ABSORBED:
        # What a person is asked about was not absorbed, whatever is usual for its kind.
        fault = fault.model_copy(update={"impact": Impact.NODE})
    action = c.action_text(changes)
    if need:
        action["permission"] = need
    return IncidentDraft(
        fault=fault,
        where=c.step.kind,
        message=(str(exc) or type(exc).__name__) if exc is not None else fault.user_message,
        error=exc,
        action=action,
        need=need,
        arguments_schema=c.step.traits.schema if c.step.kind == "tool" else None,
        result_type=c.step.traits.result_type,
        wait_s=wait_s,
        ended=ended,
    )


def draft_unfit_result(c: StepContext, answer: ev.IncidentAnswered, wrong: str) -> IncidentDraft:
    """A result given by hand is none of the step's: what was asked before is asked again, with what is wrong."""
    opened = c.session.state.incidents[answer.incident_id].opened
    before = opened.fault.technical or opened.fault.user_message
    return IncidentDraft(
        fault=opened.fault,
        where=c.step.kind,
        message=f"the result that {answer.by.name or 'somebody'} gave does not fit: {wrong}; before: {before}",
        action=dict(opened.action),
        need=str(opened.action.get("permission", "")),
        in_doubt=opened.in_doubt,
        arguments_schema=opened.arguments_schema,
        result_type=c.step.traits.result_type,
    )


def config_fault(exc: Exception) -> Classification:
    return Classification(
        origin=Origin.TOOL,
        cause=Cause.CONFIG_INVALID,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        user_message=str(exc),
        technical=f"{type(exc).__name__}: {exc}",
        rule_id="step-arguments",
    )


def permission_fault(error: permission.PermissionNeeded) -> Classification:
    return Classification(
        origin=Origin.TOOL,
        cause=Cause.PERMISSION_DENIED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        user_message=str(error),
        suggestions=("Grant it for this call only unless the agent will need it again.",),
        rule_id="permission-needed",
    )


def replay_difference_fault(changed: str) -> IncidentDraft:
    message = f"this step is not the one that is recorded here ({changed})"
    fault = Classification(
        origin=Origin.RUNNER,
        cause=Cause.INTERNAL,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        impact=Impact.RUN,
        user_message=message,
        suggestions=("Put back the code that this run began with, restart the runtime, then retry; or abort.",),
        rule_id="recall-difference",
    )
    return IncidentDraft(fault=fault, where="run", message=message, action={"difference": changed})
