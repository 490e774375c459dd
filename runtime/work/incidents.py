"""Parking: a fault becomes an incident, and whoever met it waits for the answer."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from orbiter.ask import NeedsInput
from runtime.judgement import fingerprint, options
from runtime.record import events as ev
from runtime.record.taxonomy import Classification
from runtime.work.life import Element, Life, new_id

_TRACEBACK_CHARS = 4_096
_TASK_CHARS = 2_000


@dataclass(slots=True, frozen=True)
class Trouble:
    """What a person is to be told: the facts, and what exactly was to be done."""

    fault: Classification
    where: options.Where
    message: str
    error: BaseException | None = None
    action: dict[str, Any] | None = None
    need: str = ""
    in_doubt: bool = False
    wait_s: float | None = None
    """A server's hint that is too long to wait for in memory: the run wakes by itself after it."""
    ended: ev.StepEnded | None = None
    """The end of the attempt that failed. Written together with the incident: between the two, a crash would
    leave a step that looks as if it might simply be tried again."""


async def park(life: Life, element: Element, node_id: str, trouble: Trouble) -> ev.IncidentAnswered:
    """Open an incident at a node and wait for its answer. One that an earlier life opened there is waited for again."""
    opened = _waiting_at(life, node_id)
    if opened is None:
        opened = _describe(life, node_id, trouble)
        await life.record(*([trouble.ended] if trouble.ended is not None else []), opened)
    return await life.answer_to(opened.incident_id, element)


def _waiting_at(life: Life, node_id: str) -> ev.IncidentOpened | None:
    node = life.state.nodes.get(node_id)
    ids = node.incidents if node is not None else list(life.state.incidents)
    for incident_id in reversed(ids):
        incident = life.state.incidents[incident_id]
        if incident.open and incident.opened.node_id == node_id:
            return incident.opened
    return None


def _describe(life: Life, node_id: str, trouble: Trouble) -> ev.IncidentOpened:
    question = trouble.error if isinstance(trouble.error, NeedsInput) else None
    offered, safe = options.options_for(
        trouble.fault, trouble.where, in_doubt=trouble.in_doubt, need=trouble.need, question=question is not None
    )
    lineage = life.state.lineage(node_id)
    agents = [node.name for node in lineage if node.kind == "agent"]
    tasks = [str(node.info["task"]) for node in lineage if node.info.get("task")]
    deadline_s = life.conditions.deadline_s
    if trouble.wait_s is not None:
        safe, deadline_s = "wait_retry", trouble.wait_s
    error_type = type(trouble.error).__name__ if trouble.error is not None else ""
    place = "/".join([*agents[-1:], lineage[-1].name if lineage else life.state.ref])
    return ev.IncidentOpened(
        node_id=node_id,
        parent_id=lineage[-1].parent_id if lineage else "",
        incident_id=f"i-{new_id()}",
        fault=trouble.fault,
        error_type=error_type,
        message=trouble.message,
        traceback=_traceback(trouble.error),
        fingerprint=fingerprint.fingerprint(trouble.fault, trouble.message, place),
        options=offered,
        safe=safe,
        deadline=life.clock() + timedelta(seconds=deadline_s) if deadline_s is not None else None,
        in_doubt=trouble.in_doubt,
        lineage=tuple(node.name for node in lineage),
        task=(tasks[-1] if tasks else life.state.input)[:_TASK_CHARS],
        action=trouble.action or {},
        question=question.question if question is not None else "",
        answer_schema=dict(question.schema) if question is not None and question.schema is not None else None,
        retryable=any(found.id in ("retry", "wait_retry") for found in offered),
    )


def _traceback(error: BaseException | None) -> str:
    if error is None or error.__traceback__ is None:
        return ""
    return "".join(traceback.format_exception(error))[-_TRACEBACK_CHARS:]
