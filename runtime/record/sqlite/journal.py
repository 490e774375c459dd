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
import logging
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

import aiosqlite

from runtime.record.journal import JournalError
from runtime.record.journal_care import DAMAGED_FILE, BeforeForgetting
from runtime.record.rules.batch import WrittenEvent
from runtime.record.rules.stored_journal import LOSS_REASON, StoredJournal
from runtime.record.sqlite import content_check, maintenance, prune_trial, registry, wal_loss
from runtime.record.sqlite.change_watch import POLL_S, ChangeWatch
from runtime.record.sqlite.exit_guard import forget, stop_at_exit
from runtime.record.sqlite.file_identity import JournalFiles
from runtime.record.sqlite.list_queries import SCHEMA_VERSION
from runtime.record.sqlite.position_probe import PositionProbe
from runtime.record.sqlite.reader import Reader
from runtime.record.sqlite.schema import (
    OlderJournal,
    connect,
    create_file,
    migrate,
    sqlite_errors,
)
from runtime.record.sqlite.search_index import FtsIndex
from runtime.record.sqlite.statements import wake_parked_runs
from runtime.record.sqlite.transaction_thread import TransactionThread
from runtime.record.sqlite.writer import Clock, Writer
from runtime.record.state import events as ev
from runtime.record.workers import ListedWorker, PlacedRun, WorkerReport

log = logging.getLogger(__name__)


async def _prepare(connection: aiosqlite.Connection, path: Path, *, readonly: bool) -> None:
    """The file has today's schema: a reader too brings the file of an earlier program up to date, where it may write.

    Raises:
        JournalError: the file is not a journal, a newer program's, or an earlier one's that cannot be written.
    """
    try:
        await migrate(connection, path, readonly=readonly)
    except OlderJournal:
        if not os.access(path, os.W_OK):
            raise
        writing = await connect(path, readonly=False)
        try:
            await migrate(writing, path, readonly=False)
        finally:
            await writing.close()
        await migrate(connection, path, readonly=True)


class SqliteJournal(StoredJournal[Writer, Reader]):
    """A journal in a file. `runtime.record.journal` and `runtime.record.journal_care` say what each method promises."""

    def __init__(self, path: Path, reader: Reader, poll_s: float, clock: Clock) -> None:
        """Use `open`."""
        self._files: JournalFiles | None = None
        self._closing = asyncio.Lock()
        self._closed = False
        self.path = path
        self._glance = PositionProbe(path)
        watch = ChangeWatch(path, self._glance.position, self._writing, poll_s)
        super().__init__(str(path), reader, watch, clock, index=FtsIndex(path))

    @classmethod
    async def open(
        cls, path: str | Path, *, readonly: bool = False, clock: Clock = ev.utc_now, poll_s: float = POLL_S
    ) -> Self:
        """Open the journal, making the file and bringing its schema up to date unless `readonly`.

        `clock` gives the time (UTC) against which leases and `wake_at` are held. `poll_s`: how often, in seconds, a
        tail looks for other processes' writes while something happens (see `change_watch`).

        Raises:
            JournalError: the file cannot be opened, is not a journal, or is a newer program's.
        """
        path = Path(path).absolute()  # noqa: ASYNC240 - no I/O to speak of, and once
        if readonly and not path.exists():
            raise JournalError(
                f"no journal was found at {path}: nothing has been run here yet, or --state names another place"
            )
        if not readonly:
            create_file(path)
        with sqlite_errors("cannot open the journal", path):
            hop = TransactionThread()
            first = await connect(path, readonly=readonly, hop=hop)
            stop_at_exit(first)
            try:
                await _prepare(first, path, readonly=readonly)
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

    async def close(self) -> None:
        """Write what is queued, end the tails, and let go of the file. May be called twice, also at once.

        What happened to the files since the first time is not looked at: they are others' then.
        """
        async with self._closing:
            if not self._closed:
                await self._let_go()
                self._closed = True

    async def _let_go(self) -> None:
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

    def now(self) -> datetime:
        return self._clock()

    @property
    def goes_by_local_clock(self) -> bool:
        return True

    async def runnable(
        self, limit: int = 100, *, code: str | None = None, queues: Collection[str] | None = None
    ) -> list[str]:
        return await self._reader.runnable(self._seconds(), limit, code, queues)

    async def next_wake(self) -> datetime | None:
        return await self._reader.next_wake(self._seconds())

    async def stranded(self, *, code: str | None = None, queues: Collection[str] | None = None) -> list[str]:
        return await self._reader.stranded(self._seconds(), code, queues)

    async def wake_future_parks(self) -> list[str]:
        return await self._write().run_exclusive(lambda connection: wake_parked_runs(connection, self._seconds()))

    def _seconds(self) -> float:
        return self._clock().timestamp()

    # -- workers -----------------------------------------------------------------------------------------------

    async def beat(self, report: WorkerReport) -> None:
        await self._write().run_exclusive(lambda connection: registry.beat(connection, report, self._seconds()))

    async def sign_off(self, worker_id: str) -> None:
        await self._write().run_exclusive(lambda connection: registry.sign_off(connection, worker_id))

    async def workers(self) -> list[ListedWorker]:
        return await registry.list_workers(self._reader, self._seconds())

    async def placed_runs(self, *, everywhere: bool = False) -> list[PlacedRun]:
        return await registry.placed_runs(self._reader, self._seconds(), everywhere=everywhere)

    async def take_claim(self, name: str, owner: str, ttl_s: float) -> bool:
        return await self._write().run_exclusive(
            lambda connection: registry.take_claim(connection, name, owner, ttl_s, self._seconds())
        )

    async def drop_claim(self, name: str, owner: str) -> None:
        await self._write().run_exclusive(lambda connection: registry.drop_claim(connection, name, owner))

    async def make_partitions(self) -> int:
        return 0  # a file has none

    async def read(self, run_id: str, after: int = 0, limit: int | None = None) -> list[ev.JournalEvent]:
        if self.has_nothing_after(run_id, after):
            return []  # told without a hop to the reader's thread
        return await super().read(run_id, after, limit)

    def has_nothing_after(self, run_id: str, seq: int) -> bool:
        return run_id == ev.WORKSPACE_RUN_ID and not self._reader.closed and self._glance.seq() == seq

    async def _events_after(self, run_id: str | None, cursor: int, limit: int) -> list[WrittenEvent]:
        # A tail asks when it begins, and after any write of another process: mostly nothing is new in its own run.
        if run_id is not None and not self._reader.closed and self._glance.seq_of(run_id) == cursor:
            return []
        return await super()._events_after(run_id, cursor, limit)

    @property
    def is_local(self) -> bool:
        return True

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
            self.post(ev.WORKSPACE_RUN_ID, ev.FreezeSet(reason=LOSS_REASON, by=by)),
            *(self.post(run_id, ev.RunFrozen(reason=LOSS_REASON, by=by)) for run_id in ids),
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

    async def backup(self, target: str | Path) -> None:
        await maintenance.backup_journal(self.path, Path(target).absolute())  # noqa: ASYNC240

    async def prune(
        self,
        *,
        older_than: timedelta | None = None,
        max_bytes: int | None = None,
        export: BeforeForgetting | None = None,
        whole_partitions: bool = False,
        dry_run: bool = False,
    ) -> list[str]:
        if whole_partitions:
            raise JournalError(f"the journal {self._name} has no partitions: only one on Postgres has")
        prune_trial.remove_left_copies(self.path)
        now = self._clock()
        before = now - older_than if older_than is not None else None
        if dry_run:
            if max_bytes is None or await maintenance.used_bytes(self._reader) <= max_bytes:
                return await maintenance.old_runs(self._reader, before)
            async with (
                prune_trial.page_copy(self.path) as path,
                await SqliteJournal.open(path, clock=lambda: now) as copy,
            ):
                return await copy.prune(older_than=older_than, max_bytes=max_bytes)
        gone = await maintenance.prune_runs(self._write(), before=before, max_bytes=max_bytes, export=export)
        if gone:
            await self._search.forget_pruned()
        return gone

    def _writing(self) -> bool:
        return self._writer is not None and self._writer.writing
