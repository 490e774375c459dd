"""Incidents and reports as results: every field of the models behind them, as the models write them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from runtime.judgement.reports.explanation.explain import explain
from runtime.judgement.reports.incident_report import build_report
from runtime.judgement.reports.report_types import OfferedOption
from runtime.operations.objects import incident_object, report_object
from runtime.operations.requests import incident_results as rows
from runtime.operations.requests.codec import encode
from runtime.operations.requests.struct import ActorRow
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.record.state.fault_taxonomy import Cause, Classification, Effect, Limit, Origin, Persistence, Remedy

AT = datetime(2026, 11, 23, 12, 0, 0, 120, tzinfo=UTC)
FAULT = Classification(
    origin=Origin.TOOL,
    cause=Cause.LIMIT_REACHED,
    persistence=Persistence.TRANSIENT,
    effect=Effect.NONE,
    retry_after_s=30,
    http_status=503,
    limit=Limit.COST,
    proposal=Remedy.REPLAN,
    recoverable=True,
    node_path=("a", "b"),
    suggestions=("wait",),
    metadata={"n": [1, 2.5, None]},
    context={"used": 3},
)
OPENED = ev.IncidentOpened(
    run_id="r",
    incident_id="i",
    node_id="desk~0/pay~0",
    parent_id="desk~0",
    ts=AT,
    fault=FAULT,
    options=(ev.Option(id="retry", label="Retry operation", standing=True),),
    deadline=AT,
    action={"tool": "pay", "arguments": {"sum": 5}},
    answer_schema={"type": "string"},
    lineage=("desk", "pay"),
)
BY = ev.Actor(name="ann", channel="cli")
INCIDENT = Incident(
    OPENED,
    answer=replace(ev.IncidentAnswered.of(OPENED, "r", "retry", params={"seconds": 5}, by=BY), ts=AT),
    proposals=[ev.AnswerProposed(incident_id="i", revision=1, option="retry", by=BY, ts=AT)],
)


@pytest.mark.parametrize(
    ("row", "model", "left_out", "added"),
    [
        (ActorRow, ev.Actor, "", ""),
        (OfferedOption, ev.Option, "", ""),
        (rows.FaultRow, Classification, "", ""),
        (rows.IncidentRow, ev.IncidentOpened, "v seq incident_id ts", "id state opened_at proposals answer"),
    ],
)
def test_a_result_has_each_field_of_its_model(
    row: type[Struct], model: type[Struct], left_out: str, added: str
) -> None:
    assert {*row.__struct_fields__} - {*added.split()} == {*model.__struct_fields__} - {*left_out.split()}


def chosen(event: ev.JournalEvent, *names: str) -> dict[str, Any]:
    return {name: each for name, each in ev.event_fields(event).items() if name in names}


def as_json(result: Struct) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(encode(result)))
    return found


def test_an_incident_is_written_as_its_events_are() -> None:
    said = as_json(incident_object("r", INCIDENT))
    body = {
        name: each for name, each in ev.event_fields(OPENED).items() if name not in {"v", "seq", "type", "incident_id"}
    }
    assert INCIDENT.answer is not None
    assert said == {
        "id": "i",
        "state": "answered",
        "opened_at": body.pop("ts"),
        **body,
        "proposals": [
            chosen(each, "ts", "revision", "option", "params", "reason", "by") for each in INCIDENT.proposals
        ],
        "answer": chosen(INCIDENT.answer, "ts", "option", "reach", "reason", "by", "params"),
    }


def test_a_report_has_all_of_its_explanation() -> None:
    state = DurableRun("r")
    said = as_json(report_object(state, OPENED))
    told = explain(Incident(OPENED), state)
    assert {**said["explanation"], **told.as_json()} == said["explanation"]
    assert [*said["explanation"]["lines"]][: len(told.rows())] == [label for label, _ in told.rows()]
    report = build_report(state, OPENED)
    assert {**said, **as_json(report)} == said
    assert (said["text"], said["markdown"]) == (report.text(), report.markdown())
