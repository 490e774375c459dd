"""What callers may ask of a journal's writer, but for leases, each as one operation on a batch's rows: no I/O here.

An operation checks before it changes anything, so that one that fails fails alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from runtime.record.journal import AnswerRefused, AppendEnded, JournalError, StaleSequence
from runtime.record.rules.batch import INCIDENT_COLUMNS, RUN_COLUMNS, Batch, RunRow, Write
from runtime.record.rules.lease_writes import LeasedWrite, give_back
from runtime.record.rules.parking import decide_park
from runtime.record.rules.posting import refusal
from runtime.record.rules.rows import EventRow, encode_event
from runtime.record.state import events as ev


@dataclass(slots=True)
class CreateRun(Write):
    run_id: str
    drafts: Sequence[EventRow]
    summary: str
    sync = True
    counted = True
    begins = True

    def run_ids(self) -> Sequence[str]:
        return (self.run_id,)

    def apply(self, batch: Batch) -> bool:
        if self.run_id in batch.runs:
            return False
        run = batch.add_run(self.run_id)
        run.summary = self.summary
        for draft in self.drafts:
            batch.write(run, draft)
        return True


@dataclass(slots=True)
class AppendEvents(LeasedWrite):
    drafts: Sequence[EventRow]
    summary: str | None
    seen: int | None
    release: bool = False
    ended: AppendEnded | None = None
    counted = True
    may_wait = True

    only_lengthens: bool = field(init=False)
    """Whether it adds rows of events, and changes nothing else but how long its run is, and the run's summary."""

    def __post_init__(self) -> None:
        only_lengthens = bool(self.drafts) and not self.release
        for draft in self.drafts:
            kind = type(draft.event)
            if draft.event.durable:
                self.sync = True
                self.begins = self.begins or kind is ev.StepStarted
            if draft.values or kind in RUN_COLUMNS or kind in INCIDENT_COLUMNS:
                only_lengthens = False
        self.only_lengthens = only_lengthens

    def incident_ids(self) -> Sequence[str]:
        if self.only_lengthens:
            return ()
        found: list[str] = []
        for draft in self.drafts:
            if type(draft.event) in INCIDENT_COLUMNS:
                found.append(draft.event.incident_id)  # type: ignore[attr-defined]
            elif type(draft.event) is ev.RunParked:
                found.extend(draft.event.incidents)
        return found

    def apply(self, batch: Batch) -> Sequence[ev.JournalEvent]:
        run = self.leased_run(batch)
        if self.only_lengthens:
            written: Sequence[ev.JournalEvent] = batch.lengthen(run, self.drafts)
        else:
            written = self._change(batch, run)
        if self.summary is not None:
            run.summary = self.summary
            batch.longer[run.id] = run
        if self.release:
            give_back(batch, run)
        return written

    def _change(self, batch: Batch, run: RunRow) -> Sequence[ev.JournalEvent]:
        """Write events that may change more of the run's row, or an incident."""
        ends = any(type(draft.event) in (ev.RunFinished, ev.RunRewound) for draft in self.drafts)
        if ends and self.seen is not None and run.told_seq > self.seen:
            raise StaleSequence(f"run {run.id} was told something that its driver has not read (event {run.told_seq})")
        written = [batch.write(run, self._decide_park(batch, run, draft)) for draft in self.drafts]
        for event in written:
            if type(event) is ev.RunRewound:
                run.told_seq = event.seq  # a request for another rewind must know which nodes are gone
        return written

    def _decide_park(self, batch: Batch, run: RunRow, draft: EventRow) -> EventRow:
        """A park as `runtime.record.rules.parking` decides it from this transaction's rows; anything else as it is."""
        park = draft.event
        if type(park) is not ev.RunParked:
            return draft

        def is_open(incident_id: str) -> bool:
            found = batch.incidents.get(incident_id)
            return found is not None and found.run == run.id and found.state == "open"

        seen = self.lease.seq if self.seen is None else self.seen
        made = decide_park(
            park,
            now=datetime.fromtimestamp(batch.now, UTC),
            told=run.told_seq > seen,
            frozen=run.state == "frozen",
            open_incidents=run.open_incidents,
            is_open=is_open,
        )
        return draft if made is park else encode_event(made)


@dataclass(slots=True)
class AnswerIncident(Write):
    """Gives the accepted event, or why not, with the place (run id, seq) of the event that says so.

    `grant` is the permission that the answer makes: written with it, or not at all.
    """

    draft: EventRow
    grant: EventRow | None = None
    sync = True
    counted = True
    begins = True

    @property
    def event(self) -> ev.IncidentAnswered:
        assert isinstance(self.draft.event, ev.IncidentAnswered)
        return self.draft.event

    def run_ids(self) -> Sequence[str]:
        return (ev.WORKSPACE_RUN_ID,) if self.grant is not None else ()

    def incident_ids(self) -> Sequence[str]:
        return (self.event.incident_id,)

    def apply(self, batch: Batch) -> ev.IncidentAnswered | tuple[AnswerRefused, str, int | None]:
        found = batch.incidents.get(self.event.incident_id)
        run = batch.runs.get(found.run) if found is not None else None
        if found is None or run is None:
            return AnswerRefused("unknown", f"unknown incident {self.event.incident_id}"), "", None
        if found.state != "open":
            return AnswerRefused(found.state), run.id, found.answer_seq or found.closed_seq
        if found.revision != self.event.revision:
            detail = f"it was given for revision {self.event.revision}, the incident is at revision {found.revision}"
            return AnswerRefused("revision", detail), run.id, None
        if self.grant is not None:
            # Before the answer: a reader of the answer looks for the grant at once.
            batch.write(batch.runs[ev.WORKSPACE_RUN_ID], self.grant)
        event = batch.write(run, self.draft)
        _wake_run(batch, run, event)
        assert isinstance(event, ev.IncidentAnswered)
        return event


@dataclass(slots=True)
class PostEvent(Write):
    run_id: str
    draft: EventRow
    told: int | None = None
    effective: bool = False
    counted = True

    def __post_init__(self) -> None:
        self.sync = self.draft.event.durable

    def run_ids(self) -> Sequence[str]:
        return (self.run_id,)

    def incident_ids(self) -> Sequence[str]:
        event = self.draft.event
        return (event.incident_id,) if isinstance(event, ev.IncidentClosed | ev.AnswerProposed) else ()

    def apply(self, batch: Batch) -> ev.JournalEvent:
        run, event = batch.runs.get(self.run_id), self.draft.event
        if run is None:
            raise JournalError(f"unknown run {self.run_id}")
        told_seq = run.last_seq if run.id == ev.WORKSPACE_RUN_ID else run.told_seq
        if self.told is not None and told_seq > self.told:
            raise StaleSequence(f"run {run.id} was told something else meanwhile (event {told_seq})")
        asked = self.effective or isinstance(event, ev.AbortRequested | ev.ClockStepped)
        if asked and run.id != ev.WORKSPACE_RUN_ID and (why := refusal(event, run.state)):
            raise StaleSequence(f"run {run.id} {why}")
        if isinstance(event, ev.IncidentClosed):
            found = batch.incidents.get(event.incident_id)
            if found is None or found.run != run.id or found.state != "open":
                state = found.state if found is not None and found.run == run.id else "unknown"
                raise JournalError(f"incident {event.incident_id} of run {run.id} is {state}: it cannot be closed")
        if self.effective and isinstance(event, ev.AnswerProposed):
            found = batch.incidents.get(event.incident_id)
            if found is None or found.state != "open" or found.revision != event.revision:
                raise StaleSequence(f"incident {event.incident_id} does not wait for an answer as it was read")
        written = batch.write(run, self.draft)
        if isinstance(event, ev.WAKING_EVENTS) and run.id != ev.WORKSPACE_RUN_ID:
            _wake_run(batch, run, written)
        return written


def _wake_run(batch: Batch, run: RunRow, event: ev.JournalEvent) -> None:
    """An operator wants the run driven. A live drive is told by its tail; its lease is never touched."""
    batch.touch(run)
    run.told_seq = event.seq
    if run.state == "waiting":
        run.state = "queued"


@dataclass(slots=True)
class RecordCommand(Write):
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
class RebuildSummary(Write):
    """Put in a summary made again from a run's events up to `seq`, unless events came since."""

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
