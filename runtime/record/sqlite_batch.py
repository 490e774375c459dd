"""What one transaction of the SQLite journal does, decided in memory: no I/O here.

The writer loads the rows that a batch of operations may touch, lets each operation act on them in order, and writes
what came of it. An operation checks before it changes anything, so that one that fails fails alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runtime.record import events as ev
from runtime.record.journal import Fenced, JournalError, Lease, Refused
from runtime.record.sqlite_rows import Draft, must_sync
from runtime.record.state import RUN_TERMINAL, RunState

DESK_KINDS: tuple[type[ev.Record], ...] = (ev.AbortRequested, ev.AnalysisAdded, ev.IncidentClosed)
"""What may be appended to a run without its lease, besides answers."""


@dataclass(slots=True)
class RunRow:
    rid: int
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
    summary: str | None = None
    """Only where it is to be written."""

    def leased(self, now: float) -> bool:
        """Whether somebody's lease is alive. One that reaches further than its own length was given before a clock was
        set back: it counts as expired, else a dead driver's run would wait until the old time comes round again."""
        return self.lease_until is not None and now < self.lease_until <= now + self.lease_ttl

    def runnable(self, now: float) -> bool:
        due = self.state == "waiting" and self.wake_at is not None and self.wake_at <= now
        return self.state in ("queued", "running") or due


@dataclass(slots=True)
class IncidentRow:
    id: str
    run: int
    state: str
    revision: int
    opened_seq: int
    answer_seq: int | None = None
    closed_seq: int | None = None


class Written(NamedTuple):
    """An event with its place in the journal."""

    pos: int
    event: ev.Record


@dataclass(slots=True)
class Batch:
    """The rows of one transaction, before and after. `pos` and `rid` are the highest given so far."""

    now: float
    pos: int
    rid: int
    runs: dict[str, RunRow]
    incidents: dict[str, IncidentRow] = field(default_factory=dict)
    replies: dict[str, str] = field(default_factory=dict)
    new_runs: list[RunRow] = field(default_factory=list)
    changed: dict[int, RunRow] = field(default_factory=dict)
    finished: dict[int, int] = field(default_factory=dict)
    """Runs all of whose open incidents close, with the `seq` that closes them."""
    changed_incidents: dict[str, IncidentRow] = field(default_factory=dict)
    new_replies: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[int, int, int, str, str | None]] = field(default_factory=list)
    blobs: dict[str, str] = field(default_factory=dict)
    written: list[Written] = field(default_factory=list)

    def add_run(self, run_id: str) -> RunRow:
        self.rid += 1
        run = RunRow(self.rid, run_id, "queued")
        self.runs[run_id] = run
        self.new_runs.append(run)
        return run

    def touch(self, run: RunRow) -> None:
        self.changed[run.rid] = run

    def write(self, run: RunRow, draft: Draft) -> ev.Record:
        """Give the event its place, and let it take effect on the run's row and the incidents."""
        self.pos += 1
        run.last_seq += 1
        event = draft.event.model_copy(update={"seq": run.last_seq, "run_id": run.id})
        self.rows.append((self.pos, run.rid, run.last_seq, draft.body, draft.blobs))
        self.blobs.update(draft.values)
        self.written.append(Written(self.pos, event))
        run.updated_at = event.ts.timestamp()
        self.touch(run)
        if isinstance(event, ev.IncidentOpened | ev.IncidentAnswered | ev.IncidentClosed):
            self._incident(run, event)
        elif getattr(event, "type", "").startswith("run."):
            self._phase(run, event)
        return event

    def _phase(self, run: RunRow, event: ev.Record) -> None:
        """The run's state, by the fold's own rule: what it means is said in one place."""
        probe = RunState(id=run.id, phase=run.state)  # type: ignore[arg-type]
        was_terminal = probe.terminal
        probe.apply(event)
        run.state = probe.phase
        run.wake_at = probe.wake_at.timestamp() if probe.wake_at is not None else None
        if probe.terminal and not was_terminal:
            self.finished[run.rid] = event.seq
            for incident in self.incidents.values():
                if incident.run == run.rid and incident.state == "open":
                    self._close(incident, event.seq)

    def _incident(self, run: RunRow, event: ev.IncidentOpened | ev.IncidentAnswered | ev.IncidentClosed) -> None:
        known = self.incidents.get(event.incident_id)
        if isinstance(event, ev.IncidentOpened):
            if known is None:
                over = run.state in RUN_TERMINAL
                known = IncidentRow(event.incident_id, run.rid, "closed" if over else "open", event.revision, event.seq)
                self.incidents[known.id] = self.changed_incidents[known.id] = known
        elif known is not None and known.run == run.rid and known.state == "open":
            if isinstance(event, ev.IncidentAnswered):
                known.state, known.answer_seq = "answered", event.seq
                self.changed_incidents[known.id] = known
            else:
                self._close(known, event.seq)

    def _close(self, incident: IncidentRow, seq: int) -> None:
        incident.state, incident.closed_seq = "closed", seq
        self.changed_incidents[incident.id] = incident


class Op(ABC):
    """One thing that a caller asked for. `apply` raises before it changes anything, or not at all."""

    sync = False
    """Whether its transaction must be on disk before it is answered."""
    counted = False
    """Whether it writes events, for the test hook that dies after so many."""

    def run_ids(self) -> Sequence[str]:
        return ()

    def incident_ids(self) -> Sequence[str]:
        return ()

    def command_ids(self) -> Sequence[str]:
        return ()

    @abstractmethod
    def apply(self, batch: Batch) -> Any: ...


@dataclass(slots=True)
class Create(Op):
    draft: Draft
    summary: str
    sync = True
    counted = True

    def run_ids(self) -> Sequence[str]:
        return (self.draft.event.run_id,)

    def apply(self, batch: Batch) -> bool:
        if self.draft.event.run_id in batch.runs:
            return False
        run = batch.add_run(self.draft.event.run_id)
        run.summary = self.summary
        batch.write(run, self.draft)
        return True


@dataclass(slots=True)
class Claim(Op):
    run_id: str
    owner: str
    ttl_s: float

    def run_ids(self) -> Sequence[str]:
        return (self.run_id,)

    def apply(self, batch: Batch) -> Lease | None:
        run = batch.runs.get(self.run_id)
        if run is None or not run.runnable(batch.now) or run.leased(batch.now):
            return None
        if run.lease_until is not None and run.owner == self.owner:
            return None  # this process drives it, however late it is: it renews, it does not start a second drive
        run.epoch += 1
        run.owner, run.lease_ttl, run.lease_until = self.owner, self.ttl_s, batch.now + self.ttl_s
        batch.touch(run)
        return Lease(run.id, run.owner, run.epoch, self.ttl_s, run.last_seq)


@dataclass(slots=True)
class Leased(Op):
    """What only the holder of a lease may do. An expired lease that nobody took over is still its holder's."""

    lease: Lease

    def run_ids(self) -> Sequence[str]:
        return (self.lease.run_id,)

    def held(self, batch: Batch) -> RunRow:
        run = batch.runs.get(self.lease.run_id)
        if run is None:
            raise Fenced(f"run {self.lease.run_id} is not in the journal (pruned?)")
        if run.lease_until is None or run.epoch != self.lease.epoch or run.owner != self.lease.owner:
            holder = f"{run.owner} holds epoch {run.epoch}" if run.lease_until is not None else "it was given back"
            raise Fenced(
                f"the lease of {self.lease.owner} on run {run.id}, epoch {self.lease.epoch}, is over: {holder}"
            )
        return run


@dataclass(slots=True)
class Renew(Leased):
    def apply(self, batch: Batch) -> None:
        run = self.held(batch)
        run.lease_until, run.lease_ttl = batch.now + self.lease.ttl_s, self.lease.ttl_s
        batch.touch(run)


@dataclass(slots=True)
class Release(Leased):
    def apply(self, batch: Batch) -> None:
        try:
            run = self.held(batch)
        except Fenced:
            return
        run.lease_until, run.owner = None, ""
        batch.touch(run)


@dataclass(slots=True)
class Append(Leased):
    drafts: Sequence[Draft]
    summary: str | None
    seen: int
    counted = True

    def __post_init__(self) -> None:
        self.sync = any(must_sync(draft.event) for draft in self.drafts)

    def incident_ids(self) -> Sequence[str]:
        return [
            draft.event.incident_id
            for draft in self.drafts
            if isinstance(draft.event, ev.IncidentOpened | ev.IncidentAnswered | ev.IncidentClosed)
        ]

    def apply(self, batch: Batch) -> Sequence[ev.Record]:
        run = self.held(batch)
        written = [batch.write(run, draft) for draft in self.drafts]
        if self.summary is not None:
            run.summary = self.summary
        parked = any(isinstance(event, ev.RunParked) for event in written)
        if parked and run.state == "waiting" and run.told_seq > self.seen:
            # Somebody answered after the fold that decided to park: compared on the run's own row, in this transaction.
            run.state = "queued"
        return written


@dataclass(slots=True)
class Answer(Op):
    """Gives the accepted event, or why not, with the place (run id, seq) of the event that says so."""

    draft: Draft
    sync = True
    counted = True

    @property
    def event(self) -> ev.IncidentAnswered:
        assert isinstance(self.draft.event, ev.IncidentAnswered)
        return self.draft.event

    def incident_ids(self) -> Sequence[str]:
        return (self.event.incident_id,)

    def apply(self, batch: Batch) -> ev.IncidentAnswered | tuple[Refused, str, int | None]:
        found = batch.incidents.get(self.event.incident_id)
        run = next((run for run in batch.runs.values() if found is not None and run.rid == found.run), None)
        if found is None or run is None:
            return Refused("unknown", f"there is no incident {self.event.incident_id}"), "", None
        if found.state != "open":
            return Refused(found.state), run.id, found.answer_seq or found.closed_seq
        if found.revision != self.event.revision:
            detail = f"it was given for revision {self.event.revision}, the incident is at revision {found.revision}"
            return Refused("revision", detail), run.id, None
        event = batch.write(run, self.draft)
        _tell(run, event)
        assert isinstance(event, ev.IncidentAnswered)
        return event


@dataclass(slots=True)
class Post(Op):
    run_id: str
    draft: Draft
    counted = True

    def __post_init__(self) -> None:
        self.sync = must_sync(self.draft.event)

    def run_ids(self) -> Sequence[str]:
        return (self.run_id,)

    def incident_ids(self) -> Sequence[str]:
        event = self.draft.event
        return (event.incident_id,) if isinstance(event, ev.IncidentClosed) else ()

    def apply(self, batch: Batch) -> ev.Record:
        run, event = batch.runs.get(self.run_id), self.draft.event
        if run is None:
            raise JournalError(f"there is no run {self.run_id}")
        if isinstance(event, ev.AbortRequested) and run.state in RUN_TERMINAL:
            raise JournalError(f"run {run.id} is {run.state} already: there is nothing to abort")
        if isinstance(event, ev.IncidentClosed):
            found = batch.incidents.get(event.incident_id)
            if found is None or found.run != run.rid or found.state != "open":
                state = found.state if found is not None and found.run == run.rid else "unknown"
                raise JournalError(f"incident {event.incident_id} of run {run.id} is {state}: it cannot be closed")
        written = batch.write(run, self.draft)
        if isinstance(event, ev.AbortRequested):
            _tell(run, written)
        return written


def _tell(run: RunRow, event: ev.Record) -> None:
    """The desk wants the run driven. A live drive is told by its tail; its lease is never touched."""
    run.told_seq = event.seq
    if run.state == "waiting":
        run.state = "queued"


@dataclass(slots=True)
class Command(Op):
    command_id: str
    reply: str
    sync = True

    def command_ids(self) -> Sequence[str]:
        return (self.command_id,)

    def apply(self, batch: Batch) -> str:
        known = batch.replies.get(self.command_id)
        if known is not None:
            return known
        batch.replies[self.command_id] = batch.new_replies[self.command_id] = self.reply
        return self.reply


@dataclass(slots=True)
class Resummarise(Op):
    """Put in a summary made anew from a run's events up to `seq`, unless events came since."""

    run_id: str
    seq: int
    summary: str

    def run_ids(self) -> Sequence[str]:
        return (self.run_id,)

    def apply(self, batch: Batch) -> bool:
        run = batch.runs.get(self.run_id)
        if run is None or run.last_seq != self.seq:
            return False
        run.summary = self.summary
        batch.touch(run)
        return True
