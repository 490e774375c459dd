"""The export of a run or an incident: a file of JSON lines that opens read-only elsewhere.

Everything in it is redacted, secrets that were sealed are left out, and it says so. A reader of it folds the events
as the journal's would be. An HTML report holds such a file as its capsule, and is read in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from orbiter.parsing.nesting import NestedTooDeeply, check_json
from orbiter.redaction import Redactor
from runtime.judgement.recovery.secret_box import is_sealed
from runtime.judgement.reports.capsule import InvalidCapsule, is_page, unpack_capsule
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events

FORMAT = 1
_KEPT = frozenset({"type", "run_id", "node_id", "parent_id", "incident_id", "fingerprint", "ts", "grant_id", "state"})
"""Names whose texts are ids of ours: masked, they would no longer say what belongs to what."""


class InvalidExport(ValueError):
    """The file is not an export of ours; the text names the line."""


class ExportHeader(BaseModel):
    """The first line."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    orbiter_export: int
    run_id: str
    incident_id: str = ""
    exported_at: datetime
    exported_by: str = ""
    program: str = ""
    redacted: bool = True


@dataclass(slots=True, frozen=True)
class Export:
    """An export, read. `grants` are what was granted at its incidents, or used by it, and taken back."""

    header: ExportHeader
    events: tuple[ev.JournalEvent, ...]
    grants: tuple[ev.JournalEvent, ...] = ()

    def state(self) -> DurableRun:
        """The run as far as the export tells."""
        return fold_events(self.events)


def export_lines(
    events: Iterable[ev.JournalEvent],
    header: ExportHeader,
    redactor: Redactor,
    workspace: Iterable[ev.JournalEvent] = (),
) -> Iterable[str]:
    """The lines of the file. For one incident: the run's events up to its answer, and what came of it. Of the
    workspace's own events those follow that belong to them (`grants_used_by`).
    """
    chosen = list(events)
    if header.incident_id:
        chosen = _events_about(chosen, header.incident_id)
    yield json.dumps(header.model_dump(mode="json"), ensure_ascii=True)
    for event in [*chosen, *grants_used_by(chosen, workspace)]:
        body = json.loads(ev.dump_event(event))
        yield json.dumps(_mask_body(body, redactor), ensure_ascii=True)


def _events_about(events: list[ev.JournalEvent], incident_id: str) -> list[ev.JournalEvent]:
    """Up to the incident's end, then only what concerns it or its node."""
    node_id = next((e.node_id for e in events if isinstance(e, ev.IncidentOpened) and e.incident_id == incident_id), "")
    ending = ev.IncidentAnswered | ev.IncidentClosed
    end = next((e.seq for e in events if isinstance(e, ending) and e.incident_id == incident_id), None)
    if end is None:
        return events
    return [
        event
        for event in events
        if event.seq <= end
        or event.node_id == node_id
        or getattr(event, "incident_id", "") == incident_id
        or isinstance(event, ev.RunFinished)
    ]


def grants_used_by(events: Iterable[ev.JournalEvent], workspace: Iterable[ev.JournalEvent]) -> list[ev.JournalEvent]:
    """The grants that were given at incidents among `events`, or used there, and their revocations."""
    asked: set[str] = set()
    wanted: set[str] = set()
    for event in events:
        if isinstance(event, ev.IncidentOpened):
            asked.add(event.incident_id)
        elif isinstance(event, ev.GrantUsed):
            wanted.add(event.grant_id)
    found: list[ev.JournalEvent] = []
    for event in workspace:
        if isinstance(event, ev.GrantAdded) and (event.incident_id in asked or event.grant_id in wanted):
            wanted.add(event.grant_id)
            found.append(event)
        elif isinstance(event, ev.GrantRevoked) and event.grant_id in wanted:
            found.append(event)
    return found


def _mask_body(body: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    return {name: each if name in _KEPT else redactor.value(_without_sealed(each)) for name, each in body.items()}


def _without_sealed(value: Any) -> Any:
    if is_sealed(value):
        return {"sealed": {"removed": True}}
    if isinstance(value, dict):
        return {name: _without_sealed(each) for name, each in value.items()}
    return [_without_sealed(each) for each in value] if isinstance(value, list) else value


def read_export(text: str) -> Export:
    """An export from its text, or from an HTML report that holds it.

    Raises:
        InvalidExport: it is not an export, is cut, or is a newer program's.
    """
    if is_page(text):
        try:
            text = unpack_capsule(text)
        except InvalidCapsule as exc:
            raise InvalidExport(str(exc)) from exc
    rows = [row for row in text.splitlines() if row.strip()]
    if not rows:
        raise InvalidExport("the file is empty")
    try:
        header = ExportHeader.model_validate_json(rows[0])
    except ValidationError as exc:
        raise InvalidExport(
            "line 1 is not the header of an export: was the file made by 'orbiter-console export'?"
        ) from exc
    if header.orbiter_export > FORMAT:
        raise InvalidExport(
            f"the export has format {header.orbiter_export}, this program reads up to {FORMAT}: update it"
        )
    events: list[ev.JournalEvent] = []
    for number, row in enumerate(rows[1:], 2):
        try:
            check_json(row)
            events.append(ev.load_event(row))
        except NestedTooDeeply as exc:
            raise InvalidExport(f"line {number} {exc}") from exc
        except ev.InvalidEvent as exc:
            raise InvalidExport(f"line {number} is not an event: the file was cut or changed") from exc
    own = tuple(event for event in events if event.run_id != ev.WORKSPACE_RUN_ID)
    return Export(header, own, tuple(event for event in events if event.run_id == ev.WORKSPACE_RUN_ID))
