"""Applies an answer to the step that waited for it, in this life or a later one."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NoReturn, assert_never

from orbiter.ask import InputDeclined
from orbiter.schema import find_misfit
from orbiter.steps import Aborted, Skipped, StepKind
from orbiter.types import ToolResult
from runtime.execution.failures.errors_in_force import retry_policy_at
from runtime.execution.failures.incident_drafts import draft_refused_answer
from runtime.execution.gates.budget import end_run_by_budget, ending_at_budget, release_other_waits
from runtime.execution.gates.permission import PermissionDenied
from runtime.execution.incidents import IncidentDraft
from runtime.execution.run_session import RunSession
from runtime.execution.secret_vault import VAULT
from runtime.execution.step_execution import StepExecution
from runtime.execution.step_result import NO_RESULT, Completed
from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.recovery.secret_box import is_sealed
from runtime.record.state import events as ev


async def apply_answer(execution: StepExecution, answer: ev.IncidentAnswered) -> Completed | IncidentDraft | None:
    """Do what the answer says.

    Returns:
        The step's result, if the answer gives one; None to go on with the attempts; a draft where it cannot be done and
        has to be asked again.

    Raises:
        Skipped: the agent of a model's call is skipped.
        Aborted: this branch ends.
        CancelledError: the run ends.
    """
    session, step = execution.session, execution.step
    opened = session.state.incidents[answer.incident_id].opened
    end_run_if_asked(session, answer, opened)
    if answer.option in step.traits.not_offered:  # an earlier program offered it
        return draft_refused_answer(step, opened, answer, "is not an answer that this takes")
    execution.overrides.apply_answer(answer)
    match effect_of(answer.option):
        case "extend":
            await release_other_waits(session, answer)
        case "reset":
            if key := opened.action.get("breaker"):
                await session.breakers.reset(str(key), answer.by)
        case "wait_retry":
            await _wait_before_retry(execution, answer, opened)
        case "result" | "input":
            return await _take_value(execution, answer, opened)
        case "deny":
            said = str(answer.params.get("message") or answer.reason or "The operator denied this.")
            result = step.codec.absorb(step.arguments, PermissionDenied(f"Denied by the operator: {said}"))
            if result is None:
                raise Aborted(f"Denied by the operator: {said}")
            return await execution.finish(result, by=answer.by)
        case "skip" | "acknowledge" | "abort":
            return await _end_step_or_branch(execution, answer, opened)
        case "retry" | "switch_model" | "edit" | "grant" | "accept" | None:
            pass  # another attempt, with what the overrides have taken in; None: a word of a newer program
        case new:
            assert_never(new)
    return None


def end_run_if_asked(session: RunSession, answer: ev.IncidentAnswered, opened: ev.IncidentOpened) -> None:
    """End the run where that is the answer.

    Raises:
        CancelledError: it is.
    """
    if effect_of(answer.option) != "abort":
        return
    ends = ending_at_budget(opened)
    if ends is not None and (answer.reach == "run" or answer.by.channel == "rule"):
        session.finish(end_run_by_budget(session, ends, opened, answer))
        raise asyncio.CancelledError
    if answer.reach == "run":
        session.end("abort")
        raise asyncio.CancelledError


async def _take_value(
    execution: StepExecution, answer: ev.IncidentAnswered, opened: ev.IncidentOpened
) -> Completed | IncidentDraft | None:
    """A result, or an input, that a person gave. A secret is handed on and written nowhere; one that was given to a
    process that is gone is asked for again.
    """
    step, value = execution.step, answer.params.get("value", "")
    if not is_sealed(value):
        if effect_of(answer.option) == "result" and (wrong := find_misfit(step.traits.result_type, value)):
            return draft_refused_answer(step, opened, answer, f"does not fit: {wrong}")
        return await execution.finish(step.codec.by_hand(step.arguments, value), by=answer.by)
    found = VAULT.open(value)
    if found is None:
        return None
    result = step.codec.by_hand(step.arguments, json.loads(found))
    if execution.node is None or execution.node.secret:
        return Completed(result)  # said already that it was given
    return await execution.finish(result, by=answer.by, secret=True)


async def _end_step_or_branch(
    execution: StepExecution, answer: ev.IncidentAnswered, opened: ev.IncidentOpened
) -> Completed:
    """The step is left out, or its branch ends; what stands in its place is recorded as a result of its kind."""
    step, node = execution.step, execution.node
    skipped = effect_of(answer.option) != "abort"
    if ends_agent(step.kind, answer):
        fault = node.fault if node is not None and not skipped else None
        written = answer.params.get("value", "")
        await execution.finish(
            NO_RESULT, fault=fault, absorbed=fault is not None, by=answer.by, skipped=skipped, written=written
        )
        end_agent(answer, opened)
    if step.kind == "value" and "value" not in answer.params:
        await execution.finish(NO_RESULT, by=answer.by, skipped=skipped)
        decline_question(execution.requested)
    result = step.codec.by_hand(step.arguments, answer.params.get("value", "Skipped by the operator."))
    return await execution.finish(result, by=answer.by, skipped=skipped)


def decline_question(requested: Mapping[str, Any]) -> NoReturn:
    """A question is left unanswered: its tool gets this error, and no text that it might take for an answer."""
    raise InputDeclined(str(requested.get("question", "")))


async def _wait_before_retry(execution: StepExecution, answer: ev.IncidentAnswered, opened: ev.IncidentOpened) -> None:
    """Wait as long as the operator or the server said, else as long as one more retry would; out of memory if long."""
    if answer.by.channel == "rule":
        return  # its deadline was the wait
    session = execution.session
    scheduled = execution.node.retry if execution.node is not None else None
    if scheduled is None:
        policy, now = retry_policy_at(session, execution.parent_id, opened.fault), session.clock()
        backoff = timedelta(seconds=policy.delay(max(1, execution.attempts), random.Random()))
        until, source = retry_time(answer, opened, backoff, now)
        scheduled = ev.RetryScheduled(
            ts=now,
            node_id=execution.node_id,
            parent_id=execution.parent_id,
            attempt=execution.attempts + 1,
            max_attempts=execution.attempts + policy.max_attempts,
            delay_s=round(max(0.0, (until - now).total_seconds()), 3),
            until=until,
            source=source,
            reason="an operator lets it wait",
        )
        await session.record(scheduled)
    await session.wait_until(scheduled.until, execution.activity)


def retry_time(
    answer: ev.IncidentAnswered, opened: ev.IncidentOpened, backoff: timedelta, now: datetime
) -> tuple[datetime, str]:
    """When to try again, and whose word that is. What was said in what is now the future counts as said now: the clock
    was set back.
    """
    said = min(answer.ts, now)
    if "seconds" in answer.params:
        return said + timedelta(seconds=float(answer.params["seconds"])), "operator"
    if opened.fault.retry_after_s is not None:
        hint = timedelta(seconds=opened.fault.retry_after_s)
        return min(opened.ts, now) + hint, opened.fault.hint_source or "server"
    return said + backoff, "backoff"


def ends_agent(kind: StepKind, answer: ev.IncidentAnswered) -> bool:
    """Whether the answer ends the agent, or the branch, and not a step of this kind alone: skipping a model's call, and
    whatever reaches further than the step, does.
    """
    effect = effect_of(answer.option)
    if effect == "abort":
        return True
    return effect in ("skip", "acknowledge") and (kind == "llm" or answer.reach == "agent")


def end_agent(answer: ev.IncidentAnswered, opened: ev.IncidentOpened) -> NoReturn:
    """Raise at the agent what an answer that ends it means (see `ends_agent`)."""
    if effect_of(answer.option) == "abort":
        raise Aborted(ending_reason(answer, opened))
    raise Skipped(answer.params.get("value", ""))


def ending_reason(answer: ev.IncidentAnswered, opened: ev.IncidentOpened) -> str:
    """Why a branch ended: the person and their reason; where it was not a person, what had failed."""
    if answer.by.channel == "rule":
        return f"{opened.said} ({answer.reason})"
    who = answer.by.name or "an operator"
    return f"{who} ended this branch{': ' + answer.reason if answer.reason else ''}"


def sign_changed_result(result: Any, arguments: Any, answer: ev.IncidentAnswered | None) -> Any:
    """The result of a tool's call whose arguments were changed, with a note of who changed them: the transcript keeps
    the model's own call (DESIGN section 2, rule 10).
    """
    if not isinstance(result, ToolResult):
        return result
    who = (answer.by.name if answer is not None else "") or "the operator"
    note = f"[{who} changed the arguments of this call to {arguments!r}]"
    key = "error" if result.error is not None else "content"
    return result.model_copy(update={key: f"{getattr(result, key)}\n{note}"})
