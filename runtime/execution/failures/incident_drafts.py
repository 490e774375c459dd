"""Drafts of incidents: facts and options of a step that cannot go on by itself."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from orbiter.steps import Step
from runtime.execution.incidents import IncidentDraft
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)


def draft_refused_answer(
    step: Step[Any, Any], opened: ev.IncidentOpened, answer: ev.IncidentAnswered, wrong: str
) -> IncidentDraft:
    """An answer that the step does not take: what was asked before is asked again, with what is wrong."""
    before = opened.fault.author_message or opened.fault.technical or opened.fault.user_message
    return IncidentDraft(
        fault=replace(opened.fault, user_message=before, rule_message=""),
        where=step.kind,
        message=f"the {answer.option} that {answer.by.name or 'an operator'} gave {wrong}; before: {before}",
        action=dict(opened.action),
        need=str(opened.action.get("permission", "")),
        not_offered=step.traits.not_offered,
        in_doubt=opened.in_doubt,
        arguments_schema=opened.arguments_schema,
        result_type=step.traits.result_type,
    )


def draft_ended_process(step: Step[Any, Any], deaths: int, action: dict[str, Any]) -> IncidentDraft:
    """What to ask before a step begins that was under way each time when so many processes ended."""
    message = f"{step.name} ended its process {deaths} times: each time it was the last step that had begun"
    fault = Classification(
        origin=Origin.TOOL if step.kind == "tool" else Origin.MODEL if step.kind == "llm" else Origin.AGENT,
        cause=Cause.INTERNAL,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NONE,
        user_message=message,
        suggestions=("Retry only after correcting what ended the process: it may end the runtime once more.",),
        rule_id="process-ended",
    )
    return IncidentDraft(
        fault=fault,
        where=step.kind,
        message=message,
        action=action,
        not_offered=step.traits.not_offered,
        result_type=step.traits.result_type,
    )


def config_fault(exc: Exception) -> Classification:
    """The fault of a step whose arguments, declaration or configuration cannot be used."""
    return Classification(
        origin=Origin.TOOL,
        cause=Cause.CONFIG_INVALID,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        user_message=str(exc),
        technical=f"{type(exc).__name__}: {exc}",
        rule_id="step-arguments",
    )


def draft_replay_difference(changed: str) -> IncidentDraft:
    """What to ask where a step differs from its record; `changed` says in what."""
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
