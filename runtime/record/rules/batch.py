"""The rows of one transaction of a journal, in memory, and what a `Write` on them is: no I/O here.

A store loads the rows that a batch of operations may touch, lets each operation (`runtime.record.rules.writes`,
`runtime.record.rules.lease_writes`) act on them in order, gives new runs and events their places, and writes what came
of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from runtime.record.rules.parking import waits_for_nothing
from runtime.record.rules.rows import EventRow
from runtime.record.state import events as ev
from runtime.record.state.durable_run import RUN_TERMINAL, DurableRun
from runtime.record.state.operator_terms import DEFAULT_QUEUE

RUN_COLUMNS = frozenset(kind for kind in ev.EVENT_CLASSES if ev.type_of(kind).startswith("run."))
INCIDENT_COLUMNS: frozenset[type[ev.JournalEvent]] = frozenset(
    {ev.IncidentOpened, ev.IncidentAnswered, ev.IncidentClosed}
)


@dataclass(slots=True)
class RunRow:
    rid: int
    """The store's own key of the row; 0 until the store gives one."""
    id: str
    state: str
    epoch: int = 0
    owner: str = ""
    lease_until: float | None = None
    lease_ttl: float = 0.0
    wake_at: float | None = None
    last_seq: int = 0
    told_seq: int = 0
    updated_at: float = 0.0
    open_incidents: int = 0
    code: str = ""
    """The label of the code that it goes on with; empty: any."""
    queue: str = DEFAULT_QUEUE
    """Which workers are to drive it."""
    summary: str | None = None
    """Only where it is to be written."""

    def leased(self, now: float) -> bool:
        """Whether a process has a lease that is alive.

        One that reaches further than twice its own length was given before a clock was set back: it counts as expired,
        else a dead driver's run would wait until the old time comes round again.
        """
        return self.lease_until is not None and now < self.lease_until <= now + 2 * self.lease_ttl

    def allows(self, code: str | None, queues: Collection[str] | None) -> bool:
        """Whether a worker with this label that takes these queues may drive it; None stands for any."""
        return (code is None or self.code in ("", code)) and (queues is None or self.queue in queues)

    def runnable(self, now: float) -> bool:
        """Whether it should be driven, if no process does.

        A frozen run is driven no further, unless its driver died over it: then it is not known what of it is in flight.
        """
        due = self.state == "waiting" and self.wake_at is not None and self.wake_at <= now
        due = due or waits_for_nothing(self.state, self.wake_at, self.open_incidents)
        return due or self.state in ("queued", "running") or (self.state == "frozen" and self.lease_until is not None)


@dataclass(slots=True)
class IncidentRow:
    id: str
    run: str
    """The id of its run."""
    state: str
    revision: int
    opened_seq: int
    answer_seq: int | None = None
    closed_seq: int | None = None


class WrittenEvent(NamedTuple):
    """An event with its place in the journal."""

    pos: int
    event: ev.JournalEvent


class NewEvent(msgspec.Struct, frozen=True):
    """An event that a batch adds to a run, with its `seq`. Its position is for the store to give."""

    run: RunRow
    event: ev.JournalEvent
    body: str
    blobs: str | None


@dataclass(slots=True)
class Batch:
    """The rows of one transaction, before and after. Runs and incidents are found by their ids."""

    now: float
    runs: dict[str, RunRow]
    incidents: dict[str, IncidentRow] = field(default_factory=dict)
    replies: dict[str, str] = field(default_factory=dict)
    new_runs: list[RunRow] = field(default_factory=list)
    changed: dict[str, RunRow] = field(default_factory=dict)
    longer: dict[str, RunRow] = field(default_factory=dict)
    """Runs that got events. Most change in nothing else, and then their row's indexes are left alone."""
    finished: dict[str, int] = field(default_factory=dict)
    """Runs all of whose open incidents close, with the `seq` that closes them."""
    changed_incidents: dict[str, IncidentRow] = field(default_factory=dict)
    new_replies: dict[str, str] = field(default_factory=dict)
    events: list[NewEvent] = field(default_factory=list)
    blobs: dict[str, str] = field(default_factory=dict)

    def add_run(self, run_id: str) -> RunRow:
        run = RunRow(0, run_id, "queued")
        self.runs[run_id] = run
        self.new_runs.append(run)
        return run

    def touch(self, run: RunRow) -> None:
        self.changed[run.id] = run

    def lengthen(self, run: RunRow, drafts: Sequence[EventRow]) -> list[ev.JournalEvent]:
        """Give events their `seq`; what they mean for the row, and their blobs, are not looked at."""
        written = []
        for number, draft in enumerate(drafts, run.last_seq + 1):
            placed = draft.event.placed(run.id, number)
            written.append(placed)
            self.events.append(NewEvent(run, placed, draft.body, draft.blobs))
        run.last_seq += len(written)
        run.updated_at = written[-1].ts.timestamp()
        self.longer[run.id] = run
        return written

    def write(self, run: RunRow, draft: EventRow) -> ev.JournalEvent:
        """Give the event its `seq`, and let it take effect on the run's row and the incidents."""
        (event,) = self.lengthen(run, (draft,))
        self.blobs.update(draft.values)
        if run.id == ev.WORKSPACE_RUN_ID:
            pass  # a freeze of everything stands there too; the stream itself has no state
        elif type(event) in RUN_COLUMNS:
            self._phase(run, event)
        elif type(event) in INCIDENT_COLUMNS:
            self._incident(run, event)
        return event

    def _phase(self, run: RunRow, event: ev.JournalEvent) -> None:
        """The run's state, by the fold's own rule: what it means is said in one place."""
        self.touch(run)
        if isinstance(event, ev.RunMoved) or (isinstance(event, ev.RunCreated | ev.RunStarted) and not run.code):
            run.code = event.code
        if isinstance(event, ev.RunMoved | ev.RunCreated):
            run.queue = event.queue or run.queue
        wake_at = datetime.fromtimestamp(run.wake_at, UTC) if run.wake_at is not None else None
        probe = DurableRun(id=run.id, phase=run.state, wake_at=wake_at)  # type: ignore[arg-type]
        was_terminal = probe.terminal
        probe.apply(event)
        run.state = probe.phase
        run.wake_at = probe.wake_at.timestamp() if probe.wake_at is not None else None
        if probe.terminal and not was_terminal:
            self.finished[run.id] = event.seq
            run.open_incidents = 0
            for incident in self.incidents.values():
                if incident.run == run.id and incident.state == "open":
                    self._close(incident, event.seq)

    def _incident(self, run: RunRow, event: ev.JournalEvent) -> None:
        assert isinstance(event, ev.IncidentOpened | ev.IncidentAnswered | ev.IncidentClosed)
        known = self.incidents.get(event.incident_id)
        if isinstance(event, ev.IncidentOpened):
            if known is None:
                over = run.state in RUN_TERMINAL
                known = IncidentRow(event.incident_id, run.id, "closed" if over else "open", event.revision, event.seq)
                self.incidents[known.id] = self.changed_incidents[known.id] = known
                run.open_incidents += not over
        elif known is not None and known.run == run.id and known.state == "open":
            run.open_incidents -= 1
            if run.state == "waiting":  # as the fold has it: what the run waited for is over
                run.state = "queued"
                self.touch(run)
            if isinstance(event, ev.IncidentAnswered):
                known.state, known.answer_seq = "answered", event.seq
                self.changed_incidents[known.id] = known
            else:
                self._close(known, event.seq)

    def _close(self, incident: IncidentRow, seq: int) -> None:
        incident.state, incident.closed_seq = "closed", seq
        self.changed_incidents[incident.id] = incident


class Write(ABC):
    """One thing that a caller asked for. `apply` raises before it changes anything, or not at all."""

    sync = False
    """Whether its transaction must be on disk before it is answered."""
    counted = False
    """Whether it writes events, for the test hook that dies after so many."""
    may_wait = False
    """Whether it waits in memory where the store cannot be written now: a drive would lose what came of a step."""
    begins = False
    """Whether something begins with it: refused where the journal's file is not at its path any more."""
    ended: Callable[[Any], None] | None = None
    """Told its result, or its `JournalError`, before its caller is. It is carried out also where that is cancelled."""

    def run_ids(self) -> Sequence[str]:
        return ()

    def incident_ids(self) -> Sequence[str]:
        return ()

    def command_ids(self) -> Sequence[str]:
        return ()

    @abstractmethod
    def apply(self, batch: Batch) -> Any: ...
