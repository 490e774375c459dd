"""Runs, incidents and reports as results, and events as JSON: ids are `id`, states are `state`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from msgspec.structs import asdict, replace

from runtime.judgement.reports.audit import shown_params
from runtime.operations.requests.codec import decode_struct
from runtime.operations.requests.event_object import EventObject
from runtime.operations.requests.incident_results import ExplanationRow, IncidentRow, OpenIncident, ReportRow
from runtime.operations.requests.runs import NodeRow, RunTree
from runtime.record.state.durable_run import DurableRun, Incident, Node
from runtime.record.state.events import IncidentAnswered, IncidentOpened, JournalEvent, event_fields

_PROPOSAL_FIELDS: Final = {"option", "params", "reason", "revision", "by", "ts"}
_ANSWER_FIELDS: Final = {"option", "reach", "reason", "by", "ts"}


def run_object(state: DurableRun) -> RunTree:
    """A run with its nodes and incidents."""
    summary = asdict(state.summary().public())
    del summary["nodes"]  # how many there are; here they all stand
    return RunTree(
        **{**summary, "input": state.input, "error": state.error},
        output=state.output,
        lives=state.lives,
        nodes=tuple(_node_row(node) for _, node in state.walk()),
        incidents=tuple(incident_object(state.id, each) for each in state.incidents.values()),
    )


def _node_row(node: Node) -> NodeRow:
    return NodeRow(
        id=node.id,
        parent_id=node.parent_id,
        kind=node.kind,
        name=node.name,
        agent=node.agent,
        state=node.phase,
        requested=node.requested,
        attempts=node.attempts,
        opened_at=node.opened_at,
        closed_at=node.closed_at,
        input_tokens=node.input_tokens,
        output_tokens=node.output_tokens,
        cost_usd=node.cost_usd,
        output=node.output,
        result=node.result,
        error=node.error,
        warnings=tuple(node.warnings),
        incidents=tuple(node.incidents),
    )


def incident_object(run_id: str, incident: Incident) -> IncidentRow:
    """An incident: what it waits for and, if it has one, its answer without secrets."""
    return decode_struct(IncidentRow, _incident_fields(run_id, incident))


def open_incident_object(run_id: str, incident: Incident, *, title: str, like_this: int) -> OpenIncident:
    """An open incident; `title` and `like_this` as in `OpenIncident`."""
    fields = {**_incident_fields(run_id, incident), "title": title, "like_this": like_this}
    return decode_struct(OpenIncident, fields)


def _incident_fields(run_id: str, incident: Incident) -> dict[str, Any]:
    opened, answer = incident.opened, incident.answer
    body = event_fields(opened)
    for name in ("v", "seq", "type", "run_id", "incident_id"):
        del body[name]
    answered = None
    if answer is not None:
        answered = _chosen(answer, _ANSWER_FIELDS)
        answered["params"] = shown_params(answer.params)
    proposals = [_chosen(each, _PROPOSAL_FIELDS) for each in incident.proposals]
    return {
        "id": opened.incident_id,
        "state": incident.state,
        "run_id": run_id or opened.run_id,
        "opened_at": body.pop("ts"),
        **body,
        "proposals": proposals,
        "answer": answered,
    }


def _chosen(event: JournalEvent, names: Collection[str]) -> dict[str, Any]:
    return {name: each for name, each in event_fields(event).items() if name in names}


def report_object(state: DurableRun, opened: IncidentOpened) -> ReportRow:
    """The report of an incident, also as `markdown` and as plain `text`, and its explanation."""
    # Only a report needs the explanations: a verb that lists incidents does not load them.
    from runtime.judgement.reports.explanation.explain import explain
    from runtime.judgement.reports.explanation.model_note import model_note
    from runtime.judgement.reports.incident_report import build_report

    found = build_report(state, opened)
    known = state.incidents.get(opened.incident_id) or Incident(opened)
    told, note = explain(known, state), model_note(known)
    explanation = {
        **told.as_json(),
        "model": {"state": note.state, "model": note.model, "words": note.words},
        "lines": dict([*told.rows(), *([("Model", note.words)] if note.state != "there" and note.words else [])]),
    }
    return ReportRow(
        **asdict(found),
        id=opened.incident_id,
        state=known.state,
        explanation=decode_struct(ExplanationRow, explanation),
        markdown=found.markdown(),
        text=found.text(),
    )


def event_object(event: JournalEvent) -> EventObject:
    """An event, with all its fields, without secrets."""
    if isinstance(event, IncidentAnswered):
        event = replace(event, params=shown_params(event.params))
    return EventObject(event_fields(event))
