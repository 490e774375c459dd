"""The journal port: what every journal promises (append, answer, claim of a lease, changes).

The journal is append-only and the only truth. It gives `seq`, keeps order within a run (there is none across runs),
and refuses the writes of a process that no longer holds a run's lease. One suite tests these promises with every
implementation. The vocabulary of events is imported by who uses it: a program that only lists runs waits for none of
it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Struct

from orbiter.errors import OrbiterError
from runtime.record.found_run import FoundRun
from runtime.record.workers import WorkerRegistry

if TYPE_CHECKING:
    from runtime.record.inbox_row import InboxRow
    from runtime.record.state.events import (
        FreezeSet,
        GrantAdded,
        IncidentAnswered,
        IncidentOpened,
        JournalEvent,
        RunCreated,
        RunFrozen,
    )
    from runtime.record.state.summary import Summary

CLOCK_CORRECTION_S = 1.0
"""By how much, in seconds, a clock is corrected without that counting as having been set back."""


class JournalError(OrbiterError):
    """The journal cannot do what was asked: disk full, read-only, corrupt, newer than this program."""


class Unwritable(JournalError):
    """The store cannot be written now (disk full, I/O error, busy), and may be later: nothing was written."""


class CommitUnknown(JournalError):
    """The store was lost while it committed, and does not come back: what was asked may be written or not."""


class Displaced(JournalError):
    """The journal's file is not at its path any more: nothing new may begin in it."""


class AmbiguousId(JournalError):
    """What was named by a beginning of its id could be several."""


class NewerJournal(JournalError):
    """A newer program wrote it: nothing is wrong with the file."""


class Unrecordable(JournalError):
    """An event of one run cannot be written, or read, however healthy the store is: that run is at fault alone."""


class Fenced(JournalError):
    """The lease is another's by now; nothing was written."""


class StaleSequence(JournalError):
    """Another event for the run came first; nothing was written."""


class Lease(Struct, frozen=True):
    """The right to write a run, until it expires. `epoch` rises with every claim; `seq` is the run's last event at
    that moment.
    """

    run_id: str
    owner: str
    epoch: int
    ttl_s: float
    seq: int = 0


AppendEnded: TypeAlias = "Callable[[Sequence[JournalEvent] | JournalError], None]"
"""Told what came of an append: its events as they are written, or why they are not."""


class Follower(Protocol):
    """What `Journal.follow` gives."""

    def stop(self) -> None:
        """Give no more events."""
        ...


class AnswerAccepted(Struct, frozen=True):
    """The answer stands; `seq` is its event's."""

    answer: IncidentAnswered


class AnswerRefused(Struct, frozen=True):
    """The answer was not taken: `unknown` incident, `answered` before (`first` says by whom), `closed`, or of an
    old `revision`.
    """

    reason: str
    detail: str = ""
    first: IncidentAnswered | None = None


class PlacedEvent(Struct, frozen=True):
    """An event and its place: its `seq` within its run, or its position among the events of all runs."""

    pos: int
    event: JournalEvent


class Journal(WorkerRegistry, Protocol):
    """All methods raise `JournalError`, chained from its cause, when the store fails."""

    async def create(self, event: RunCreated, summary: Summary, *, frozen: RunFrozen | None = None) -> bool:
        """Add a run, queued; or, with `frozen`, in one transaction with its freeze. False if its id is there already:
        creating is idempotent.
        """
        ...

    async def claim(
        self,
        run_id: str,
        owner: str,
        ttl_s: float,
        *,
        code: str | None = None,
        queues: Collection[str] | None = None,
    ) -> Lease | None:
        """Take the run's lease. None if another's is alive, if the run is finished, if it is not runnable, or if it is
        for code of another label than `code` or in none of these `queues` (None: any).

        Runnable: queued; waiting with `wake_at` past, or for nothing (see `lost`); or running under an expired lease. A
        process never reclaims a run whose lease it holds itself under the same `owner` while that lease is alive; an
        expired lease of the same owner is reclaimed only through `renew`.
        """
        ...

    def renew(self, lease: Lease) -> Awaitable[None]:
        """Prolong the lease by its `ttl_s`. Raises `Fenced` when awaited; `JournalError` at once where it is closed."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give the lease back. Quiet if it is another's by now."""
        ...

    async def expire_leases(self, died: Callable[[str], bool]) -> list[str]:
        """Let every lease run out now whose owner `died` says is no more; the ids of their runs.

        Only for a caller that knows that the owner drives no longer: it holds the workspace's lock, and sees that the
        process is gone. Even so nothing is lost if that was wrong: until another process claims the run, its holder may
        renew, and afterwards it is fenced.
        """
        ...

    def append(
        self,
        lease: Lease,
        events: Sequence[JournalEvent],
        *,
        summary: Summary | None = None,
        seen: int | None = None,
        release: bool = False,
        ended: AppendEnded | None = None,
    ) -> Awaitable[Sequence[JournalEvent]]:
        """Write events of one run, all or none, and its summary with them; returned with `seq`, `run_id` filled in.
        Their order is that of the calls.

        Durable (synced) before it returns if any event's class is `durable`. Raises `Fenced`.
        A park is decided here, in this transaction (`runtime.record.rules.parking.decide_park`): it is written with the
        reason `stop`, which queues the run, if something that wakes (an answer, `events.WAKING_EVENTS`) has a `seq`
        above `seen`, or if what it names to wait for is over, or if it waits for nothing. `seen`: the caller has folded
        **every** event of the run up to there (the last `seq` that its tail delivered; that of an own append only where
        it follows on that directly: else an answer may have come before it). Without it, what was there at the claim
        (`lease.seq`) counts as seen: safe, at worst the run is driven once more in vain. With `seen`, an end
        (`RunFinished`, `RunRewound`) raises `StaleSequence` if something that wakes has a `seq` above it, and nothing
        is written: it may have been a rewind, or an abort.

        With `release` the lease is given back in the same transaction. With `ended`, they are written also where the
        caller is cancelled, and it is told what came of it, once: before the caller goes on.
        """
        ...

    async def answer(self, answer: IncidentAnswered, grant: GrantAdded | None = None) -> AnswerAccepted | AnswerRefused:
        """Record an answer: compare-and-set on the incident's revision; first wins; durable; needs no lease.

        `grant`, the permission that it makes, is written to the workspace's stream in the same transaction, and not at
        all where the answer is refused.
        """
        ...

    async def post(
        self, run_id: str, event: JournalEvent, *, told: int | None = None, effective: bool = False
    ) -> JournalEvent:
        """Append one event without a lease: only those of operators (`events.OPERATOR_EVENTS`, and everything in
        the workspace's stream). An abort request makes a waiting run runnable.

        With `effective`, only if it has an effect on the run as it is now (`runtime.record.rules.posting.refusal`): the
        run has not ended, is not frozen already, or is frozen; a proposal, only while its incident is open, at the
        revision that it names. With `told`, only if no answer, no rewind that was done and nothing else that wakes
        (`events.WAKING_EVENTS`) was written to the run with a `seq` above it; in the workspace's stream, only if
        nothing at all was. Both are compare-and-set, and raise `StaleSequence`.
        """
        ...

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[JournalEvent]:
        """Events of a run in order, after `seq`."""
        ...

    def has_nothing_after(self, run_id: str, seq: int) -> bool:
        """Whether `read` gives nothing after `seq`, as far as that is known at once. False: `read` is to be asked."""
        ...

    def tail(
        self, run_id: str | None = None, after: int = 0, *, kinds: Collection[type[JournalEvent]] | None = None
    ) -> AsyncIterator[list[JournalEvent]]:
        """Events from `after` on, for ever, as they are committed: pushed from this process, polled from others.

        With a run id, `after` is that run's `seq`; without, it is the journal's position (0: from the beginning). With
        `kinds`, only events of just these classes: the others wake no reader.
        """
        ...

    def follow(
        self,
        run_id: str,
        after: int,
        take: Callable[[JournalEvent], object],
        failed: Callable[[JournalError], object],
        *,
        kinds: Collection[type[JournalEvent]] | None = None,
    ) -> Follower:
        """As `tail` of a run, for a caller that keeps no task for it: `take` gets each event. `failed` is told where
        they cannot be read.
        """
        ...

    async def latest(
        self,
        run_id: str | None = None,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 500,
        marks: Sequence[str] = (),
    ) -> list[PlacedEvent]:
        """The latest `limit` events above `after` and below `before`, in the order in which they were written: of a run
        (places are its `seq`), or without one of all streams (places are positions).

        With `marks`, only those in whose stored JSON (no blanks, `type` first) one of these texts occurs: a sieve, so
        that a few among a million are found without reading the rest. The caller checks what comes through.
        """
        ...

    async def position(self) -> int:
        """The journal's position by now: where a `tail` without a run id starts if only what comes later matters."""
        ...

    async def runs(self, limit: int = 200, *, states: Sequence[str] = ()) -> list[Summary]:
        """Newest first."""
        ...

    async def summary(self, run_id: str) -> Summary | None: ...

    async def search(self, words: Sequence[str], mask: Callable[[str], str], limit: int = 200) -> list[FoundRun]:
        """Runs whose title, input, output and errors have all of these words (`split_words`), the newest first. `mask`
        gives a text without secrets, and only that is searched.
        """
        ...

    async def index_texts(self, mask: Callable[[str], str]) -> bool:
        """Take the next texts into the index that makes searches quick; whether there are more. False, too, where the
        store has no index, or it cannot be written.
        """
        ...

    async def incidents(self, run_id: str | None = None) -> list[InboxRow]:
        """Open incidents, oldest first."""
        ...

    def iterate_incidents(self, *, unmarked: str = "") -> AsyncIterator[InboxRow]:
        """Open incidents, oldest first, read a few at a time: there may be very many. With `unmarked`, only those of
        which no later event of their run has this text in its stored JSON, beside the incident's id as `incident_id`.
        """
        ...

    async def incident(self, incident_id: str) -> tuple[str, IncidentOpened, IncidentAnswered | None] | None:
        """An incident by its id (or a unique beginning of it): its run, how it opened, its answer."""
        ...

    def now(self) -> datetime:
        """The time (UTC) by the clock that leases and `wake_at` are held against, as well as it is known here."""
        ...

    @property
    def goes_by_local_clock(self) -> bool:
        """Whether that is this machine's: a process that sees it set tells the runs."""
        ...

    async def runnable(
        self, limit: int = 100, *, code: str | None = None, queues: Collection[str] | None = None
    ) -> list[str]:
        """Ids of runs that `claim` would give to a caller with code of this label and these queues (None: any)."""
        ...

    async def next_wake(self) -> datetime | None:
        """When next a run may become one that can go on, by time alone: the earliest `wake_at` of a run that waits, or
        the earliest end of a lease of one that runs. None: at no known instant.
        """
        ...

    async def stranded(self, *, code: str | None = None, queues: Collection[str] | None = None) -> list[str]:
        """Ids of runs that wait for nothing: no incident is open, no `wake_at` is set, no process drives them. No
        append of this program makes one (`runtime.record.rules.parking`); `claim` gives them to the first that asks.
        """
        ...

    async def wake_future_parks(self) -> list[str]:
        """Let the wait of every run end that began in what is now the future; the ids of those runs.

        For a caller that sees that the clock was set back, or may have been while no process looked: such a wait would
        be longer than it was meant to be. The process that drives the run then waits its length at most, from now.
        """
        ...

    async def grants(self) -> list[GrantAdded]:
        """Grants that are neither revoked nor past their date."""
        ...

    async def freezes(self) -> dict[str, FreezeSet]:
        """Freezes that stand, by the swarm they name; that of everything under the empty name."""
        ...

    async def command(self, command_id: str, reply: dict[str, Any] | None = None) -> dict[str, Any] | None:
        """The stored reply to a command, or None. With `reply`, that is stored first unless one stands; it is given."""
        ...

    def hold_back(self, hold: bool) -> None:
        """Whether what a drive appends, and cannot be written now, is held in memory and written as soon as it can be.
        Switched off, and at first, such an append raises `Unwritable`.
        """
        ...

    @property
    def held_back(self) -> str:
        """Why something is held in memory now, in words; empty where nothing is. For any thread."""
        ...

    async def close(self) -> None: ...
