"""The audit: who decided what, as a fold of events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from runtime.judgement.recovery.secret_box import is_sealed
from runtime.judgement.reports.report_types import AuditEntry
from runtime.record.state import events as ev

_ACTION_WORDS: dict[type[ev.JournalEvent], str] = {
    ev.AbortRequested: "aborted",
    ev.RunFrozen: "froze",
    ev.RunThawed: "thawed",
    ev.RunMoved: "moved",
    ev.RewindRequested: "rewound",
    ev.BreakpointSet: "set a breakpoint",
    ev.BreakpointCleared: "cleared a breakpoint",
    ev.MessageInjected: "injected a message",
    ev.CancelRequested: "cancelled a call",
    ev.GrantAdded: "granted",
    ev.GrantRevoked: "revoked",
    ev.RunCreated: "started",
    ev.AnswerProposed: "proposed",
    ev.AgentRefused: "was refused",
}
_AUDITED_EVENTS: Final[tuple[type[ev.JournalEvent], ...]] = (ev.IncidentOpened, ev.IncidentAnswered, *_ACTION_WORDS)
AUDIT_MARKS: Final = tuple(f'"type":"{ev.type_of(kind)}"' for kind in _AUDITED_EVENTS)
"""What the stored events that count here have in them (`runtime.record.journal.Journal.latest`)."""
_DETAILS: dict[type[ev.JournalEvent], tuple[str, ...]] = {
    ev.RunMoved: ("code", "before", "queue"),
    ev.RewindRequested: ("changes",),
    ev.BreakpointSet: ("what", "pattern"),
    ev.BreakpointCleared: ("what", "pattern"),
    ev.MessageInjected: ("agent", "text"),
    ev.CancelRequested: ("node_id",),
    ev.GrantAdded: ("grant_id", "subject", "verb", "pattern", "lifetime", "scope", "until"),
    ev.GrantRevoked: ("grant_id",),
    ev.RunCreated: ("ref", "title"),
    ev.AnswerProposed: ("params",),
    ev.AgentRefused: ("act", "why"),
}


def audit_entries(events: Iterable[ev.JournalEvent]) -> list[AuditEntry]:
    """The decisions among events: of one stream, or of all in the order in which they were written."""
    opened: dict[str, ev.IncidentOpened] = {}
    found: list[AuditEntry] = []
    for event in events:
        if isinstance(event, ev.IncidentOpened):
            opened[event.incident_id] = event
        elif isinstance(event, ev.IncidentAnswered):
            found.append(_answer_entry(event, opened.get(event.incident_id)))
        elif type(event) in _ACTION_WORDS:
            found.append(_command_entry(event))
    return found


def _answer_entry(event: ev.IncidentAnswered, opened: ev.IncidentOpened | None) -> AuditEntry:
    return AuditEntry(
        ts=event.ts,
        person=event.by.name,
        channel=event.by.channel,
        what="answered",
        option=event.option,
        reach=event.reach,
        params=shown_params(event.params),
        reason=event.reason,
        seconds=round((event.ts - opened.ts).total_seconds(), 3) if opened is not None else None,
        run_id=event.run_id,
        incident_id=event.incident_id,
        node_id=event.node_id,
        asked=opened.what if opened is not None else "",
    )


def _command_entry(event: ev.JournalEvent) -> AuditEntry:
    by: ev.Actor = getattr(event, "by", ev.Actor())
    body = ev.event_fields(event)
    return AuditEntry(
        ts=event.ts,
        person=by.name,
        channel=by.channel,
        what=_ACTION_WORDS[type(event)],
        option=getattr(event, "option", ""),
        params={name: body[name] for name in _DETAILS.get(type(event), ()) if body.get(name) not in (None, "", {})},
        reason=getattr(event, "reason", ""),
        run_id=getattr(event, "subject_run", "") if event.run_id == ev.WORKSPACE_RUN_ID else event.run_id,
        incident_id=getattr(event, "incident_id", ""),
        node_id=event.node_id,
    )


def shown_params(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters of an answer as they may be seen: of a secret only that there is one."""
    return {name: "(secret)" if is_sealed(value) else value for name, value in params.items()}
