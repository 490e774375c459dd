"""Carrying one step out: PRE hooks, attempts behind the gate, POST hooks, record; parking what is left over.

The layers are called in DESIGN's order (section 2) and know nothing of one another: `recall` compares, `gate`
permits, `judgement.classify` and `judgement.retry` judge, `incidents` parks. Everything that is counted (attempts,
rounds) is read from the fold, so that a step goes on in a later life where an earlier one stopped.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from orbiter import steps
from orbiter.ask import NeedsInput
from orbiter.steps import Aborted, Skipped, Step
from orbiter.types import ToolResult
from runtime.judgement.classify import classify
from runtime.judgement.retry import Decision, RetryPolicy, decide
from runtime.record import events as ev
from runtime.record.state import Incident, Node
from runtime.record.taxonomy import Cause, Classification, Effect, Impact, Origin, Persistence, Remedy
from runtime.work import gate, incidents
from runtime.work.incidents import Trouble
from runtime.work.life import Element, Life
from runtime.work.recall import difference

_ORIGINS = {"llm": Origin.MODEL, "tool": Origin.TOOL, "value": Origin.AGENT}


@dataclass(slots=True)
class Carried:
    """A step on its way. `scope` is where nodes that the call opens go; `requested` is the request as JSON."""

    life: Life
    step: Step[Any, Any]
    node_id: str
    parent_id: str
    element: Element
    scope: steps.Scope
    requested: dict[str, Any]

    @property
    def node(self) -> Node | None:
        return self.life.state.nodes.get(self.node_id)


async def carry(c: Carried) -> Any:
    """The step's result: recalled, or carried out now. Waits for as long as a person is needed.

    Raises:
        Skipped: an operator let the agent be skipped.
        Aborted: an operator ended this branch.
        Exception: a value step's own error, which is its node's to deal with.
    """
    while c.node is not None and (c.node.recorded or c.node.hooks_due):
        changed = difference(c.node, c.step, c.requested)
        if not changed:
            return await _recalled(c, c.node)
        _apply(c, await incidents.park(c.life, c.element, c.node_id, _differs(changed)), {})
    changes = _changes_so_far(c)
    if (answer := _unused_answer(c)) is not None and (given := await _answered(c, answer, changes)) is not None:
        return given.result
    await _before(c)
    await _rest_of_wait(c)
    return await _attempts(c, changes)


async def _recalled(c: Carried, node: Node) -> Any:
    if node.edits:
        c.step.codec.replace(c.step.arguments, node.edits)
    if (answer := _last_answer(c)) is not None and node.by is not None:
        _raise_if_final(c, answer)
    result = c.step.codec.load(node.result)
    if node.hooks_due:
        if c.step.after is not None:
            await c.step.after(c.step.arguments, result)
        await c.life.record(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return result


async def _before(c: Carried) -> None:
    """PRE hooks; what they change in place is recorded, so that a later life works on the same."""
    node = c.node
    if node is not None and node.edits:
        c.step.codec.replace(c.step.arguments, node.edits)
        return
    if c.step.before is None:
        return
    untouched = c.step.codec.editable(c.step.arguments)
    await c.step.before(c.step.arguments)
    edited = c.step.codec.editable(c.step.arguments)
    if edited is not None and edited != untouched:
        _request(c)
        c.life.note(ev.StepEdited(node_id=c.node_id, parent_id=c.parent_id, changes=edited))


def _request(c: Carried) -> None:
    """Make the step known before its first attempt, because something is about to be recorded of it."""
    if c.node is None:
        c.life.note(ev.StepRequested(**_spec(c)))


def _spec(c: Carried) -> dict[str, Any]:
    return {
        "node_id": c.node_id,
        "parent_id": c.parent_id,
        "kind": c.step.kind,
        "name": c.step.name,
        "agent": c.step.agent,
        "requested": c.requested,
        "idempotent": c.step.traits.idempotent,
        "permissions": c.step.traits.permissions,
    }


async def _rest_of_wait(c: Carried) -> None:
    """A retry that an earlier life scheduled is still due when it was due."""
    retry = c.node.retry if c.node is not None else None
    if retry is not None and (left := (retry.until - c.life.clock()).total_seconds()) > 0:
        await asyncio.sleep(left)


async def _attempts(c: Carried, changes: dict[str, Any]) -> Any:
    """Try until there is a result: an incident between two rounds of attempts, an answer between two incidents."""
    trouble = _doubt(c)
    while True:
        outcome = trouble or await _one_attempt(c, changes)
        trouble = None
        if isinstance(outcome, _Given):
            return outcome.result
        if outcome is None:
            continue
        _request(c)
        answer = await incidents.park(c.life, c.element, c.node_id, outcome)
        if (given := await _answered(c, answer, changes)) is not None:
            return given.result


@dataclass(slots=True, frozen=True)
class _Given:
    """The step's result, from an attempt or from a person."""

    result: Any


async def _one_attempt(c: Carried, changes: dict[str, Any]) -> _Given | Trouble | None:
    """One attempt: a result, trouble that is left over, or None where another is due (its wait is over)."""
    try:
        arguments = c.step.codec.replace(c.step.arguments, changes) if changes else c.step.arguments
        need = await gate.missing(c.life, c.step, c.node_id, _tool_arguments(c, changes))
    except Exception as exc:
        return _trouble(c, _config_fault(exc), exc, changes)
    if need is not None:
        error = gate.PermissionNeeded(need, c.step.agent)
        return _trouble(c, _permission_fault(error), error, changes, need=str(need))
    attempt = (c.node.attempts if c.node is not None else 0) + 1
    await _start(c, attempt, changes)
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
    return _Given(await _succeeded(c, arguments, _signed(c, result, changes), attempt, time.monotonic() - began))


async def _start(c: Carried, attempt: int, changes: dict[str, Any]) -> None:
    known = c.node is not None and c.node.requested == c.requested
    event = ev.StepStarted(
        **_spec(c) | ({"requested": {}} if known else {}),
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
    c.element.holds = c.step.kind == "tool" and not c.step.traits.idempotent
    try:
        with steps.entered(c.scope) if c.step.kind == "tool" else nullcontext():
            async with asyncio.timeout(timeout):
                deltas = c.life.conditions.deltas
                if c.step.stream is not None and deltas is not None and deltas.wants(c.life.state.id):
                    run_id, node_id = c.life.state.id, c.node_id
                    return await c.step.stream(
                        arguments, lambda kind, text: deltas.put(run_id, node_id, attempt, kind, text)
                    )
                return await c.step.call(arguments)
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
) -> _Given | Trouble | None:
    fault = _classified(c, exc)
    ended = ev.StepEnded(
        node_id=c.node_id, parent_id=c.parent_id, attempt=attempt, fault=fault, seconds=round(seconds, 4)
    )
    if isinstance(exc, NeedsInput):
        return _trouble(c, fault, exc, changes, ended=ended)
    if c.step.kind == "value":
        await c.life.record(ended)
        raise exc
    decision = _decide(c, fault)
    if decision.remedy in (Remedy.RETRY, Remedy.WAIT_RETRY) and decision.delay_s is not None:
        await _wait_for_next(c, ended, decision)
        return None
    absorbed = None if c.step.traits.failure == "fail" else c.step.codec.absorb(arguments, exc)
    if absorbed is None:
        return _trouble(c, fault, exc, changes, wait_s=_too_long(decision, fault), ended=ended)
    await c.life.record(
        ended.model_copy(
            update={"absorbed": True, "result": c.step.codec.dump(absorbed), "settled": c.step.after is None}
        )
    )
    if c.step.after is not None:
        await c.step.after(arguments, absorbed)
        c.life.note(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return _Given(absorbed)


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
    unknown = c.step.kind == "tool" and not c.step.traits.idempotent
    fault = Classification(
        origin=_ORIGINS[c.step.kind],
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


def _doubt(c: Carried) -> Trouble | None:
    """What to ask before the first attempt of this life: an incident that is open, or an effect nobody knows."""
    node = c.node
    if node is None:
        return None
    if node.incidents and c.life.state.incidents[node.incidents[-1]].open:
        return Trouble(fault=c.life.state.incidents[node.incidents[-1]].opened.fault, where=c.step.kind, message="")
    safe = c.step.kind != "tool" or c.step.traits.idempotent
    if safe or not node.attempts or node.round == 0:
        return None
    died = node.in_flight is not None and node.in_flight != c.life.lease.epoch
    unknown = node.in_flight is None and node.fault is not None and node.retry is None and not node.fault.repeatable
    if not (died or unknown):
        return None
    message = f"{c.step.name} had begun when its process ended: nobody knows whether it took effect"
    fault = Classification(
        origin=Origin.TOOL,
        cause=Cause.CANCELLED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.UNKNOWN,
        user_message=message,
        rule_id="in-doubt",
    )
    return Trouble(fault=fault, where="tool", message=message, action=_action(c, {}), in_doubt=True)


# -- answers -----------------------------------------------------------------------------------------------------


def _unused_answer(c: Carried) -> ev.IncidentAnswered | None:
    """An answer that came while nobody carried this step: no attempt has begun since."""
    node = c.node
    if node is None or not node.incidents or node.round:
        return None
    return c.life.state.incidents[node.incidents[-1]].answer


async def _answered(c: Carried, answer: ev.IncidentAnswered, changes: dict[str, Any]) -> _Given | None:
    """Do what the answer says. None: go on with the attempts."""
    _apply(c, answer, changes)
    if answer.option in ("result", "input"):
        result = c.step.codec.by_hand(c.step.arguments, answer.params.get("value", ""))
    elif answer.option == "deny":
        said = str(answer.params.get("message") or answer.reason or "The operator denied this.")
        result = c.step.codec.absorb(c.step.arguments, gate.PermissionDenied(f"Denied by the operator: {said}"))
    elif answer.option in ("skip", "abort"):
        await _by_person(c, answer, answer.params.get("value", ""), skipped=answer.option == "skip")
        _raise_if_final(c, answer)
        result = c.step.codec.by_hand(c.step.arguments, answer.params.get("value") or "Skipped by the operator.")
    else:
        return None
    await _by_person(c, answer, c.step.codec.dump(result), skipped=False)
    return _Given(result)


def _apply(c: Carried, answer: ev.IncidentAnswered, changes: dict[str, Any]) -> None:
    """Take up what an answer changes for the attempts to come; end the run where that is the answer."""
    if answer.option == "abort" and answer.reach == "run":
        c.life.end("abort")
        raise asyncio.CancelledError
    if answer.option == "edit":
        changes["arguments"] = answer.params.get("arguments", {})
    elif answer.option == "switch_model":
        changes["model"] = answer.params.get("model", "")


def _raise_if_final(c: Carried, answer: ev.IncidentAnswered) -> None:
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


def _last_answer(c: Carried) -> ev.IncidentAnswered | None:
    node = c.node
    for incident_id in reversed(node.incidents) if node is not None else ():
        incident: Incident = c.life.state.incidents[incident_id]
        if incident.answer is not None:
            return incident.answer
    return None


def _changes_so_far(c: Carried) -> dict[str, Any]:
    """What earlier answers made of this step's arguments and of its agent's model."""
    changes: dict[str, Any] = {}
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
            _apply(c, answer, changes)
    return changes


# -- judging -----------------------------------------------------------------------------------------------------


def _classified(c: Carried, exc: Exception) -> Classification:
    safe = c.step.kind != "tool" or c.step.traits.idempotent
    provider = c.step.name.partition(":")[0] if c.step.kind == "llm" else ""
    effect = Effect.NONE if safe else Effect.UNKNOWN
    return classify(exc, origin=_ORIGINS[c.step.kind], provider=provider, effect=effect)


def _decide(c: Carried, fault: Classification) -> Decision:
    policy = c.life.conditions.policy
    if c.step.traits.retry_policy is not None:
        policy = RetryPolicy.from_mapping(c.step.traits.retry_policy())
    rounds = c.node.round if c.node is not None else 1
    return decide(fault, attempt=rounds, policy=policy, rng=random.Random())


def _config_fault(exc: Exception) -> Classification:
    return Classification(
        origin=Origin.TOOL,
        cause=Cause.CONFIG_INVALID,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        user_message=str(exc),
        technical=f"{type(exc).__name__}: {exc}",
        rule_id="step-arguments",
    )


def _permission_fault(error: gate.PermissionNeeded) -> Classification:
    return Classification(
        origin=Origin.TOOL,
        cause=Cause.PERMISSION_DENIED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        user_message=str(error),
        suggestions=("Grant it for this call only unless the agent will need it again.",),
        rule_id="permission-needed",
    )


def _differs(changed: str) -> Trouble:
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
    return Trouble(fault=fault, where="run", message=message, action={"difference": changed})


def _trouble(
    c: Carried,
    fault: Classification,
    exc: Exception,
    changes: dict[str, Any],
    *,
    need: str = "",
    wait_s: float | None = None,
    ended: ev.StepEnded | None = None,
) -> Trouble:
    action = _action(c, changes)
    if need:
        action["permission"] = need
    return Trouble(
        fault=fault,
        where=c.step.kind,
        message=str(exc) or type(exc).__name__,
        error=exc,
        action=action,
        need=need,
        wait_s=wait_s,
        ended=ended,
    )


def _tool_arguments(c: Carried, changes: Mapping[str, Any]) -> Mapping[str, Any]:
    found = changes.get("arguments", c.requested.get("arguments", {}))
    return found if isinstance(found, Mapping) else {}


def _action(c: Carried, changes: Mapping[str, Any]) -> dict[str, Any]:
    if c.step.kind == "tool":
        return {"tool": c.step.name, "arguments": dict(_tool_arguments(c, changes))}
    if c.step.kind == "llm":
        return {"model": changes.get("model", c.step.name)}
    return {}


def _signed(c: Carried, result: Any, changes: Mapping[str, Any]) -> Any:
    """The transcript keeps the model's call; the result says who changed what (rule 10)."""
    if "arguments" not in changes or not isinstance(result, ToolResult):
        return result
    answer = _last_answer(c)
    who = (answer.by.name if answer is not None else "") or "the operator"
    note = f"[{who} changed the arguments of this call to {changes['arguments']!r}]"
    key = "error" if result.error is not None else "content"
    return result.model_copy(update={key: f"{getattr(result, key)}\n{note}"})
