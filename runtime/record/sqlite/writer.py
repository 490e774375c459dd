"""The writer task: natural batching, two durability classes, one transaction per hop to SQLite's thread.

While a transaction runs, new operations gather; the next transaction takes them all. There is no timer: one lost in
every measurement.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from runtime.record.journal import Displaced, JournalError, Unrecordable, Unwritable
from runtime.record.rules.batch import (
    Batch,
    IncidentRow,
    RunRow,
    WrittenEvent,
)
from runtime.record.rules.writes import Write
from runtime.record.sqlite import wal_loss
from runtime.record.sqlite.schema import sqlite_errors
from runtime.record.sqlite.statements import (
    COMMANDS,
    HEADS,
    INCIDENTS,
    RUNS,
    RUNS_OF_INCIDENTS,
    sql_writes,
)
from runtime.record.sqlite.transaction_thread import TransactionThread

T = TypeVar("T")
Clock = Callable[[], datetime]

log = logging.getLogger(__name__)

MAX_BATCH = 1024
HELD_RETRY_S = 0.5
"""How often, in seconds, it is tried to write what is held back."""
_CACHED_ROWS = 1024
"""Runs whose rows are remembered from one transaction to the next."""
KILL_AFTER_ENV = "ORBITER_DIE_AFTER_APPENDS"
"""Test hook, for chaos suites only: with this variable set to n, the process kills itself with SIGKILL right after the
transaction with the n-th operation that writes events (create, append, answer, post) is committed, before anybody
learns of it. The n-th operation is then the last of its transaction."""


class Writer:
    """Carries out operations on a connection that nobody else uses."""

    def __init__(
        self,
        connection: aiosqlite.Connection,
        hop: TransactionThread,
        path: Path,
        clock: Clock,
        *,
        publish: Callable[[Sequence[WrittenEvent]], None],
        displaced: Callable[[], str],
    ) -> None:
        self.connection = connection
        self._hop = hop
        self.writing = False
        """Whether a transaction is under way, or committed and not published yet."""
        self.commits = 0
        self.operations = 0
        """Operations that wrote events, since this journal was opened."""
        self._path = path
        self._clock = clock
        self._publish = publish
        self._displaced = displaced
        self._queue: deque[tuple[Write | Callable[[sqlite3.Connection], Any], asyncio.Future[Any]]] = deque()
        self._arrived = asyncio.Event()
        self._closing = False
        self._full: bool | None = None
        self._unmarked = False
        self._holding = False
        self._waiting: list[tuple[Write, asyncio.Future[Any]]] = []
        """What is held in memory, in the order in which it came."""
        self.held_back = ""
        """Why something waits for the store to be writable, in words."""
        self._rows = _Rows()
        self._die_after = int(os.environ.get(KILL_AFTER_ENV, "0") or "0")
        self._task = asyncio.create_task(self._run(), name=f"journal writer {path.name}")

    def submit(self, op: Write) -> asyncio.Future[Any]:
        """The operation's result, once committed. A caller that is cancelled may find it carried out all the same."""
        return self._put(op)

    async def run_exclusive(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Let `work` have the connection between two batches, in its thread. It ends the transactions it begins."""
        result: T = await self._put(work)
        return result

    def _put(self, work: Write | Callable[[sqlite3.Connection], Any]) -> asyncio.Future[Any]:
        if self._closing or self._task.done():
            raise JournalError(f"the journal {self._path} is closed")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.append((work, future))
        self._arrived.set()
        return future

    def hold_back(self, hold: bool) -> None:
        """See `Journal.hold_back`."""
        self._holding = hold
        self._arrived.set()

    async def leave_open(self) -> None:
        """Let closing the connection not close it, until the process ends."""
        await self._hop.leave_open()

    async def close(self) -> None:
        """Write what is queued, then stop."""
        self._closing = True
        self._arrived.set()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while True:
                await self._arrived.wait()
                self._arrived.clear()
                self.writing = True
                while self._queue or self._waiting:
                    if self._waiting and self._holding and not self._closing:
                        with suppress(TimeoutError):
                            await asyncio.wait_for(self._arrived.wait(), HELD_RETRY_S)
                        self._arrived.clear()
                    if self._queue and not isinstance(self._queue[0][0], Write):
                        await self._run_exclusive()
                    else:
                        await self._batch(self._take())
                self.writing = False
                if self._closing:
                    return
        finally:
            self._closing = True
            self._fail(
                [*self._waiting, *self._queue],
                JournalError(f"the journal {self._path} was closed before this was written"),
            )

    def _take(self) -> list[tuple[Write, asyncio.Future[Any]]]:
        """The operations at the head of the queue; those whose caller has gone are dropped."""
        self._queue.extendleft(reversed(self._waiting))
        self._waiting.clear()
        taken: list[tuple[Write, asyncio.Future[Any]]] = []
        counted = 0
        while self._queue and len(taken) < MAX_BATCH:
            work, future = self._queue[0]
            if not isinstance(work, Write):
                break
            self._queue.popleft()
            if future.cancelled():
                continue
            taken.append((work, future))
            counted += work.counted
            if self._die_after and self.operations + counted == self._die_after:
                break
        return taken

    async def _run_exclusive(self) -> None:
        work, future = self._queue.popleft()
        if future.cancelled() or isinstance(work, Write):
            return
        self._full = None  # the work may have set it otherwise, and changed any row
        self._rows.forget()
        try:
            with sqlite_errors("cannot write", self._path):
                result = await self._hop.run(work)
        except Exception as exc:
            self._fail([(work, future)], exc)
        except BaseException:
            future.cancel()
            raise
        else:
            if not future.done():
                future.set_result(result)

    async def _batch(self, taken: list[tuple[Write, asyncio.Future[Any]]]) -> None:
        try:
            with sqlite_errors("cannot write", self._path):
                ops = [op for op, _ in taken]
                results, written = await self._hop.run(lambda connection: self._transact(connection, ops))
        except Exception as exc:
            if isinstance(exc, Unrecordable) and len(taken) > 1:
                for each in taken:  # one of them is at fault, and fails alone
                    await self._batch([each])
                return
            if isinstance(exc, Unwritable) and self._holding and not self._closing:
                taken = self._held(taken, exc)
            self._fail(taken, exc)
            return
        except BaseException:
            self._fail(taken, JournalError(f"the journal {self._path} was stopped: this may be written or not"))
            raise
        self.commits += 1
        if self.held_back:
            log.warning("the journal can be written again; what was held in memory is written")
            self.held_back = ""
        self.operations += sum(op.counted for op, _ in taken)
        if self._die_after and self.operations >= self._die_after:
            os.kill(os.getpid(), signal.SIGKILL)
        if written:
            self._publish(written)
        for (_, future), result in zip(taken, results, strict=True):
            if future.done():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _held(
        self, taken: list[tuple[Write, asyncio.Future[Any]]], exc: Exception
    ) -> list[tuple[Write, asyncio.Future[Any]]]:
        """Keep what may wait in memory, to be tried before whatever comes after it; the rest."""
        held = [each for each in taken if each[0].may_wait]
        if held and not self.held_back:
            log.error(
                "the journal cannot be written: what happens is held in memory, and written when it can be: %s", exc
            )
        if held:
            self.held_back = str(exc)
        self._waiting.extend(held)
        return [each for each in taken if not each[0].may_wait]

    def _transact(
        self, connection: sqlite3.Connection, ops: Sequence[Write]
    ) -> tuple[list[Any], Sequence[WrittenEvent]]:
        """All operations in one transaction. In the connection's thread."""
        full = any(op.sync for op in ops)
        if full != self._full:
            self._full = None
            connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full
        connection.execute("BEGIN IMMEDIATE")
        batch = self._rows.load(connection, ops, self._clock().timestamp())
        results: list[Any] = []
        displaced = self._displaced() if any(op.begins for op in ops) else ""
        for op in ops:
            try:
                if op.begins and displaced:
                    raise Displaced(f"nothing new begins: {displaced}")
                results.append(op.apply(batch))
            except JournalError as exc:  # this one fails alone: it has changed nothing
                results.append(exc)
        for sql, rows in sql_writes(batch, self._rows.place_runs(batch)):
            connection.executemany(sql, rows)
        connection.execute("COMMIT")
        written = self._rows.keep(batch)
        if full and written:
            self._mark(written[-1].pos)
        return results, written

    def _mark(self, position: int) -> None:
        """Keep how far the journal has come (see `wal_loss`). What was written stands also where this fails."""
        try:
            wal_loss.write_mark(self._path, position)
        except OSError as exc:
            if not self._unmarked:
                log.error("a loss of the journal's end might not be noticed: its mark cannot be written: %s", exc)  # noqa: TRY400
            self._unmarked = True
        else:
            self._unmarked = False

    def _fail(self, items: Iterable[tuple[Any, asyncio.Future[Any]]], exc: Exception) -> None:
        cause = exc if isinstance(exc, JournalError) else None
        for _, future in items:
            if future.done():
                continue
            # Each waiter gets an exception of its own: a shared one would collect all their tracebacks.
            kind = type(cause) if isinstance(cause, Unrecordable | Unwritable) else JournalError
            error = kind(str(cause) if cause is not None else f"cannot write in {self._path}: {exc!r}")
            error.__cause__ = cause.__cause__ if cause is not None and cause.__cause__ is not None else exc
            future.set_exception(error)


class _Rows:
    """The rows that operations may touch, loaded in a transaction; those of runs are remembered for the next one.

    They are good for as long as nobody else commits to the file, which SQLite tells within the transaction that holds
    the write lock, and as long as our own transactions are carried through.
    """

    def __init__(self) -> None:
        self._version: int | None = None
        self._loaded = 0
        self._known: dict[str, RunRow] = {}
        self._pos = self._rid = 0

    def forget(self) -> None:
        self._version = None
        self._known.clear()

    def load(self, connection: sqlite3.Connection, ops: Sequence[Write], now: float) -> Batch:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version != self._version or len(self._known) > _CACHED_ROWS:
            self.forget()
            self._pos, self._rid = connection.execute(HEADS).fetchone()
        # Until this transaction is through nothing counts as known: its operations change these very rows.
        self._version, self._loaded = None, version
        wanted = {run_id for op in ops for run_id in op.run_ids()}
        batch = Batch(now, {})
        incidents = sorted({incident_id for op in ops for incident_id in op.incident_ids()})
        commands = sorted({command_id for op in ops for command_id in op.command_ids()})
        if incidents:
            listed = json.dumps(incidents)
            rows = connection.execute(RUNS + RUNS_OF_INCIDENTS, (json.dumps(sorted(wanted)), listed))
            batch.runs.update({row[1]: RunRow(*row) for row in rows})
            batch.incidents.update({row[0]: IncidentRow(*row) for row in connection.execute(INCIDENTS, (listed,))})
        else:
            batch.runs.update({run_id: self._known[run_id] for run_id in wanted if run_id in self._known})
            if missing := sorted(wanted.difference(batch.runs)):
                rows = connection.execute(RUNS, (json.dumps(missing),))
                batch.runs.update({row[1]: RunRow(*row) for row in rows})
        if commands:
            batch.replies.update(dict(connection.execute(COMMANDS, (json.dumps(commands),))))
        return batch

    def place_runs(self, batch: Batch) -> int:
        """Give the new runs their keys. Gives the position that the new events come after."""
        for rid, run in enumerate(batch.new_runs, self._rid + 1):
            run.rid = rid
        return self._pos

    def keep(self, batch: Batch) -> Sequence[WrittenEvent]:
        """The transaction is through: this is what the rows are now. Gives its events with their positions."""
        self._version = self._loaded
        written = [WrittenEvent(pos, new.event) for pos, new in enumerate(batch.events, self._pos + 1)]
        self._pos += len(batch.events)
        self._rid += len(batch.new_runs)
        for run_id, run in batch.runs.items():
            run.summary = None
            self._known[run_id] = run
        return written
