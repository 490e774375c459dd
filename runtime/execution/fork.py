"""A fork: another run that begins with what one has completed, up to a node.

Only completed steps are copied (DESIGN section 2, rule 11): what was under way, or failed, is the new run's own affair.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from runtime.judgement.reports.analysis_prompt import strip_references
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.rewind import nodes_dropped_by


def copied_events(source: DurableRun, at: str, mark: str) -> list[ev.JournalEvent]:
    """The events with which a fork of `source` begins. `at`: the node from which it goes its own way; empty: from
    wherever the source is. `mark` makes incident ids the fork's own.
    """
    dropped = nodes_dropped_by(source, at) if at else set()
    found: list[ev.JournalEvent] = []
    for _, node in source.walk():
        if node.id in dropped:
            continue
        if not node.is_step:
            found.append(ev.NodeOpened(**_at(node), kind=_kind(node), name=node.name, info=node.info))
        elif node.recorded:
            found.extend(_step_events(source, node, mark))
        found.extend(
            ev.MessageDelivered(**_at(node), turn=turn, texts=texts, injection_ids=())
            for turn, texts in node.delivered.items()
        )
    return found


def _at(node: Node) -> dict[str, Any]:
    return {"node_id": node.id, "parent_id": node.parent_id}


def _kind(node: Node) -> Any:
    return node.kind


def _step_events(source: DurableRun, node: Node, mark: str) -> list[ev.JournalEvent]:
    """A completed step as one attempt, with the answers that made it what it is, and with analyses. Its tokens and
    these were paid by the source.
    """
    started = ev.StepStarted(
        **_at(node),
        kind=_kind(node),
        name=node.name,
        agent=node.agent,
        requested=node.requested,
        idempotent=node.idempotent,
        permissions=node.permissions,
        attempt=1,
        epoch=0,
        effective=node.effective,
    )
    found: list[ev.JournalEvent] = [started]
    if node.edits is not None:
        found.append(ev.StepEdited(**_at(node), changes=node.edits))
    for incident_id in node.incidents:
        incident = source.incidents[incident_id]
        if incident.answer is not None:
            own = {"incident_id": f"{incident_id}-{mark}"}
            found.extend((
                replace(incident.opened, **own, copied=True), replace(incident.answer, **own)
            ))  # fmt: skip
            if (analysis := incident.analysis) is not None:
                text = strip_references(analysis.text)  # the events that it names are the source's
                found.append(replace(analysis, **own, text=text, cost_usd=None))
    ended = ev.StepEnded(
        **_at(node),
        attempt=1,
        result=node.result,
        fault=node.fault,
        absorbed=node.fault is not None,
        by=node.by,
        skipped=node.phase == "skipped",
    )
    return [*found, ended]
