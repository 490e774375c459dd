"""`SqliteJournal`: the journal port on one SQLite file, through aiosqlite's public interface.

    async with await SqliteJournal.open(path) as journal:
        ...

Two connections, each with a thread of aiosqlite's: one writes (`writer`), one reads; a third only looks
whether anything is new (`position_probe`). The file is in WAL mode, so
any number of processes may read it and, one transaction at a time, write it. One process *drives* runs: that is what
`lock` is for, not the database. A journal object belongs to the loop in which it was opened; another thread opens its
own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from runtime.record.journal import AnswerAccepted, AnswerRefused, JournalError, Lease, OpenIncident, PlacedEvent
from runtime.record.journal_care import DAMAGED_FILE
from runtime.record.rules.rows import encode_event, encode_summary
from runtime.record.rules.tails import Tails
from runtime.record.rules.writes import (
    AnswerIncident,
    AppendEvents,
    ClaimLease,
    CreateRun,
    ExpireLease,
    PostEvent,
    RecordCommand,
    ReleaseLease,
    RenewLease,
)
from runtime.record.sqlite import content_check, maintenance, wal_loss
from runtime.record.sqlite.change_watch import POLL_S, ChangeWatch
from runtime.record.sqlite.exit_guard import forget, stop_at_exit
from runtime.record.sqlite.file_identity import JournalFiles
from runtime.record.sqlite.position_probe import PositionProbe
from runtime.record.sqlite.reader import Reader
from runtime.record.sqlite.schema import (
    SCHEMA_VERSION,
    connect,
    create_file,
    migrate,
    sqlite_errors,
)
from runtime.record.sqlite.statements import wake_parked_runs
from runtime.record.sqlite.transaction_thread import TransactionThread
from runtime.record.sqlite.writer import Clock, Writer
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from runtime.record.state.workspace_state import WorkspaceState

log = logging.getLogger(__name__)


class SqliteJournal:
    """A journal in a file. `runtime.record.journal` and `runtime.record.journal_care` say what each method promises."""

    def __init__(self, path: Path, reader: Reader, poll_s: float, clock: Clock) -> None:
        """Use `open`."""
        self._files: JournalFiles | None = None
        self.path = path
        self._reader = reader
        self._writer: Writer | None = None
        self._clock = clock
        self._standing = WorkspaceState()
        self._glance = PositionProbe(path)
        self._tails = Tails(reader.events_after, ChangeWatch(path, self._glance.position, self._writing, poll_s))

    @classmethod
    async def open(
        cls, path: str | Path, *, readonly: bool = False, clock: Clock = ev.utc_now, poll_s: float = POLL_S
    ) -> Self:
        """Open the journal, making the file and bringing its schema up to date unless `readonly`.

        `clock` gives the time (UTC) against which leases and `wake_at` are held. `poll_s`: how often, in seconds, a
        tail looks for other processes' writes while something happens (see `change_watch`).

        Raises:
            JournalError: the file cannot be opened, is no journal, or is a newer program's.
        """
        path = Path(path).absolute()  # noqa: ASYNC240 - no I/O to speak of, and once
        if readonly and not path.exists():
            raise JournalError(
                f"there is no journal at {path}: nothing has been run here yet, or --state names another place"
            )
        if not readonly:
            create_file(path)
        with sqlite_errors("cannot open the journal", path):
            hop = TransactionThread()
            first = await connect(path, readonly=readonly, hop=hop)
            stop_at_exit(first)
            try:
                await migrate(first, path, readonly=readonly)
                reading = first if readonly else await connect(path, readonly=True)
                files = None if readonly else JournalFiles(path)
            except BaseException:
                await first.close()
                forget(first)
                raise
        stop_at_exit(reading)
        journal = cls(path, Reader(reading, path), poll_s, clock)
        if files is not None:
            journal._files = files
            journal._writer = Writer(first, hop, path, clock, publish=journal._tails.publish, displaced=files.displaced)
        return journal

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Write what is queued, end the tails, and let go of the file. May be called twice."""
        self._tails.close()
        connections = [self._reader.connection]
        if self._writer is not None:
            await self._writer.close()
            if self._files is not None and self._files.harmed_by_closing:
                await self._writer.leave_open()
            connections.append(self._writer.connection)
        self._reader.closed = True
        self._glance.close()
        for connection in connections:
            with sqlite_errors("cannot close", self.path):
                await connection.close()
            forget(connection)

    # -- runs --------------------------------------------------------------------------------------------------

    async def create(self, event: ev.RunCreated, summary: Summary, *, frozen: ev.RunFrozen | None = None) -> bool:
        if not event.run_id or event.run_id.startswith("@"):
            raise JournalError(f"{event.run_id!r} is no id for a run: it must not be empty, nor begin with '@'")
        drafts = [encode_event(each) for each in (event, frozen) if each is not None]
        result: bool = await self._write().submit(CreateRun(event.run_id, drafts, encode_summary(summary)))
        return result

    async def claim(self, run_id: str, owner: str, ttl_s: float) -> Lease | None:
        result: Lease | None = await self._write().submit(ClaimLease(run_id, owner, ttl_s))
        return result

    async def renew(self, lease: Lease) -> None:
        await self._write().submit(RenewLease(lease))

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
    ) -> Awaitable[Sequence[ev.JournalEvent]]:
        # A future and no coroutine: whoever must not be cancelled while it is written needs no task around it.
        try:
            text = encode_summary(summary) if summary is not None else None
            drafts = [encode_event(event) for event in events]
            return self._write().submit(AppendEvents(lease, drafts, text, seen))
        except JournalError as exc:
            failed: asyncio.Future[Sequence[ev.JournalEvent]] = asyncio.get_running_loop().create_future()
            failed.set_exception(exc)
            return failed

    async def runnable(self, now: datetime, limit: int = 100) -> list[str]:
        return await self._reader.runnable(now.timestamp(), limit)

    async def next_wake(self) -> datetime | None:
        return await self._reader.next_wake()

    async def stranded(self) -> list[str]:
        return await self._reader.stranded(self._clock().timestamp())

    async def wake_future_parks(self, now: datetime) -> list[str]:
        return await self._write().run_exclusive(lambda connection: wake_parked_runs(connection, now.timestamp()))

    async def runs(self, limit: int = 200, *, states: Sequence[str] = ()) -> list[Summary]:
        found = await self._reader.summaries(limit, states)
        await self._keep_renewed()
        return found

    async def summary(self, run_id: str) -> Summary | None:
        found = await self._reader.summary(run_id)
        await self._keep_renewed()
        return found

    async def _keep_renewed(self) -> None:
        """Write down the summaries that another version of the fold had left, so that they are made anew once."""
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

    async def incidents(self, run_id: str | None = None) -> list[OpenIncident]:
        return await self._reader.incidents(run_id)

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
            text = await self._write().submit(RecordCommand(command_id, json.dumps(reply, ensure_ascii=False)))
        stored: dict[str, Any] | None = json.loads(text) if text is not None else None
        return stored

    # -- events ------------------------------------------------------------------------------------------------

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[ev.JournalEvent]:
        if run_id == ev.WORKSPACE_RUN_ID and not self._reader.closed and self._glance.seq() == after:
            return []
        return await self._reader.events(run_id, after, limit)

    def tail(
        self, run_id: str | None = None, after: int = 0, *, kinds: Collection[type[ev.JournalEvent]] | None = None
    ) -> AsyncIterator[list[ev.JournalEvent]]:
        return self._tails.tail(run_id, after, kinds)

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

    async def position(self) -> int:
        """The place of the newest event: ``tail(after=await journal.position())`` gives what happens from now on."""
        return await self._reader.position()

    def wake_tails(self) -> None:
        """A hint that another journal object of this process has written: tails look now, not at the next poll.

        Call it on this journal's loop: ``loop.call_soon_threadsafe(journal.wake_tails)``.
        """
        self._tails.wake()

    @property
    def operations(self) -> int:
        """How many operations that write events this object has committed: what the chaos suite's hook counts."""
        return self._writer.operations if self._writer is not None else 0

    @property
    def commits(self) -> int:
        """How many transactions this object has committed: fewer than operations, where they were batched."""
        return self._writer.commits if self._writer is not None else 0

    # -- care --------------------------------------------------------------------------------------------------

    async def describe(self) -> str:
        return f"{self.path}: {self.path.stat().st_size // 1024:,} KiB, schema {SCHEMA_VERSION}"

    async def check(self) -> list[str]:
        return await maintenance.check_journal(self._reader)

    async def look_for_loss(self) -> str:
        if self._writer is None:
            known = wal_loss.read_mark(self.path)  # before the position, as in `find_loss`
            return wal_loss.behind_mark(known, await self.position())
        return await self._write().run_exclusive(lambda connection: wal_loss.find_loss(connection, self.path))

    async def stand_still(self, lost: str) -> list[str]:
        by = ev.Actor(name="the journal", channel="rule")
        ids = await self._write().run_exclusive(wal_loss.unfrozen_runs)
        # Queued at once, and in this order: a loss is told of once it has taken effect on all.
        await asyncio.gather(
            self.post(ev.WORKSPACE_RUN_ID, ev.FreezeSet(reason=wal_loss.LOSS_REASON, by=by)),
            *(self.post(run_id, ev.RunFrozen(reason=wal_loss.LOSS_REASON, by=by)) for run_id in ids),
            self.post(ev.WORKSPACE_RUN_ID, ev.EventsLost(detail=lost)),
        )
        wal_loss.mark_again(self.path, await self.position())
        return ids

    async def sign(self) -> None:
        content = await self._write().run_exclusive(
            lambda connection: content_check.sign_content(connection, self.path)
        )
        assert self._files is not None
        self._files.content = content

    def displaced(self) -> str:
        return self._files.displaced() if self._files is not None else ""

    def overwritten(self) -> str:
        return self._files.overwritten() if self._files is not None else ""

    async def keep_log(self) -> None:
        """Write nothing from the write-ahead log into the database any more, in this connection."""
        await self._write().run_exclusive(
            lambda connection: connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()
        )

    async def rescue(self, target: Path) -> None:
        path = target / self.path.name
        await self._write().run_exclusive(lambda connection: maintenance.rescue(connection, path))
        wal_loss.mark_again(path, await self.position())

    async def rescue_overwritten(self, target: Path) -> bool:
        copy = target / self.path.name
        whole = await self._copied_whole(copy)
        if not whole and copy.exists():
            copy.rename(target / DAMAGED_FILE)
        # The next process to open the database would write its log into what is there now.
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                shutil.move(f"{self.path}{suffix}", target / f"overwritten.db{suffix}")
        return whole

    async def _copied_whole(self, target: Path) -> bool:
        """Copy what is in the cache, the log and the file. Whether every page and every event known of is there."""
        try:
            await self.rescue(target.parent)
            async with await SqliteJournal.open(target, readonly=True) as copy:
                return not await copy.check() and await copy.position() >= wal_loss.read_mark(self.path)
        except JournalError as exc:
            log.warning("the journal that was overwritten cannot be read back: %s", exc)
            return False

    def hold_back(self, hold: bool) -> None:
        self._write().hold_back(hold)

    @property
    def held_back(self) -> str:
        return self._writer.held_back if self._writer is not None else ""

    async def backup(self, target: str | Path) -> None:
        await maintenance.backup_journal(self.path, Path(target).absolute())  # noqa: ASYNC240

    async def rebuild_summaries(self) -> int:
        return await maintenance.rebuild_summaries(self._reader, self._write())

    async def prune(self, *, older_than: timedelta | None = None, max_bytes: int | None = None) -> list[str]:
        before = self._clock() - older_than if older_than is not None else None
        return await maintenance.prune_runs(self._write(), before=before, max_bytes=max_bytes)

    def _writing(self) -> bool:
        return self._writer is not None and self._writer.writing

    def _write(self) -> Writer:
        if self._writer is None:
            raise JournalError(f"the journal {self.path} was opened for reading only")
        return self._writer
