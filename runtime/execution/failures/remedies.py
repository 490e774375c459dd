"""Remedies that need no person: a smaller request, a fallback model, a reroute within the swarm.

They are found here; `attempt_failure` records each before it is tried, so that a later life goes on with it and counts
it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from orbiter.errors import OrbiterError
from orbiter.steps import Step
from orbiter.types import AgentInput, Message
from runtime.execution.failures.errors_in_force import errors_at
from runtime.execution.failures.reroute import (
    reroute_kind,
    reroute_past_agent,
    reroute_to_swarm,
)
from runtime.execution.step_execution import StepExecution
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.recovery.compaction import MAX_ROUNDS, compact_messages
from runtime.judgement.recovery.fallback import choose_fallback, should_fall_back
from runtime.judgement.recovery.retry import RetryDecision
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause, Classification, Remedy

QUEUE_S = 3600.0
"""How long, in seconds, a step waits for a quota of which the provider did not say when it is back."""


@dataclass(slots=True, frozen=True)
class Compaction:
    """A smaller request: what was cut, and the conversation that is left, as JSON."""

    event: ev.StepCompacted
    messages: list[dict[str, Any]]


AnyRemedy = ev.ControlReturned | Compaction | ev.StepFellBack


async def find_remedy(execution: StepExecution, fault: Classification, decision: RetryDecision) -> AnyRemedy | None:
    """What can be done about a failed attempt without a person. Nothing is recorded or changed by looking for it.

    Returns:
        The way back into the swarm, a smaller request, or another model; None: nothing can be done.
    """
    state, step, node_id = execution.state, execution.step, execution.node_id
    wish = reroute_kind(fault)
    if wish is not None and (returned := reroute_to_swarm(state, node_id, fault, wish)) is not None:
        return returned
    if step.kind == "llm":
        if decision.remedy is Remedy.COMPACT_RETRY:
            rounds = execution.node.compactions if execution.node is not None else 0
            if (smaller := _compact_request(step, node_id, execution.parent_id, rounds)) is not None:
                return smaller
        if _may_use_fallback(errors_at(execution.session, execution.parent_id), fault, decision):
            fell_back = await find_fallback(execution, fault)
            if fell_back is not None:
                return fell_back
    if step.kind == "llm" or step.traits.failure == "fail":
        if (returned := reroute_past_agent(state, node_id, fault)) is not None:
            return returned
        if step.kind == "llm" and step.traits.failure == "degrade":
            said = fault.user_message or fault.technical
            return ev.ControlReturned(node_id=node_id, remedy="degrade", scope=execution.parent_id, reason=said)
    return None


def long_wait(errors: FaultHandling, fault: Classification, decision: RetryDecision) -> float | None:
    """How long to park, in seconds: as the server asks, where that is longer than a run should stay in memory; or for a
    quota that is used up, where the configuration says `queue`. None: the step does not go on by itself.
    """
    if decision.remedy is Remedy.WAIT_RETRY and decision.delay_s is None and fault.retry_after_s is not None:
        return fault.retry_after_s
    if fault.cause is not Cause.QUOTA_EXHAUSTED or errors.quota_action(fault.provider) != "queue":
        return None
    return fault.retry_after_s or QUEUE_S


# -- another model ---------------------------------------------------------------------------------------------------


def _may_use_fallback(errors: FaultHandling, fault: Classification, decision: RetryDecision) -> bool:
    if fault.cause is Cause.QUOTA_EXHAUSTED:
        own = errors.provider(fault.provider)
        # What the configuration says of quotas counts; where it says nothing, a chain that is there is taken.
        if "insufficient_quota_action" in own.model_fields_set:
            return own.insufficient_quota_action == "fallback"
    spent = decision.attempt >= decision.max_attempts
    return should_fall_back(fault, exhausted=spent or decision.remedy is Remedy.COMPACT_RETRY)


async def find_fallback(execution: StepExecution, fault: Classification) -> ev.StepFellBack | None:
    """The next model of the step's chain that can be asked; None: there is none."""
    now, step = execution.model, execution.step
    around = (node.info.get("fallbacks") for node in reversed(execution.state.lineage(execution.parent_id)))
    chain = _fallback_chain(step, now, around, execution.session.config.fallbacks)
    if not chain:
        return None
    node, breaker = execution.node, execution.breaker
    fell_back = node.fell_back if node is not None else ()
    tried = {step.name, now, *(name for each in fell_back for name in (each.from_model, each.to_model))}
    untried = [name for name in chain if name not in tried]
    closed = {name for name in untried if await breaker.lets_pass(f"model:{name}")}
    passed: list[str] = []
    while True:
        choice = choose_fallback(chain, tried, closed.__contains__)
        passed.extend(f"{each.name}: {each.reason}" for each in choice.skipped)
        if choice.name is None:
            return None
        tried |= {choice.name, *(each.name for each in choice.skipped)}
        try:
            step.codec.replace(step.arguments, {"model": choice.name})
            break
        except OrbiterError as exc:
            passed.append(f"{choice.name}: {exc}")
    return ev.StepFellBack(
        node_id=execution.node_id,
        parent_id=execution.parent_id,
        from_model=now,
        to_model=choice.name,
        reason=fault.user_message,
        passed_over=tuple(passed),
    )


def _fallback_chain(
    step: Step[Any, Any], model: str, around: Iterable[Any], configured: Iterable[str]
) -> tuple[str, ...]:
    """Who stands in for the model of a step: its agent's chain, then the swarms' `around` it, then all runs'."""
    found = dict.fromkeys(step.traits.fallbacks)
    for chains in around:
        if isinstance(chains, dict):
            for name in (step.name, model):
                found.update(dict.fromkeys(str(each) for each in chains.get(name, ())))
    found.update(dict.fromkeys(configured))
    return tuple(found)


# -- a smaller request -----------------------------------------------------------------------------------------------


def _compact_request(step: Step[Any, Any], node_id: str, parent_id: str, rounds: int) -> Compaction | None:
    """Make the conversation smaller, after so many rounds; None where both are spent, or nothing more can go."""
    messages = _messages_of(step)
    while rounds < MAX_ROUNDS:
        rounds += 1
        made = compact_messages(messages, rounds)
        if made is None:
            continue
        event = ev.StepCompacted(
            node_id=node_id,
            parent_id=parent_id,
            round=rounds,
            cuts=tuple(f"{cut.number} {cut.what}" for cut in made.cuts),
            bytes_before=made.bytes_before,
            bytes_after=made.bytes_after,
        )
        return Compaction(event, [message.model_dump(mode="json") for message in made.messages])
    return None


def compact_again(step: Step[Any, Any], rounds: int) -> list[dict[str, Any]]:
    """The conversation as an earlier life cut it in so many rounds: it is not kept, but made from the same."""
    messages = _messages_of(step)
    for round_ in range(1, rounds + 1):
        made = compact_messages(messages, round_)
        messages = made.messages if made is not None else messages
    return [message.model_dump(mode="json") for message in messages]


def _messages_of(step: Step[Any, Any]) -> list[Message]:
    editable = step.codec.editable(step.arguments) or {}
    return AgentInput(query="", messages=list(editable.get("messages", ()))).messages
