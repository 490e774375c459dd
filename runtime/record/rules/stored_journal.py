"""What every journal that is made of rows has in common: the port, from a write queue, a reader and tails."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from orbiter.text_encoding import drop_surrogates
from runtime.record.found_run import FoundRun
from runtime.record.inbox_row import InboxRow
from runtime.record.journal import (
    AnswerAccepted,
    AnswerRefused,
    AppendEnded,
    Follower,
    JournalError,
    Lease,
    PlacedEvent,
)
from runtime.record.rules.batch import WrittenEvent
from runtime.record.rules.lease_writes import ClaimLease, ExpireLease, ReleaseLease, RenewLease
from runtime.record.rules.rows import encode_event, encode_summary
from runtime.record.rules.run_search import RunSearch, SearchIndex
from runtime.record.rules.search_texts import Mask
from runtime.record.rules.stored_reader import StoredReader
from runtime.record.rules.tails import Tails, Waker
from runtime.record.rules.write_queue import WriteQueue
from runtime.record.rules.writes import (
    AnswerIncident,
    AppendEvents,
    CreateRun,
    PostEvent,
    RebuildSummary,
    RecordCommand,
)
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from runtime.record.state.workspace_state import WorkspaceState

Writes = TypeVar("Writes", bound=WriteQueue[Any])
Reads = TypeVar("Reads", bound=StoredReader)
LOSS_REASON: Final = (
    "the journal has lost its newest events: steps that only those recorded may be done again;"
    " look at the runs, then thaw"
)
"""Why runs are frozen after a loss."""


class StoredJournal(ABC, Generic[Writes, Reads]):
    """`runtime.record.journal` says what each method promises.

    Args:
        name: The journal, as errors name it.
        reader: What reads its rows.
        waker: What notices the writes of others.
        clock: The time (UTC) against which a grant's date is held.
        index: Of the texts of runs, for searches; None where the store itself is searched.
    """

    def __init__(
        self,
        name: str,
        reader: Reads,
        waker: Waker,
        clock: Callable[[], datetime],
        *,
        index: SearchIndex | None = None,
    ) -> None:
        self._name = name
        self._reader = reader
        self._writer: Writes | None = None
        """None where the journal was opened to be read."""
        self._clock = clock
        self._standing = WorkspaceState()
        self._tails = Tails(self._events_after, waker)
        self._search = RunSearch(reader, index)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    @abstractmethod
    async def close(self) -> None:
        """Write what is queued, end the tails, and let go of the store. May be called twice."""

    # -- runs --------------------------------------------------------------------------------------------------

    async def create(self, event: ev.RunCreated, summary: Summary, *, frozen: ev.RunFrozen | None = None) -> bool:
        if not event.run_id or event.run_id.startswith("@"):
            raise JournalError(f"{event.run_id!r} is not a valid id of a run: it must not be empty, nor begin with '@'")
        drafts = [encode_event(each) for each in (event, frozen) if each is not None]
        result: bool = await self._write().submit(CreateRun(event.run_id, drafts, summary.to_json()))
        return result

    async def claim(
        self,
        run_id: str,
        owner: str,
        ttl_s: float,
        *,
        code: str | None = None,
        queues: Collection[str] | None = None,
    ) -> Lease | None:
        result: Lease | None = await self._write().submit(ClaimLease(run_id, owner, ttl_s, code, queues))
        return result

    def renew(self, lease: Lease) -> Awaitable[None]:
        return self._write().submit(RenewLease(lease))

    async def release(self, lease: Lease) -> None:
        await self._write().submit(ReleaseLease(lease))

    async def expire_leases(self, died: Callable[[str], bool]) -> list[str]:
        held = [lease for lease in await self._reader.leases() if died(lease.owner)]
        expired = await asyncio.gather(*(self._write().submit(ExpireLease(lease)) for lease in held))
        return [lease.run_id for lease, done in zip(held, expired, strict=True) if done]

    def append(
        self,
        lease: Lease,
        events: Sequence[ev.JournalEvent],
        *,
        summary: Summary | None = None,
        seen: int | None = None,
        release: bool = False,
        ended: AppendEnded | None = None,
    ) -> Awaitable[Sequence[ev.JournalEvent]]:
        try:
            text = encode_summary(summary) if summary is not None else None
            drafts = [encode_event(event) for event in events]
            return self._write().submit(AppendEvents(lease, drafts, text, seen, release, ended))
        except JournalError as exc:
            if ended is not None:
                ended(exc)
            failed: asyncio.Future[Sequence[ev.JournalEvent]] = asyncio.get_running_loop().create_future()
            failed.set_exception(exc)
            return failed

    async def runs(self, limit: int = 200, *, states: Sequence[str] = ()) -> list[Summary]:
        found = await self._reader.summaries(limit, states)
        await self._keep_renewed()
        return found

    async def summary(self, run_id: str) -> Summary | None:
        found = await self._reader.summary(run_id)
        await self._keep_renewed()
        return found

    async def _keep_renewed(self) -> None:
        """Write down the summaries that another version of the fold had left, so that they are made again only once."""
        renewed, self._reader.renewed = self._reader.renewed, []
        if renewed and self._writer is not None:
            await asyncio.gather(*(self._writer.submit(op) for op in renewed))

    # -- operators ----------------------------------------------------------------------------------------------

    async def answer(
        self, answer: ev.IncidentAnswered, grant: ev.GrantAdded | None = None
    ) -> AnswerAccepted | AnswerRefused:
        result = await self._write().submit(
            AnswerIncident(encode_event(answer), encode_event(grant) if grant is not None else None)
        )
        if isinstance(result, ev.IncidentAnswered):
            return AnswerAccepted(result)
        refused, run_id, seq = result
        if seq is None:
            assert isinstance(refused, AnswerRefused)
            return refused
        said = await self._reader.event(run_id, seq)
        if isinstance(said, ev.IncidentAnswered):
            return AnswerRefused("answered", f"{said.by.name or said.by.channel} answered {said.option} before", said)
        reason = said.reason if isinstance(said, ev.IncidentClosed) else f"run {run_id} has ended"
        return AnswerRefused("closed", reason)

    async def post(
        self, run_id: str, event: ev.JournalEvent, *, told: int | None = None, effective: bool = False
    ) -> ev.JournalEvent:
        if run_id != ev.WORKSPACE_RUN_ID and not isinstance(event, ev.OPERATOR_EVENTS):
            kinds = ", ".join(kind.__name__ for kind in ev.OPERATOR_EVENTS)
            raise JournalError(
                f"{type(event).__name__} is written by the run's driver; without a lease only {kinds} may be"
            )
        result: ev.JournalEvent = await self._write().submit(PostEvent(run_id, encode_event(event), told, effective))
        return result

    async def incidents(self, run_id: str | None = None) -> list[InboxRow]:
        return await self._reader.incidents(run_id)

    def iterate_incidents(self, *, unmarked: str = "") -> AsyncIterator[InboxRow]:
        return self._reader.iterate_incidents(unmarked)

    async def incident(self, incident_id: str) -> tuple[str, ev.IncidentOpened, ev.IncidentAnswered | None] | None:
        return await self._reader.incident(incident_id)

    async def grants(self) -> list[ev.GrantAdded]:
        now, standing = self._clock(), await self._now_standing()
        return [grant for grant in standing.grants.values() if grant.until is None or grant.until > now]

    async def freezes(self) -> dict[str, ev.FreezeSet]:
        return dict((await self._now_standing()).freezes)

    async def _now_standing(self) -> WorkspaceState:
        """The workspace's stream, folded as far as it is written; only what is new is read."""
        for event in await self.read(ev.WORKSPACE_RUN_ID, self._standing.seq):
            self._standing.apply(event)
        return self._standing

    async def command(self, command_id: str, reply: dict[str, Any] | None = None) -> dict[str, Any] | None:
        if reply is None:
            text = await self._reader.reply(command_id)
        else:
            said = drop_surrogates(json.dumps(reply, ensure_ascii=False))
            text = await self._write().submit(RecordCommand(command_id, said))
        stored: dict[str, Any] | None = json.loads(text) if text is not None else None
        return stored

    # -- events ------------------------------------------------------------------------------------------------

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[ev.JournalEvent]:
        return await self._reader.events(run_id, after, limit)

    def has_nothing_after(self, run_id: str, seq: int) -> bool:
        return False

    def tail(
        self, run_id: str | None = None, after: int = 0, *, kinds: Collection[type[ev.JournalEvent]] | None = None
    ) -> AsyncIterator[list[ev.JournalEvent]]:
        return self._tails.tail(run_id, after, kinds)

    def follow(
        self,
        run_id: str,
        after: int,
        take: Callable[[ev.JournalEvent], object],
        failed: Callable[[JournalError], object],
        *,
        kinds: Collection[type[ev.JournalEvent]] | None = None,
    ) -> Follower:
        return self._tails.follow(run_id, after, take, failed, kinds)

    async def _events_after(self, run_id: str | None, cursor: int, limit: int) -> list[WrittenEvent]:
        """What a tail asks for that may have missed something."""
        return await self._reader.events_after(run_id, cursor, limit)

    async def latest(
        self,
        run_id: str | None = None,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 500,
        marks: Sequence[str] = (),
    ) -> list[PlacedEvent]:
        return await self._reader.latest(run_id, after, before, limit, marks)

    async def search(self, words: Sequence[str], mask: Mask, limit: int = 200) -> list[FoundRun]:
        return await self._search.find(words, mask, limit)

    async def index_texts(self, mask: Mask) -> bool:
        return await self._search.advance(mask)

    async def position(self) -> int:
        """The place of the newest event: ``tail(after=await journal.position())`` gives what happens from now on."""
        return await self._reader.position()

    @property
    def operations(self) -> int:
        """How many operations that write events this object has committed: what the chaos suite's hook counts."""
        return self._writer.operations if self._writer is not None else 0

    @property
    def commits(self) -> int:
        """How many transactions this object has committed: fewer than operations, where they were batched."""
        return self._writer.commits if self._writer is not None else 0

    async def rebuild_summaries(self) -> int:
        """Make every run's cached summary again from its events; how many. A run that is written meanwhile is left."""
        done = 0
        for run_id in await self._reader.run_ids():
            state = await self._reader.fold(run_id)
            done += await self._write().submit(RebuildSummary(run_id, state.last_seq, state.summary().to_json()))
        return done

    def hold_back(self, hold: bool) -> None:
        self._write().hold_back(hold)

    @property
    def held_back(self) -> str:
        return self._writer.held_back if self._writer is not None else ""

    def _write(self) -> Writes:
        if self._writer is None:
            raise JournalError(f"the journal {self._name} was opened for reading only")
        return self._writer
