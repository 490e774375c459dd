"""Faults of nodes that are not steps: an agent, a swarm or the run failed outside of its steps; a person is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Literal, assert_never

from msgspec.structs import replace

from orbiter.errors import JoinError, causes
from orbiter.steps import Aborted, Answer, HandedBack, ScopeKind, Skipped, author_around
from runtime.execution.failures.errors_in_force import errors_at, retry_policy_at
from runtime.execution.failures.fault_policy import ORIGINS
from runtime.execution.failures.incident_drafts import draft_replay_difference
from runtime.execution.failures.reroute import reroute_error, reroute_kind, reroute_past_agent, reroute_to_swarm
from runtime.execution.incidents import IncidentDraft
from runtime.execution.replay import RunChanged
from runtime.execution.resolution import ending_reason, retry_time
from runtime.execution.run_session import RunSession
from runtime.execution.secret_vault import VAULT
from runtime.execution.wait_tracker import Activity
from runtime.judgement.faults.classify import classify
from runtime.judgement.faults.fault_words import error_message
from runtime.judgement.faults.fingerprint import message_template
from runtime.judgement.faults.severity import ask_author
from runtime.judgement.recovery.option_spec import FaultSite
from runtime.judgement.recovery.option_table import effect_of
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.record.state.fault_taxonomy import (
    Classification,
    Effect,
    Impact,
    Origin,
)

NodeKind = ScopeKind | Literal["root"]


def comes_of_abort(exc: BaseException) -> bool:
    """Whether an operator's abort is what this error comes from: it was asked about once already. Optional members that
    failed were not asked about; that too many of them did is asked about.
    """
    passed = HandedBack if isinstance(exc, JoinError) else ()
    return any(isinstance(link, Aborted) and not isinstance(link, passed) for link in causes(exc))


def classify_node_error(session: RunSession, node_id: str, kind: NodeKind, exc: Exception) -> Classification:
    """The facts of an error that a node's body raised: found by rules, then as its authors and the configuration see
    it.
    """
    config, state = errors_at(session, node_id), session.state
    changed = next((link for link in causes(exc) if isinstance(link, RunChanged)), None)
    if changed is not None:
        return draft_replay_difference(str(changed)).fault
    origin = ORIGINS.get(kind, Origin.RUNNER)
    facts = classify(exc, origin=origin, effect=Effect.NONE, rules=config.rules, secrets=VAULT.known_values())
    if not config.use_error_classification:
        return facts
    lineage = state.lineage(node_id)
    tasks = [str(node.info["task"]) for node in lineage if node.info.get("task")]
    agents = [node.name for node in lineage if node.kind == "agent"]
    context = {
        "run_id": state.id,
        "node_id": node_id,
        "agent": agents[-1] if agents else "",
        "task": tasks[-1] if tasks else state.input,
    }
    return config.reclassify(ask_author(exc, context, author_around(), facts), exc)


async def pass_failed_agent(session: RunSession, node_id: str, fault: Classification) -> None:
    """Hand the failure back where its author asks for another plan or agent, an agent stands in for this one, or the
    swarm goes on without it.

    Raises:
        HandedBack: one does.
    """
    node = session.state.nodes.get(node_id)
    if node is None or fault.impact is Impact.PROCESS or fault.rule_id == "recall-difference":
        return
    returned = node.returned
    wish = reroute_kind(fault)
    found = reroute_to_swarm(session.state, node_id, fault, wish) if wish is not None else None
    if returned is None and (found := found or reroute_past_agent(session.state, node_id, fault)) is not None:
        returned = replace(found, parent_id=node.parent_id)
        await session.record(returned)
    if returned is not None:
        raise reroute_error(returned)


def draft_node_fault(
    fault: Classification, exc: Exception, kind: NodeKind, name: str, turn: int | None
) -> IncidentDraft:
    """What a person is to be told of a node that failed; `turn`: the agent's turn, where the fault has a fixed spot."""
    where: FaultSite = "run" if kind == "root" else kind
    if where == "run" and fault.impact in (Impact.ABSORBED, Impact.NODE):
        # Nothing below took it up: without an answer the run ends with it.
        fault = replace(fault, impact=Impact.RUN)
    return IncidentDraft(
        fault=fault,
        where=where,
        message=error_message(exc),
        error=exc,
        action={"turn": turn} if turn is not None else {},
        in_place=turn is not None,
        result_type=getattr(exc, "expected", None),
        partial=any(_has_partial_result_of(name, link) for link in causes(exc)),
    )


def _has_partial_result_of(name: str, exc: BaseException) -> bool:
    """Whether an error brings along what the container `name` had finished."""
    return getattr(getattr(exc, "partial", None), "agent", None) == name


def answered_before(
    state: DurableRun, node_id: str, fault: Classification, exc: Exception, *, turn: int | None, used: frozenset[str]
) -> ev.IncidentAnswered | None:
    """The answer that a fault got in an earlier life, or earlier in this one where `turn` fixes the spot.

    Without a fixed spot each answer is good for one pass (`used` has the ids of their incidents): a body that fails
    again after it is a new incident.
    """
    wanted = (fault.cause, message_template(str(exc)), turn)
    for incident in _incidents_of(state, node_id):
        opened = incident.opened
        if incident.answer is None or (turn is None and opened.incident_id in used):
            continue
        if (opened.fault.cause, message_template(opened.message), opened.action.get("turn")) == wanted:
            return incident.answer
    return None


def last_correction(state: DurableRun, node_id: str) -> ev.IncidentAnswered | None:
    """The last answer that gave the body of a node another input; None where none did."""
    found = None
    for incident in _incidents_of(state, node_id):
        if incident.answer is not None and effect_of(incident.answer.option) == "input":
            # With a turn, or a question, the input is for that spot and not for the body.
            found = found if "turn" in incident.opened.action or incident.opened.question else incident.answer
    return found


def _incidents_of(state: DurableRun, node_id: str) -> Iterator[Incident]:
    node = state.nodes.get(node_id)
    if node is not None:
        return (state.incidents[incident_id] for incident_id in node.incidents)
    return (incident for incident in state.incidents.values() if incident.opened.node_id == node_id)


async def wait_before_retry(session: RunSession, activity: Activity, answer: ev.IncidentAnswered) -> None:
    """Wait before a body is done again, where the answer is to wait: as long as the operator or the error says, else as
    long as a first retry would. In a later life only for what is left.
    """
    if effect_of(answer.option) != "wait_retry" or answer.by.channel == "rule":
        return
    opened = session.state.incidents[answer.incident_id].opened
    backoff = timedelta(seconds=retry_policy_at(session, opened.node_id, opened.fault).base)
    until, _ = retry_time(answer, opened, backoff, session.clock())
    await session.wait_until(until, activity)


def answer_for_body(session: RunSession, answer: ev.IncidentAnswered, exc: Exception) -> Answer:
    """What the node's body is told to do after an answer.

    Raises:
        Aborted: the branch ends.
        Skipped: the node is skipped.
        CancelledError: the run ends.
    """
    value = answer.params.get("value")
    match effect_of(answer.option):
        case "abort":
            if answer.reach == "run":
                session.end("abort")
                raise asyncio.CancelledError
            raise Aborted(ending_reason(answer, session.state.incidents[answer.incident_id].opened)) from exc
        case "acknowledge":
            # Noted, and not to be mended: what was asked about here is not asked about again further up.
            raise Aborted(error_message(exc)) from exc
        case "skip":
            raise Skipped(value if value is not None else "")
        case "retry" | "wait_retry" | "grant":
            return Answer("retry", value)
        case "deny":
            said = str(answer.params.get("message") or answer.reason or exc)
            raise Aborted(f"Denied by the operator: {said}") from exc
        case "input" | "result" | "accept" as effect:
            return Answer(effect, value)
        case "switch_model" | "edit" | "extend" | "reset" as effect:
            return Answer(effect, value)  # meant for a step: the body refuses it, and what it raised stands
        case None:
            return Answer(answer.option, value)  # a newer program's word: refused as well
        case new:
            assert_never(new)
