"""What lists show of a journal, read without its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from runtime.record.state.incident_events import IncidentOpened
from runtime.record.state.summary import Summary
from runtime.record.workers import WorkerNeed


class ListedIncident(IncidentOpened, frozen=True, kw_only=True):
    """An open incident. `body`: the whole event as it is stored; `run_summary`: the summary of its run as it is stored,
    which may be empty.
    """

    body: str = ""
    run_summary: str = ""


class JournalLists(Struct, frozen=True):
    """Runs, the newest first; open incidents, the oldest first; runs without a worker, by what they need of one."""

    runs: Sequence[Summary]
    incidents: Sequence[ListedIncident]
    unserved: Mapping[WorkerNeed, Sequence[str]]
