"""What every reader of a journal's rows has in common: events with their values, summaries, the inbox. No SQL here."""

from __future__ import annotations

import json
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from runtime.record.inbox_row import InboxRow
from runtime.record.journal import AmbiguousId, Lease, PlacedEvent, Unrecordable
from runtime.record.rules.batch import WrittenEvent
from runtime.record.rules.rows import decode_event
from runtime.record.rules.stored_summary import StoredSummary
from runtime.record.rules.writes import RebuildSummary
from runtime.record.state import events as ev
from runtime.record.state.clock import Instant
from runtime.record.state.durable_run import DurableRun, Summary
from runtime.record.state.fault_taxonomy import Cause, Classification, Origin, Persistence

log = logging.getLogger(__name__)

_INSTANT: Final = re.compile(r'"ts":"([^"\\]+)"')
_INCIDENT_ID: Final = re.compile(r'"incident_id":"([^"\\]+)"')
_INCIDENTS_AT_ONCE = 200
CHUNK_ROWS = 1000


class StoredEvent(NamedTuple):
    """A row of an event. `pos` is its position, or its `seq` where one run was asked for."""

    pos: int
    run: str
    seq: int
    body: str
    blobs: str | None


class StoredIncident(NamedTuple):
    """A row of an incident, with its run's id."""

    id: str
    run: str
    opened_seq: int
    answer_seq: int | None


class StoredReader(ABC):
    """What a journal object reads. All methods raise `JournalError`."""

    def __init__(self) -> None:
        self.closed = False
        self.renewed: list[RebuildSummary] = []
        """Summaries that had to be made again, for a caller that may write them down."""

    @abstractmethod
    async def event_rows(self, run_id: str | None, after: int, limit: int) -> list[StoredEvent]:
        """Events after a run's `seq`, or without a run after a position, in order."""

    @abstractmethod
    async def latest_rows(
        self, run_id: str | None, after: int, before: int | None, limit: int, marks: Sequence[str]
    ) -> list[StoredEvent]:
        """The latest events between two places, the newest first, in whose body one of `marks` stands."""

    @abstractmethod
    async def searched_rows(self, after: int, limit: int, word: str) -> list[StoredEvent]:
        """Events of runs after a position, in order, that have texts to be searched; with a `word` only those in whose
        stored JSON it may stand, small letters as capitals: the caller checks.
        """

    @abstractmethod
    async def blob_rows(self, digests: Sequence[str]) -> dict[str, str]:
        """Values by their digests."""

    @abstractmethod
    async def summary_rows(self, limit: int, states: Sequence[str]) -> list[StoredSummary]:
        """Runs, the newest first; with `states` only those in one of them."""

    @abstractmethod
    async def summary_row(self, run_id: str) -> StoredSummary | None: ...

    @abstractmethod
    async def open_incident_rows(self, run_id: str | None) -> list[tuple[str | None, StoredEvent]]:
        """The events that opened the incidents that are open, the oldest first, with the summaries of their runs."""

    @abstractmethod
    async def later_incident_rows(
        self, after: int, limit: int, unmarked: str
    ) -> list[tuple[int, str | None, StoredEvent]]:
        """The same of the first `limit` with a number above `after`, which stands before each; with `unmarked`, only
        those of which no later event with that text tells.
        """

    @abstractmethod
    async def incident_rows(self, prefix: str) -> list[StoredIncident]:
        """At most six incidents whose id begins so, in the order of their bytes."""

    @abstractmethod
    async def run_ids(self) -> list[str]:
        """The ids of all runs, the oldest first."""

    @abstractmethod
    async def position(self) -> int: ...

    @abstractmethod
    async def leases(self) -> list[Lease]:
        """Leases that were not given back, run out or not."""

    @abstractmethod
    async def reply(self, command_id: str) -> str | None:
        """The stored reply to a command."""

    async def events(self, run_id: str, after: int = 0, limit: int | None = None) -> list[ev.JournalEvent]:
        found: list[ev.JournalEvent] = []
        while limit is None or len(found) < limit:
            size = CHUNK_ROWS if limit is None else min(CHUNK_ROWS, limit - len(found))
            part = await self.events_after(run_id, after, size)
            found.extend(written.event for written in part)
            if len(part) < size:
                break
            after = part[-1].pos
        return found

    async def events_after(self, run_id: str | None, cursor: int, limit: int) -> list[WrittenEvent]:
        """Events after a run's `seq`, or without a run after a position. A run's `pos` is the event's `seq`.

        Raises:
            Unrecordable: one of the run's cannot be read. Among those of all runs it is an `UnknownEvent`.
        """
        rows = await self.event_rows(run_id, cursor, limit)
        values = await self.values_of(rows)
        read = decoded_event if run_id is not None else listed_event
        return [WrittenEvent(row.pos, read(row, values)) for row in rows]

    async def latest(
        self, run_id: str | None, after: int, before: int | None, limit: int, marks: Sequence[str]
    ) -> list[PlacedEvent]:
        """See `runtime.record.journal.Journal.latest`. Raises as `events_after`."""
        rows = await self.latest_rows(run_id, after, before, limit, marks)
        values = await self.values_of(rows)
        read = decoded_event if run_id is not None else listed_event
        return [PlacedEvent(row.pos, read(row, values)) for row in reversed(rows)]

    async def values_of(self, rows: Iterable[StoredEvent]) -> dict[str, str]:
        """The values that the rows name, by their digests."""
        digests = sorted({digest for row in rows if row.blobs for digest in json.loads(row.blobs).values()})
        return await self.blob_rows(digests) if digests else {}

    async def event(self, run_id: str, seq: int) -> ev.JournalEvent | None:
        found = await self.events_after(run_id, seq - 1, 1)
        return found[0].event if found and found[0].pos == seq else None

    async def fold(self, run_id: str) -> DurableRun:
        """A run's state from all its events, read in pieces so that a long run does not hold up the loop."""
        state = DurableRun(id="")
        async for event in self.iterate_events(run_id):
            state.apply(event)
        return state

    async def iterate_events(self, run_id: str) -> AsyncIterator[ev.JournalEvent]:
        after = 0
        while part := await self.events_after(run_id, after, CHUNK_ROWS):
            for written in part:
                yield written.event
            after = part[-1].pos

    async def summaries(self, limit: int, states: Sequence[str]) -> list[Summary]:
        return [await self._summary(row) for row in await self.summary_rows(limit, states)]

    async def summary(self, run_id: str) -> Summary | None:
        row = await self.summary_row(run_id)
        return await self._summary(row) if row is not None else None

    async def _summary(self, row: StoredSummary) -> Summary:
        """The run's summary. Of a run that cannot be read it has what the row has, and says so."""
        try:
            return row.current(row.cached() or await self._fold_summary(row.run))
        except Unrecordable as exc:
            return row.current(Summary(id=row.run, error=str(exc)))

    async def _fold_summary(self, run_id: str) -> Summary:
        state = await self.fold(run_id)
        made = state.summary()
        self.renewed.append(RebuildSummary(run_id, state.last_seq, made.to_json()))
        return made

    async def incidents(self, run_id: str | None) -> list[InboxRow]:
        """See `runtime.record.journal.Journal.incidents`."""
        return await self._opened(await self.open_incident_rows(run_id))

    async def iterate_incidents(self, unmarked: str) -> AsyncIterator[InboxRow]:
        """See `runtime.record.journal.Journal.iterate_incidents`."""
        after = 0
        while rows := await self.later_incident_rows(after, _INCIDENTS_AT_ONCE, unmarked):
            for found in await self._opened([(summary, row) for _, summary, row in rows]):
                yield found
            after = rows[-1][0]

    async def _opened(self, rows: Sequence[tuple[str | None, StoredEvent]]) -> list[InboxRow]:
        values = await self.values_of(row for _, row in rows)
        found: list[InboxRow] = []
        for summary, row in rows:
            found.append(InboxRow(row.run, _listed_incident(row, values), _title(summary)))
        return found

    async def incident(self, incident_id: str) -> tuple[str, ev.IncidentOpened, ev.IncidentAnswered | None] | None:
        """See `runtime.record.journal.Journal.incident`."""
        rows = await self.incident_rows(incident_id) if incident_id else []
        if not rows:
            return None
        if len(rows) > 1 and rows[0].id != incident_id:
            names = ", ".join(row.id for row in rows)
            raise AmbiguousId(f"{incident_id!r} begins more than one incident ({names}): give more of the id")
        found = rows[0]
        opened = await self.event(found.run, found.opened_seq)
        answer = await self.event(found.run, found.answer_seq) if found.answer_seq is not None else None
        assert isinstance(opened, ev.IncidentOpened)
        assert answer is None or isinstance(answer, ev.IncidentAnswered)
        return found.run, opened, answer


def decoded_event(row: StoredEvent, values: dict[str, str]) -> ev.JournalEvent:
    """The event of a row. Raises `Unrecordable`."""
    return decode_event(row.run, row.seq, row.body, row.blobs, values)


def listed_event(row: StoredEvent, values: dict[str, str]) -> ev.JournalEvent:
    """The event of a row, for lists of many runs: an `UnknownEvent` where it cannot be read. One odd row must not hide
    all others; who needs every event of a run reads with `decoded_event`.
    """
    try:
        return decoded_event(row, values)
    except Unrecordable as exc:
        log.warning("%s", exc)
        return ev.UnknownEvent(
            type=ev.type_in_line(row.body) or "?", run_id=row.run, seq=row.seq, ts=_instant_in(row.body)
        )


def _instant_in(body: str) -> datetime:
    """The instant that a row says, where it says one; else the beginning of time: it must not seem to be of now."""
    found = _INSTANT.search(body)
    try:
        return msgspec.convert(found[1] if found else "", Instant)
    except msgspec.ValidationError:
        return datetime.fromtimestamp(0, UTC)


def _listed_incident(row: StoredEvent, values: dict[str, str]) -> ev.IncidentOpened:
    """The event that opened an incident. One that cannot be read says so: a person can still abort its run."""
    try:
        opened = decoded_event(row, values)
    except Unrecordable as exc:
        fault = Classification(
            origin=Origin.STORE, cause=Cause.INTERNAL, persistence=Persistence.NEEDS_CHANGE, user_message=str(exc)
        )
        found = _INCIDENT_ID.search(row.body)
        opened = ev.IncidentOpened(
            run_id=row.run,
            seq=row.seq,
            ts=_instant_in(row.body),
            incident_id=found[1] if found else f"{row.run}#{row.seq}",
            fault=fault,
            message=str(exc),
        )
    assert isinstance(opened, ev.IncidentOpened)
    return opened


def _title(summary: str | None) -> str:
    """The title of a run; empty where something else than a summary is stored."""
    try:
        return Summary.from_json(summary).shown_title if summary else ""
    except ValueError:
        return ""
