"""The writer of the SQLite journal: one transaction per hop to SQLite's thread, two durability classes."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from runtime.record.journal import Displaced, JournalError
from runtime.record.rules.batch import Batch, IncidentRow, RunRow, Write, WrittenEvent
from runtime.record.rules.write_queue import Publish, WriteQueue
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
Work = Callable[[sqlite3.Connection], Any]
"""What has the connection for itself, in its thread."""

log = logging.getLogger(__name__)

_CACHED_ROWS = 1024
"""Runs whose rows are remembered from one transaction to the next."""


class Writer(WriteQueue[Work]):
    """Carries out operations on a connection of its own."""

    def __init__(
        self,
        connection: aiosqlite.Connection,
        hop: TransactionThread,
        path: Path,
        clock: Clock,
        *,
        publish: Publish,
        displaced: Callable[[], str],
    ) -> None:
        self.connection = connection
        self._hop = hop
        self._path = path
        self._clock = clock
        self._displaced = displaced
        self._full: bool | None = None
        self._unmarked = False
        self._rows = _Rows()
        super().__init__(str(path), publish)

    async def run_exclusive(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Let `work` have the connection between two batches, in its thread. It ends the transactions it begins."""
        result: T = await self.submit_work(work)
        return result

    async def leave_open(self) -> None:
        """Let closing the connection not close it, until the process ends."""
        await self._hop.leave_open()

    async def transact(self, ops: Sequence[Write]) -> tuple[list[Any], Sequence[WrittenEvent]]:
        with sqlite_errors("cannot write", self._path):
            return await self._hop.run(lambda connection: self._transact(connection, ops))

    async def carry_out(self, work: Work) -> Any:
        self._full = None  # the work may have set it otherwise, and changed any row
        self._rows.forget()
        with sqlite_errors("cannot write", self._path):
            return await self._hop.run(work)

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


class _Rows:
    """The rows that operations may touch, loaded in a transaction; those of runs are remembered for the next one.

    They are good for as long as no other connection commits to the file, which SQLite tells within the transaction that
    holds the write lock, and as long as our own transactions are carried through.
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
