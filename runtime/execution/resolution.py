"""Applies an answer to the step that waited for it, in this life or a later one."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from orbiter.ask import InputDeclined
from orbiter.schema import find_misfit
from orbiter.steps import Aborted, Skipped
from orbiter.types import ToolResult
from runtime.execution.failures.incident_drafts import draft_unfit_result
from runtime.execution.gates import permission
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.gates.budget import end_run_by_budget, ending_at_budget, release_other_waits
from runtime.execution.incidents import IncidentDraft
from runtime.execution.secret_vault import VAULT
from runtime.execution.step_context import Completed, StepContext
from runtime.judgement.recovery.secret_box import is_sealed
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Incident


def unused_answer(c: StepContext) -> ev.IncidentAnswered | None:
    """An answer that came while nobody carried this step: no attempt has begun since."""
    node = c.node
    if node is None or not node.incidents or node.round:
        return None
    return c.session.state.incidents[node.incidents[-1]].answer


async def apply_answer(
    c: StepContext, answer: ev.IncidentAnswered, changes: dict[str, Any]
) -> Completed | IncidentDraft | None:
    """Do what the answer says. None: go on with the attempts. Trouble: it cannot be done, and has to be asked again."""
    apply_changes(c, answer, changes)
    if answer.option == "extend":
        await release_other_waits(c, answer)
    elif answer.option == "reset" and (
        key := c.session.state.incidents[answer.incident_id].opened.action.get("breaker")
    ):
        await breakers_of(c.session.journal).reset(str(key), answer.by)
    codec, arguments = c.step.codec, c.step.arguments
    if answer.option == "wait_retry":
        await _wait_before_retry(c, answer)
        return None
    if answer.option in ("result", "input"):
        value = answer.params.get("value", "")
        if is_sealed(value):
            return await _deliver_secret(c, answer, value)
        if answer.option == "result" and (wrong := find_misfit(c.step.traits.result_type, value)):
            return draft_unfit_result(c, answer, wrong)
        result = codec.by_hand(arguments, value)
    elif answer.option == "deny":
        said = str(answer.params.get("message") or answer.reason or "The operator denied this.")
        result = codec.absorb(arguments, permission.PermissionDenied(f"Denied by the operator: {said}"))
        if result is None:
            raise Aborted(f"Denied by the operator: {said}")
    elif answer.option in ("skip", "acknowledge", "abort"):
        return await _end_step_or_branch(c, answer)
    else:
        return None
    await _record_operator_result(c, answer, codec.dump(result))
    return Completed(result)


async def _end_step_or_branch(c: StepContext, answer: ev.IncidentAnswered) -> Completed:
    """The step is left out, or its branch ends; what stands in its place is recorded as a result of its kind."""
    skipped = answer.option != "abort"
    if ends_agent(c, answer):
        await _record_operator_result(c, answer, answer.params.get("value", ""), skipped=skipped)
        raise_if_agent_ends(c, answer)
    if c.step.kind == "value" and "value" not in answer.params:
        await _record_operator_result(c, answer, None, skipped=skipped)
        skip_question(c)
    result = c.step.codec.by_hand(c.step.arguments, answer.params.get("value", "Skipped by the operator."))
    await _record_operator_result(c, answer, c.step.codec.dump(result), skipped=skipped)
    return Completed(result)


def skip_question(c: StepContext) -> None:
    """A question is left unanswered: whoever asked is told so, and gets no text that it might take for an answer."""
    if c.step.kind == "value":
        raise InputDeclined(str(c.requested.get("question", "")))


async def _deliver_secret(c: StepContext, answer: ev.IncidentAnswered, sealed: Mapping[str, Any]) -> Completed | None:
    """A secret is handed on and kept nowhere. One that was given to a process that is gone is asked for again."""
    found = VAULT.open(sealed)
    if found is None:
        return None
    result = c.step.codec.by_hand(c.step.arguments, json.loads(found))
    node = c.node
    if node is not None and not node.secret:
        await c.session.record(
            ev.StepEnded(
                node_id=c.node_id,
                parent_id=c.parent_id,
                attempt=node.attempts,
                by=answer.by,
                secret=True,
                settled=False,
            )
        )
    return Completed(result)


async def _wait_before_retry(c: StepContext, answer: ev.IncidentAnswered) -> None:
    """Wait as long as the operator or the server said, else as long as one more retry would; out of memory if long."""
    if answer.by.channel == "rule":
        return  # its deadline was the wait
    scheduled = c.node.retry if c.node is not None else None
    if scheduled is None:
        scheduled = _record_retry_schedule(c, answer)
        await c.session.record(scheduled)
    await c.session.wait_until(scheduled.until, c.activity)


def _record_retry_schedule(c: StepContext, answer: ev.IncidentAnswered) -> ev.RetryScheduled:
    opened = c.session.state.incidents[answer.incident_id].opened
    attempts = c.node.attempts if c.node is not None else 0
    policy = c.session.config.policy_for(opened.fault)
    now = c.session.clock()
    said = min(answer.ts, now)  # said in what is now the future: the clock was set back
    if "seconds" in answer.params:
        until, source = said + timedelta(seconds=float(answer.params["seconds"])), "operator"
    elif opened.fault.retry_after_s is not None:
        until, source = (
            min(opened.ts, now) + timedelta(seconds=opened.fault.retry_after_s),
            opened.fault.hint_source or "server",
        )
    else:
        delay = policy.delay(max(1, attempts), random.Random())
        until, source = said + timedelta(seconds=delay), "backoff"
    return ev.RetryScheduled(
        ts=now,
        node_id=c.node_id,
        parent_id=c.parent_id,
        attempt=attempts + 1,
        max_attempts=attempts + policy.max_attempts,
        delay_s=round(max(0.0, (until - now).total_seconds()), 3),
        until=until,
        source=source,
        reason="an operator lets it wait",
    )


def apply_changes(c: StepContext, answer: ev.IncidentAnswered, changes: dict[str, Any]) -> None:
    """Take up what an answer changes for the attempts to come; end the run where that is the answer."""
    if answer.option == "abort":
        opened = c.session.state.incidents[answer.incident_id].opened
        ends = ending_at_budget(opened)
        if ends is not None and (answer.reach == "run" or answer.by.channel == "rule"):
            c.session.finish(end_run_by_budget(c.session, ends, opened, answer))
            raise asyncio.CancelledError
        if answer.reach == "run":
            c.session.end("abort")
            raise asyncio.CancelledError
    if answer.option == "edit":
        changes["arguments"] = answer.params.get("arguments", {})
    elif answer.option == "switch_model":
        changes["model"] = answer.params.get("model", "")


def ends_agent(c: StepContext, answer: ev.IncidentAnswered) -> bool:
    """Whether the answer ends the agent, or the branch, and not this step alone."""
    if answer.option == "abort":
        return True
    return answer.option in ("skip", "acknowledge") and (c.step.kind == "llm" or answer.reach == "agent")


def ending_reason(answer: ev.IncidentAnswered, opened: ev.IncidentOpened) -> str:
    """Why a branch ended: the person and their reason; where it was no person, what had failed."""
    if answer.by.channel == "rule":
        return f"{opened.message or opened.fault.user_message} ({answer.reason})"
    who = answer.by.name or "an operator"
    return f"{who} ended this branch{': ' + answer.reason if answer.reason else ''}"


def raise_if_agent_ends(c: StepContext, answer: ev.IncidentAnswered) -> None:
    """Skipping a model's call, and whatever reaches further than this step, ends the agent and not the step."""
    if answer.option == "abort":
        raise Aborted(ending_reason(answer, c.session.state.incidents[answer.incident_id].opened))
    if ends_agent(c, answer):
        raise Skipped(answer.params.get("value", ""))


async def _record_operator_result(
    c: StepContext, answer: ev.IncidentAnswered, result: Any, *, skipped: bool = False
) -> None:
    node = c.node
    if node is None or node.recorded:
        return
    c.record_node()
    fault = node.fault if answer.option == "abort" else None
    await c.session.record(
        ev.StepEnded(
            node_id=c.node_id,
            parent_id=c.parent_id,
            attempt=node.attempts,
            result=result,
            fault=fault,
            absorbed=fault is not None,
            by=answer.by,
            skipped=skipped,
        )
    )


def last_answer(c: StepContext) -> ev.IncidentAnswered | None:
    node = c.node
    for incident_id in reversed(node.incidents) if node is not None else ():
        incident: Incident = c.session.state.incidents[incident_id]
        if incident.answer is not None:
            return incident.answer
    return None


def changes_from_answers(c: StepContext) -> dict[str, Any]:
    """What earlier answers made of this step's arguments and of its agent's model."""
    changes: dict[str, Any] = {}
    for node_id, wanted in c.session.state.changes.items():
        # What a rewind changed at this step, or at an agent above it (its model).
        if node_id == c.node_id:
            changes.update(wanted)
        elif c.step.kind == "llm" and c.node_id.startswith(f"{node_id}/"):
            if "model" in wanted:
                changes["model"] = wanted["model"]
            if "messages" in wanted and c.node_id == first_model_step_id(node_id):
                changes["messages"] = wanted["messages"]
    if c.step.kind == "llm":
        for incident in c.session.state.incidents.values():
            answer = incident.answer
            if answer is None or answer.option != "switch_model" or answer.reach == "attempt":
                continue
            if answer.reach == "run" or incident.opened.node_id.rpartition("/")[0] == c.parent_id:
                changes["model"] = answer.params.get("model", "")
    for incident_id in c.node.incidents if c.node is not None else ():
        answer = c.session.state.incidents[incident_id].answer
        if answer is not None and answer.option in ("edit", "switch_model"):
            apply_changes(c, answer, changes)
    return changes


def first_model_step_id(agent_id: str) -> str:
    """The id of the first question that an agent asks its model, from the agent's id."""
    return f"{agent_id}/llm~0"


def sign_changed_result(c: StepContext, result: Any, changes: Mapping[str, Any]) -> Any:
    """The transcript keeps the model's call; the result says who changed what (rule 10)."""
    if "arguments" not in changes or not isinstance(result, ToolResult):
        return result
    answer = last_answer(c)
    who = (answer.by.name if answer is not None else "") or "the operator"
    note = f"[{who} changed the arguments of this call to {changes['arguments']!r}]"
    key = "error" if result.error is not None else "content"
    return result.model_copy(update={key: f"{getattr(result, key)}\n{note}"})
