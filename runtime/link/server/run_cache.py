"""The cache of watched runs: state folded once for all consoles, and the latest events as sent.

A console that has the run up to some event gets what came since, if that is still at hand, else the state: as long as
the run has nodes, however many events made them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

import msgspec

from runtime.link.wire.protocol import SnapshotReason
from runtime.link.wire.run_snapshot import snapshot_parts
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun

RECENT_EVENTS = 2000
"""Events kept as sent, for consoles that come back after a cut."""
MAX_IDLE_RUNS = 8
"""Runs kept though no console watches them any more."""
CHUNK_EVENTS = 1000
"""Events folded in one go: the other consoles must not wait for a big run."""


def event_line(event: ev.JournalEvent) -> bytes:
    """`event` as a `RunEvent` message; written by hand, since the body is JSON already."""
    head = f'{{"t":"event","run_id":{_quoted(event.run_id)},"seq":{event.seq},"body":'
    return head.encode() + ev.dump_event(event).encode() + b"}"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


class CachedRun:
    """The fold of one run, fed with its events in order."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.state = DurableRun()
        self._recent: deque[tuple[int, bytes]] = deque(maxlen=RECENT_EVENTS)

    @property
    def seq(self) -> int:
        return self.state.last_seq

    def feed(self, event: ev.JournalEvent) -> bytes | None:
        """Take the next event in; the line that tells consoles of it, None if it is known already.

        Raises:
            LookupError: events between the last one and this are missing.
        """
        if event.seq <= self.seq:
            return None
        if event.seq != self.seq + 1:
            raise LookupError(f"run {self.run_id}: event {event.seq} came after {self.seq}")
        self.state.apply(event)
        line = event_line(event)
        self._recent.append((event.seq, line))
        return line

    def events_since(self, after: int) -> list[bytes] | None:
        """Lines of the events after `after`; None if one is not at hand, or if `after` is not one of this run's."""
        if after <= 0 or after > self.seq:
            return None
        if after == self.seq:
            return []
        if not self._recent or self._recent[0][0] > after + 1:
            return None
        return [line for seq, line in self._recent if seq > after]

    def snapshot(self, why: SnapshotReason) -> list[bytes]:
        """The state in `RunSnapshot` messages."""
        return [message.line() for message in snapshot_parts(self.run_id, self.state, why)]


class RunCache:
    """The runs that are watched, and the few that were watched last: consoles come back."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._runs: dict[str, CachedRun] = {}
        self._loading: dict[str, list[ev.JournalEvent]] = {}

    def get(self, run_id: str) -> CachedRun | None:
        return self._runs.get(run_id)

    def clear(self) -> None:
        self._runs.clear()

    def feed(self, event: ev.JournalEvent) -> bytes | None:
        """Take the journal's next event in; the line that tells of it, None if no console needs it.

        Raises:
            LookupError: the run has a gap; it is forgotten and has to be loaded again.
        """
        if (waiting := self._loading.get(event.run_id)) is not None:
            waiting.append(event)
        run = self._runs.get(event.run_id)
        if run is None:
            return None
        try:
            return run.feed(event)
        except LookupError:
            del self._runs[event.run_id]
            raise

    async def load(self, run_id: str) -> CachedRun | None:
        """Fold a run from the journal; None if there is no such run. What the tail brings meanwhile is kept and taken
        in at the end, so that a console that joins then has all before and will see all after. Raises `JournalError`.
        """
        run = CachedRun(run_id)
        waiting = self._loading.setdefault(run_id, [])
        try:
            more = True
            while more:  # to what was the end, not to where a run that is written to without a pause has nothing new
                events = await self._journal.read(run_id, run.seq, CHUNK_EVENTS)
                for event in events:
                    run.feed(event)
                more = len(events) == CHUNK_EVENTS
        finally:
            self._loading.pop(run_id, None)
        if run_id in self._runs:
            return self._runs[run_id]
        for event in waiting:
            run.feed(event)
        if not run.seq:
            return None
        self._runs[run_id] = run
        return run

    def trim(self, watched: Collection[str]) -> None:
        """Forget runs that no console watches, but for the latest few."""
        idle = [run_id for run_id in self._runs if run_id not in watched]
        for run_id in idle[: max(0, len(idle) - MAX_IDLE_RUNS)]:
            del self._runs[run_id]
