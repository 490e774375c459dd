"""Remedies that need no person: a smaller request, a fallback model, a reroute within the swarm.

Each remedy is recorded before it is tried, so that a later life goes on with it and counts it.
"""

from __future__ import annotations

from typing import Any

from orbiter.errors import OrbiterError
from orbiter.types import AgentInput, Message
from runtime.execution.failures.reroute import (
    reroute_error,
    reroute_kind,
    reroute_past_agent,
    reroute_to_itself,
    reroute_to_swarm,
)
from runtime.execution.gates.breaker import breakers_of
from runtime.execution.step_context import StepContext
from runtime.judgement.recovery.compaction import MAX_ROUNDS, compact_messages
from runtime.judgement.recovery.fallback import choose_fallback, should_fall_back
from runtime.judgement.recovery.retry import RetryDecision
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause, Classification, Remedy

QUEUE_S = 3600.0
"""How long a step waits for a quota of which nobody said when it is back."""


async def apply_remedy(
    c: StepContext, fault: Classification, decision: RetryDecision, ended: ev.StepEnded | None, changes: dict[str, Any]
) -> bool:
    """Try to do without a person. True: make another attempt, with what `changes` says now.

    Raises:
        HandedBack: the failure went back into the swarm.
    """
    wish = reroute_kind(fault)
    if wish is not None and (returned := reroute_to_swarm(c.session.state, c.node_id, fault, wish)) is not None:
        await hand_back_to_swarm(c, returned, ended)
    if c.step.kind == "llm":
        if decision.remedy is Remedy.COMPACT_RETRY and await _compact_messages(c, ended, changes):
            return True
        if _may_use_fallback(c, fault, decision) and await use_fallback_model(c, fault, ended, changes):
            return True
    if c.step.kind == "llm" or c.step.traits.failure == "fail":
        if (returned := reroute_past_agent(c.session.state, c.node_id, fault)) is not None:
            await hand_back_to_swarm(c, returned, ended)
        if c.step.kind == "llm" and c.step.traits.failure == "degrade":
            said = fault.user_message or fault.technical
            await hand_back_to_swarm(
                c, ev.ControlReturned(node_id=c.node_id, remedy="degrade", scope=c.parent_id, reason=said), ended
            )
    return False


async def hand_back_to_swarm(c: StepContext, returned: ev.ControlReturned, ended: ev.StepEnded | None) -> None:
    """Record that a failure goes back into the swarm, and raise it there."""
    returned = returned.model_copy(update={"parent_id": c.parent_id})
    if ended is None:
        c.record_node()
        await c.session.record(returned)
    else:
        # The fault stands as the step's end: it will not be carried out again.
        await c.session.record(ended.model_copy(update={"absorbed": True, "result": None}), returned)
    raise reroute_error(returned)


def returns_error_to_planner(c: StepContext, fault: Classification) -> ev.ControlReturned | None:
    """A tool's failure whose author asks for another plan, where the agent plans by itself: it is told so."""
    wish = reroute_kind(fault)
    if wish is None or c.step.kind != "tool":
        return None
    return reroute_to_itself(c.session.state, c.node_id, fault, wish)


def quota_wait(c: StepContext, fault: Classification) -> float | None:
    """How long to park where the quota is used up and the configuration says `queue`; None: it says something else."""
    if fault.cause is not Cause.QUOTA_EXHAUSTED or c.session.config.errors.quota_action(fault.provider) != "queue":
        return None
    return fault.retry_after_s or QUEUE_S


def _may_use_fallback(c: StepContext, fault: Classification, decision: RetryDecision) -> bool:
    if fault.cause is Cause.QUOTA_EXHAUSTED:
        own = c.session.config.errors.provider(fault.provider)
        # What the configuration says of quotas counts; where it says nothing, a chain that is there is taken.
        if "insufficient_quota_action" in own.model_fields_set:
            return own.insufficient_quota_action == "fallback"
    spent = decision.attempt >= decision.max_attempts
    return should_fall_back(fault, exhausted=spent or decision.remedy is Remedy.COMPACT_RETRY)


def fallback_chain_of(c: StepContext, model: str) -> tuple[str, ...]:
    """Who stands in for the model of a step: its agent's chain, then those of the swarms around it, then all runs'."""
    found = dict.fromkeys(c.step.traits.fallbacks)
    for node in reversed(c.session.state.lineage(c.parent_id)):
        chains = node.info.get("fallbacks")
        if isinstance(chains, dict):
            for name in (c.step.name, model):
                found.update(dict.fromkeys(str(each) for each in chains.get(name, ())))
    found.update(dict.fromkeys(c.session.config.fallbacks))
    return tuple(found)


async def use_fallback_model(
    c: StepContext, fault: Classification, ended: ev.StepEnded | None, changes: dict[str, Any]
) -> bool:
    """Go on with the next model of the chain, if there is one that can be asked."""
    now = c.model_name(changes)
    chain = fallback_chain_of(c, now)
    if not chain:
        return False
    tried = {c.step.name, now}
    for earlier in c.node.fell_back if c.node is not None else ():
        tried |= {earlier.from_model, earlier.to_model}
    closed = await _models_with_closed_breaker(c, [name for name in chain if name not in tried])
    passed: list[str] = []
    while True:
        choice = choose_fallback(chain, tried, closed.__contains__)
        passed.extend(f"{each.name}: {each.reason}" for each in choice.skipped)
        if choice.name is None:
            return False
        tried |= {choice.name, *(each.name for each in choice.skipped)}
        try:
            c.step.codec.replace(c.step.arguments, {"model": choice.name})
            break
        except OrbiterError as exc:
            passed.append(f"{choice.name}: {exc}")
    changes["model"] = choice.name
    c.record_node()
    event = ev.StepFellBack(
        node_id=c.node_id,
        parent_id=c.parent_id,
        from_model=now,
        to_model=choice.name,
        reason=fault.user_message,
        passed_over=tuple(passed),
    )
    await c.session.record(*([ended] if ended is not None else []), event)
    c.scope.warn(f"{choice.name} stands in for {now}: {fault.user_message}")
    return True


async def _models_with_closed_breaker(c: StepContext, names: list[str]) -> set[str]:
    """Models whose breaker would let a call pass now."""
    policy = c.session.config.errors.breaker_policy()
    now = c.session.clock().timestamp()
    breakers = breakers_of(c.session.journal)
    found: set[str] = set()
    for name in names:
        if not policy.enabled or (await breakers.check(f"model:{name}", policy, now, breaker_caller(c))).allowed:
            found.add(name)
    return found


def breaker_key(c: StepContext, changes: dict[str, Any]) -> str:
    """The breaker that stands before a step; empty where there is none, as in a run begun with ``breakers`` off: a
    drill, whose invented failures say nothing of any service.
    """
    off = c.session.state.options.get("breakers") is False
    if c.step.kind == "value" or off or not c.session.config.errors.enable_circuit_breaker:
        return ""
    return f"model:{c.model_name(changes)}" if c.step.kind == "llm" else f"tool:{c.step.name}"


def breaker_caller(c: StepContext) -> str:
    """Who asks a breaker: this step, in this life."""
    return f"{c.session.state.id}/{c.node_id}#{c.session.lease.epoch}"


async def _compact_messages(c: StepContext, ended: ev.StepEnded | None, changes: dict[str, Any]) -> bool:
    """Make the conversation smaller; False where both rounds are spent, or nothing more can go."""
    rounds = c.node.compactions if c.node is not None else 0
    messages = _messages(c)
    while rounds < MAX_ROUNDS:
        rounds += 1
        made = compact_messages(messages, rounds)
        if made is None:
            continue
        changes["messages"] = [message.model_dump(mode="json") for message in made.messages]
        event = ev.StepCompacted(
            node_id=c.node_id,
            parent_id=c.parent_id,
            round=rounds,
            cuts=tuple(f"{cut.number} {cut.what}" for cut in made.cuts),
            bytes_before=made.bytes_before,
            bytes_after=made.bytes_after,
        )
        await c.session.record(*([ended] if ended is not None else []), event)
        c.scope.warn(f"the request was too large and lost {', '.join(event.cuts)}")
        return True
    return False


def _messages(c: StepContext) -> list[Message]:
    editable = c.step.codec.editable(c.step.arguments) or {}
    return AgentInput(query="", messages=list(editable.get("messages", ()))).messages


def repeat_compaction(c: StepContext, changes: dict[str, Any]) -> None:
    """Do again what an earlier life cut, before the attempts go on: it is not kept, but made from the same."""
    rounds = c.node.compactions if c.node is not None else 0
    if not rounds or "messages" in changes:
        return
    messages = _messages(c)
    for round_ in range(1, rounds + 1):
        made = compact_messages(messages, round_)
        messages = made.messages if made is not None else messages
    changes["messages"] = [message.model_dump(mode="json") for message in messages]


def fallback_in_use(c: StepContext, changes: dict[str, Any]) -> None:
    """The model that stands in since an earlier life, unless an operator chose another after that."""
    node = c.node
    if node is None or not node.fell_back:
        return
    last = node.fell_back[-1]
    for incident_id in node.incidents:
        answer = c.session.state.incidents[incident_id].answer
        if answer is not None and answer.option == "switch_model" and answer.ts > last.ts:
            return
    changes["model"] = last.to_model


__all__ = [
    "apply_remedy",
    "breaker_caller",
    "breaker_key",
    "fallback_in_use",
    "hand_back_to_swarm",
    "quota_wait",
    "repeat_compaction",
    "returns_error_to_planner",
    "use_fallback_model",
]
