"""What lists show of a journal, read without its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from runtime.record.state.incident_title import incident_title
from runtime.record.state.summary import Instant, Summary
from runtime.record.workers import WorkerNeed


class _Option(msgspec.Struct, frozen=True):
    id: str


class _Fault(msgspec.Struct, frozen=True):
    user_message: str = ""
    rule_message: str = ""


class ListedIncident(msgspec.Struct, frozen=True, kw_only=True):
    """An open incident, of `IncidentOpened` what a list shows. `body`: the whole event as it is stored; `run_summary`:
    the summary of its run as it is stored, which may be empty.
    """

    run_id: str = ""
    body: str = ""
    run_summary: str = ""
    incident_id: str
    ts: Instant
    fault: _Fault
    fingerprint: str = ""
    options: tuple[_Option, ...] = ()
    question: str = ""
    message: str = ""
    action: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def what(self) -> str:
        """As `IncidentOpened.what`."""
        return incident_title(self.question, self.message, self.fault.user_message, self.fault.rule_message)


@dataclass(frozen=True, slots=True)
class JournalLists:
    """Runs, the newest first; open incidents, the oldest first; runs without a worker, by what they need of one."""

    runs: Sequence[Summary]
    incidents: Sequence[ListedIncident]
    unserved: Mapping[WorkerNeed, Sequence[str]]
