"""What an answer does to the step that waited for it, now or in a later life."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from orbiter.steps import Aborted, Skipped
from orbiter.types import ToolResult
from runtime.record import events as ev
from runtime.record.state import Incident
from runtime.work import gate
from runtime.work.carried import Carried, Given


def unused_answer(c: Carried) -> ev.IncidentAnswered | None:
    """An answer that came while nobody carried this step: no attempt has begun since."""
    node = c.node
    if node is None or not node.incidents or node.round:
        return None
    return c.life.state.incidents[node.incidents[-1]].answer


async def take(c: Carried, answer: ev.IncidentAnswered, changes: dict[str, Any]) -> Given | None:
    """Do what the answer says. None: go on with the attempts."""
    take_up(c, answer, changes)
    if answer.option in ("result", "input"):
        result = c.step.codec.by_hand(c.step.arguments, answer.params.get("value", ""))
    elif answer.option == "deny":
        said = str(answer.params.get("message") or answer.reason or "The operator denied this.")
        result = c.step.codec.absorb(c.step.arguments, gate.PermissionDenied(f"Denied by the operator: {said}"))
    elif answer.option in ("skip", "abort"):
        await _by_person(c, answer, answer.params.get("value", ""), skipped=answer.option == "skip")
        raise_if_final(c, answer)
        result = c.step.codec.by_hand(c.step.arguments, answer.params.get("value") or "Skipped by the operator.")
    else:
        return None
    await _by_person(c, answer, c.step.codec.dump(result), skipped=False)
    return Given(result)


def take_up(c: Carried, answer: ev.IncidentAnswered, changes: dict[str, Any]) -> None:
    """Take up what an answer changes for the attempts to come; end the run where that is the answer."""
    if answer.option == "abort" and answer.reach == "run":
        c.life.end("abort")
        raise asyncio.CancelledError
    if answer.option == "edit":
        changes["arguments"] = answer.params.get("arguments", {})
    elif answer.option == "switch_model":
        changes["model"] = answer.params.get("model", "")


def raise_if_final(c: Carried, answer: ev.IncidentAnswered) -> None:
    """Skipping a model's call, and whatever reaches further than this step, ends the agent and not the step."""
    if answer.option == "abort":
        who = answer.by.name or "an operator"
        raise Aborted(f"{who} ended this branch{': ' + answer.reason if answer.reason else ''}")
    if answer.option == "skip" and (c.step.kind == "llm" or answer.reach == "agent"):
        raise Skipped(answer.params.get("value", ""))


async def _by_person(c: Carried, answer: ev.IncidentAnswered, result: Any, *, skipped: bool) -> None:
    node = c.node
    if node is None or node.recorded:
        return
    fault = node.fault if answer.option == "abort" else None
    await c.life.record(
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


def last_answer(c: Carried) -> ev.IncidentAnswered | None:
    node = c.node
    for incident_id in reversed(node.incidents) if node is not None else ():
        incident: Incident = c.life.state.incidents[incident_id]
        if incident.answer is not None:
            return incident.answer
    return None


def changes_so_far(c: Carried) -> dict[str, Any]:
    """What earlier answers made of this step's arguments and of its agent's model."""
    changes: dict[str, Any] = {}
    for node_id, wanted in c.life.state.changes.items():
        # What a rewind changed at this step, or at an agent above it (its model).
        if node_id == c.node_id:
            changes.update(wanted)
        elif c.step.kind == "llm" and c.node_id.startswith(f"{node_id}/") and "model" in wanted:
            changes["model"] = wanted["model"]
    if c.step.kind == "llm":
        for incident in c.life.state.incidents.values():
            answer = incident.answer
            if answer is None or answer.option != "switch_model" or answer.reach == "attempt":
                continue
            if answer.reach == "run" or incident.opened.node_id.rpartition("/")[0] == c.parent_id:
                changes["model"] = answer.params.get("model", "")
    for incident_id in c.node.incidents if c.node is not None else ():
        answer = c.life.state.incidents[incident_id].answer
        if answer is not None and answer.option in ("edit", "switch_model"):
            take_up(c, answer, changes)
    return changes


def signed(c: Carried, result: Any, changes: Mapping[str, Any]) -> Any:
    """The transcript keeps the model's call; the result says who changed what (rule 10)."""
    if "arguments" not in changes or not isinstance(result, ToolResult):
        return result
    answer = last_answer(c)
    who = (answer.by.name if answer is not None else "") or "the operator"
    note = f"[{who} changed the arguments of this call to {changes['arguments']!r}]"
    key = "error" if result.error is not None else "content"
    return result.model_copy(update={key: f"{getattr(result, key)}\n{note}"})
