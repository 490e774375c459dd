"""Parking: a fault opens an incident, and its node waits for the answer."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby, islice
from typing import Any

from msgspec.structs import replace

from orbiter.ask import NeedsInput
from orbiter.errors import causes
from orbiter.redaction import redact
from orbiter.schema import result_schema
from runtime.execution.failures.errors_in_force import answer_deadline_at, may_ask_operator
from runtime.execution.run_session import RunSession
from runtime.execution.secret_vault import VAULT
from runtime.execution.wait_tracker import Activity
from runtime.judgement.faults import fingerprint
from runtime.judgement.faults.fault_words import shortened
from runtime.judgement.faults.suggestions import fitting_suggestions
from runtime.judgement.forms.secret_schema import is_secret
from runtime.judgement.recovery import options
from runtime.judgement.recovery.option_spec import FaultSite
from runtime.judgement.recovery.option_table import effect_of
from runtime.record.ids import new_id
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.fault_taxonomy import Classification

STALL_RULE_ID = "stall.no-progress"
"""The rule of incidents that nothing waits for: the run goes on beside them."""

_TRACEBACK_CHARS = 4_096
TASK_CHARS = 2_000
"""Characters of a task that an incident has."""
_MAX_CAUSES = 12
_CAUSE_CHARS = 500


@dataclass(slots=True, frozen=True)
class IncidentDraft:
    """What a person is to be told: the facts, and what exactly was to be done."""

    fault: Classification
    where: FaultSite
    message: str
    alike: str = ""
    """The text by which equal troubles are known, where the message says more; by default the message."""
    error: BaseException | None = None
    action: dict[str, Any] | None = None
    need: str = ""
    not_offered: frozenset[str] = frozenset()
    """Options that the step does not take."""
    in_doubt: bool = False
    in_place: bool = True
    """The node goes on where it is after an input; else its body is done again with what is recorded."""
    partial: bool = False
    """Something was finished that can be accepted as it is."""
    arguments_schema: Mapping[str, Any] | None = None
    result_type: Any = None
    """What a result that a person gives must fit."""
    wait_s: float | None = None
    """A server's hint that is too long to wait for in memory: the run wakes by itself after it."""
    policy: str = ""
    """The failure policy that decides at once, where one does: no person is asked."""
    ended: ev.StepEnded | None = None
    """The end of the attempt that failed. Written together with the incident: between the two, a crash would
    leave a step that looks as if it might simply be tried again."""


async def await_answer(
    session: RunSession, activity: Activity, node_id: str, draft: IncidentDraft
) -> ev.IncidentAnswered:
    """Open an incident at a node and wait for its answer. One that an earlier life opened there is waited for again."""
    opened = _waiting_at(session, node_id)
    if opened is None:
        opened = incident_event(session, node_id, draft)
        await session.record(*([draft.ended] if draft.ended is not None else []), opened)
    incident_id = opened.incident_id
    del draft, opened  # they are not needed for as long as a person takes
    return await session.wait_for_answer(incident_id, activity)


async def open_incident(session: RunSession, node_id: str, draft: IncidentDraft) -> ev.IncidentOpened:
    """Open an incident at a node that does not wait for its answer."""
    opened = incident_event(session, node_id, draft)
    await session.record(opened)
    return opened


def _waiting_at(session: RunSession, node_id: str) -> ev.IncidentOpened | None:
    node = session.state.nodes.get(node_id)
    ids = node.incidents if node is not None else list(session.state.incidents)
    for incident_id in reversed(ids):
        incident = session.state.incidents[incident_id]
        if incident.open and incident.opened.node_id == node_id and incident.opened.fault.rule_id != STALL_RULE_ID:
            return incident.opened
    return None


def incident_event(session: RunSession, node_id: str, draft: IncidentDraft) -> ev.IncidentOpened:
    """The incident that puts a draft before a person. Writes nothing."""
    question = draft.error if isinstance(draft.error, NeedsInput) else None
    offered, safe = options.options_for(
        draft.fault,
        draft.where,
        in_doubt=draft.in_doubt,
        need=draft.need,
        question=question is not None,
        in_place=draft.in_place,
        partial=draft.partial,
    )
    offered = tuple(each for each in offered if each.id not in draft.not_offered)
    lineage = session.state.lineage(node_id)
    agents = [node.name for node in lineage if node.kind == "agent"]
    deadline_s = answer_deadline_at(session, node_id)
    unattended = not may_ask_operator(session, node_id)
    if draft.wait_s is not None:
        safe, deadline_s, unattended = "wait_retry", draft.wait_s, False
    elif unattended:
        deadline_s = 0.0
    elif draft.policy:
        safe, deadline_s = "abort", 0.0
    schema = dict(question.schema) if question is not None and question.schema is not None else None
    masked = VAULT.known_values()
    error_type = type(draft.error).__name__ if draft.error is not None else ""
    place = "/".join([*agents[-1:], lineage[-1].name if lineage else session.state.ref])
    now = session.clock()
    return ev.IncidentOpened(
        ts=now,
        node_id=node_id,
        parent_id=lineage[-1].parent_id if lineage else "",
        incident_id=f"i-{new_id()}",
        fault=_fault_with(draft.fault, fitting_suggestions(draft.fault.suggestions, offered)),
        error_type=error_type,
        message=shortened(redact(draft.message, masked) if masked else draft.message),
        traceback=redact(_traceback(draft.error), masked) if question is None else "",  # nothing failed
        causes=tuple(redact(link, masked) for link in error_chain(draft.error)),
        fingerprint=fingerprint.fingerprint(draft.fault, draft.alike or draft.message, place),
        options=offered,
        safe=safe,
        deadline=now + timedelta(seconds=deadline_s) if deadline_s is not None else None,
        in_doubt=draft.in_doubt,
        lineage=tuple(node.name for node in lineage),
        task=VAULT.mask(task_of(session.state, lineage))[:TASK_CHARS],
        action={**(draft.action or {}), **({"policy": draft.policy} if draft.policy else {})},
        question=question.question if question is not None else "",
        answer_schema=schema,
        url=question.url if question is not None else "",
        retryable=any(effect_of(found.id) in ("retry", "wait_retry") for found in offered),
        arguments_schema=_argument_form(draft, offered),
        result_schema=_result_form(draft, offered),
        unattended=unattended,
        secret_key=VAULT.public_key if is_secret(schema) else "",
    )


def _fault_with(fault: Classification, suggestions: tuple[str, ...]) -> Classification:
    return fault if suggestions == fault.suggestions else replace(fault, suggestions=suggestions)


def task_of(state: DurableRun, lineage: Sequence[Node]) -> str:
    """What the innermost of these nodes is to do. An agent that was handed on to gets its own name as its input: its
    task is the one of the swarm, which is the question as it was asked.
    """
    found = state.input
    for above, node in zip([None, *lineage], lineage, strict=False):
        handed_on = node.kind == "agent" and above is not None and above.info.get("mode") == "handoff"
        if node.info.get("task") and not handed_on:
            found = str(node.info["task"])
    return found


def _argument_form(draft: IncidentDraft, offered: tuple[ev.Option, ...]) -> dict[str, Any] | None:
    if draft.arguments_schema is None or all(effect_of(found.id) != "edit" for found in offered):
        return None
    return dict(draft.arguments_schema)


def _result_form(draft: IncidentDraft, offered: tuple[ev.Option, ...]) -> dict[str, Any] | None:
    if draft.result_type is None or all(effect_of(found.id) != "result" for found in offered):
        return None
    return result_schema(draft.result_type)


def error_chain(error: BaseException | None) -> list[str]:
    """An error and what it came from, outermost first, each as ``Type: message``; what only repeats is left out."""
    if error is None:
        return []
    texts = (VAULT.mask(f"{type(link).__name__}: {link}")[:_CAUSE_CHARS] for link in causes(error))
    return list(islice((text for text, _ in groupby(texts)), _MAX_CAUSES))


def _traceback(error: BaseException | None) -> str:
    if error is None or error.__traceback__ is None:
        return ""
    return VAULT.mask("".join(traceback.format_exception(error)))[-_TRACEBACK_CHARS:]
