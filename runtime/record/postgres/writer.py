"""The writer of the Postgres journal: each batch is one transaction, in one or two round trips.

Of two, the first locks the rows of the runs and reads what operations compare with; they act in memory, fencing
included; the second writes what came of it and commits. A batch that only appends to runs acts on their rows as this
writer left them, and needs only the second: that compares, and writes nothing where another process has changed one.

The commit does not wait for the disk, so that locks are free at once; a small transaction behind it does, for all that
was logged before. So every event that was acknowledged is on disk, also those that SQLite would leave to the operating
system: a server may crash while its clients live on and remember more.

**A commit that was cut off** (connection lost, server restarted) may have gone through. Each batch writes its number
into this writer's own row. The next connection asks for it before it does anything else: the batch is then either
answered as written, or carried out again. Nothing is written twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg import errors

from runtime.record.address import PostgresAddress
from runtime.record.ids import new_id
from runtime.record.journal import CommitUnknown, JournalError, Unwritable
from runtime.record.postgres import statements as sql
from runtime.record.postgres.connection import Connection, connect, postgres_errors, roll_back
from runtime.record.postgres.known_runs import KnownRuns
from runtime.record.postgres.locked_rows import Clock, end_standing_sessions, load_batch
from runtime.record.rules.batch import Batch, Write, WrittenEvent
from runtime.record.rules.write_queue import Publish, WriteQueue
from runtime.record.state.clock import SERVER_CLOCK

T = TypeVar("T")
Work = Callable[[Connection], Awaitable[Any]]
"""What has the connection for itself."""

log = logging.getLogger(__name__)

PATIENCE_S = 20.0
"""For how long, in seconds, a batch waits for the server to come back. Longer than a lost session holds its rows."""
_RECONNECT_S = 0.2
_CONFLICT_TRIES = 5
_CONFLICTS = (errors.UniqueViolation, errors.DeadlockDetected, errors.SerializationFailure)
"""Another transaction was quicker; the same operations then find what it wrote."""


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch whose commit was sent: its operations, their results, and its rows."""

    number: int
    ops: Sequence[Write]
    results: list[Any]
    batch: Batch


class _LostConnection(Exception):
    """The connection broke before the batch was sent: nothing was written."""


class Writer(WriteQueue[Work]):
    """Carries out operations on a connection of its own, and opens it again where it breaks."""

    def __init__(
        self, connection: Connection, address: PostgresAddress, writer_id: str, clock: Clock | None, *, publish: Publish
    ) -> None:
        self._connection = connection
        self._address = address
        self._id = writer_id
        self._clock = clock
        self._number = 0
        self._left = False
        self._known = KnownRuns()
        self._unsettled: SentBatch | None = None
        """The batch whose commit was cut off, until the server was asked about it."""
        super().__init__(address.url, publish)

    @classmethod
    async def open(cls, address: PostgresAddress, clock: Clock | None, *, publish: Publish) -> Writer:
        """Connect, and add this writer's own row.

        Args:
            address: Where the journal is.
            clock: The time (UTC) against which leases are held; None for the server's.
            publish: Called with the events of each transaction, once it is committed.
        """
        writer_id = new_id(16)
        connection = await connect(address, name=_session_name(writer_id))
        SERVER_CLOCK.follow()
        try:
            with postgres_errors("cannot open the journal", address):
                await connection.execute(sql.ADD_WRITER, (writer_id, 0))
                asked = time.monotonic()
                now = await (await connection.execute(sql.NOW)).fetchone()
        except BaseException:
            SERVER_CLOCK.leave()
            await connection.close()
            raise
        if now is not None:
            SERVER_CLOCK.hear(now[0], asked, time.monotonic())
        return cls(connection, address, writer_id, clock, publish=publish)

    @property
    def backend_pid(self) -> int:
        """The server's process that writes for this object: its notices are our own."""
        return self._connection.info.backend_pid if not self._connection.closed else 0

    async def run_exclusive(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Let `work` have the connection between two batches. It ends the transactions it begins."""
        result: T = await self.submit_work(work)
        return result

    async def close(self) -> None:
        """Write what is queued, then let go of the connection."""
        await super().close()
        if not self._left:
            self._left = True
            SERVER_CLOCK.leave()
        if not self._connection.closed:
            try:
                await self._connection.execute(sql.DROP_WRITER, (self._id,))
            except psycopg.Error as exc:  # the row is dropped when another writer closes, a month later
                log.debug("the row of a writer stays: %s", exc)
        await self._connection.close()

    async def carry_out(self, work: Work) -> Any:
        await self._settle()
        with postgres_errors("cannot write", self._address):
            try:
                return await work(self._connection)
            except BaseException:
                await roll_back(self._connection)
                raise

    async def transact(self, ops: Sequence[Write]) -> tuple[list[Any], Sequence[WrittenEvent]]:
        known: dict[int, Any] = {}
        written: list[WrittenEvent] = []
        tries = 0
        while True:
            settled = await self._settle()
            if settled is not None:
                sent, events = settled
                known.update(zip(map(id, sent.ops), sent.results, strict=True))
                written.extend(events)
            rest = [op for op in ops if id(op) not in known]
            if not rest:
                break
            try:
                results, events = await self._carry_through(rest)
            except _LostConnection:
                continue
            except _CONFLICTS as exc:
                tries += 1
                if tries == _CONFLICT_TRIES:
                    with postgres_errors("cannot write", self._address):
                        raise exc from None
                continue
            except errors.LockNotAvailable as exc:
                if not await end_standing_sessions(self._connection):
                    with postgres_errors("cannot write", self._address):
                        raise exc from None
                continue
            known.update(zip(map(id, rest), results, strict=True))
            written.extend(events)
            break
        return [known[id(op)] for op in ops], written

    async def _settle(self) -> tuple[SentBatch, Sequence[WrittenEvent]] | None:
        """See that there is a connection. Gives the batch whose commit had been cut off, where it went through.

        Raises:
            CommitUnknown: the server does not come back, and was sent a batch.
            Unwritable: it does not come back.
        """
        if self._unsettled is None and not self._connection.closed:
            return None
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while True:
            try:
                stood = await self._reconnect()
            except Unwritable as exc:
                if loop.time() < until:
                    await asyncio.sleep(_RECONNECT_S)
                    continue
                if self._unsettled is not None:
                    raise CommitUnknown(f"{exc}; what was sent before may be written or not") from exc
                raise
            break
        sent, self._unsettled = self._unsettled, None
        if sent is None or stood is None or stood[0] != sent.number:
            return None
        return sent, _placed(sent.batch, stood[1])

    async def _reconnect(self) -> tuple[int, int] | None:
        """A new connection. Gives the number of the batch that was committed last, and the position before its events;
        None where this writer's row was gone.
        """
        if self._connection.closed:
            self._connection = await connect(self._address, name=_session_name(self._id))
            log.warning("connected to Postgres again")
        try:
            with postgres_errors("cannot write", self._address):
                # A session that was cut off may still hold rows, or be about to commit: its row is asked when it ended.
                await self._connection.execute(sql.END_SESSIONS, (_session_name(self._id),))
                async with self._connection.transaction():
                    row = await (await self._connection.execute(sql.LAST_BATCH, (self._id,))).fetchone()
                    if row is None:
                        await self._connection.execute(sql.ADD_WRITER, (self._id, self._number))
                    else:  # commits durably: with it, all that was committed before is on disk
                        await self._connection.execute(sql.SEEN, (self._id,))
        except BaseException:
            await self._connection.close()
            raise
        return (row[0], row[1]) if row is not None else None

    async def _carry_through(self, ops: Sequence[Write]) -> tuple[list[Any], Sequence[WrittenEvent]]:
        """All operations in one transaction, on a connection that stood a moment ago.

        Raises:
            _LostConnection: try again, after `_settle`.
        """
        if (known := self._known.append(ops)) is not None:
            sent = SentBatch(self._next_number(), ops, known.results, known.batch)
            statements = list(sql.append(known.batch, known.before, self._place(sent)))
            before = await self._commit(sent, statements, sync=True)
            if before is not None:
                return self._written(sent, before)
        connection = self._connection
        try:
            loaded = await load_batch(connection, ops, self._id, self._clock)
            if loaded is None:  # a backup was put in, or a month went by: this writer's row is added again
                await connection.close()
                raise _LostConnection
            batch, rids = loaded
            results = [_applied(op, batch) for op in ops]
            for rid, run in zip(rids, batch.new_runs, strict=False):
                run.rid = rid
            if not (batch.changed or batch.longer or batch.new_replies):
                await connection.execute("ROLLBACK")
                return results, []
            sent = SentBatch(self._next_number(), ops, results, batch)
            statements = list(sql.batch_writes(batch, self._place(sent)))
        except (psycopg.Error, UnicodeEncodeError) as exc:
            await self._give_up(connection, exc)
            raise
        sync = bool(batch.events) or any(op.sync for op in ops)
        before = await self._commit(sent, statements, sync=sync)
        return self._written(sent, before or 0)

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _place(self, sent: SentBatch) -> sql.BatchPlace:
        return sql.BatchPlace(self._address.schema, self._id, sent.number)

    def _written(self, sent: SentBatch, before: int) -> tuple[list[Any], Sequence[WrittenEvent]]:
        self._known.keep(sent.batch)
        return sent.results, _placed(sent.batch, before)

    async def _commit(self, sent: SentBatch, statements: Sequence[sql.Statement], *, sync: bool) -> int | None:
        """End a transaction with these statements; with `sync`, wait until it is on disk. Gives the position before its
        events; None where the last statement has found that it does not fit, and nothing was written.
        """
        connection = self._connection
        *others, last = statements
        self._unsettled = sent
        try:
            async with connection.pipeline():
                for statement in others:
                    await connection.execute(statement.sql, statement.parameters)
                placed = await connection.execute(last.sql, last.parameters)
                await connection.execute("COMMIT")
                if sync:
                    await connection.execute(sql.FLUSH)
        except psycopg.Error as exc:
            failed = connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
            if connection.closed or not failed:
                raise _LostConnection from exc  # it may have been committed: the server is asked
            self._unsettled = None
            await self._give_up(connection, exc)
            raise
        self._unsettled = None
        row = await placed.fetchone()
        return int(row[0]) if row is not None else None

    async def _give_up(self, connection: Connection, exc: psycopg.Error | UnicodeEncodeError) -> None:
        """Leave a transaction that failed, nothing of which was written."""
        if connection.closed:
            raise _LostConnection from exc
        await roll_back(connection)
        if not isinstance(exc, (*_CONFLICTS, errors.LockNotAvailable)):
            with postgres_errors("cannot write", self._address):
                raise exc


def _session_name(writer_id: str) -> str:
    """At most 63 bytes, as the server keeps it."""
    return f"orbiter-console {writer_id}"


def _applied(op: Write, batch: Batch) -> Any:
    """The operation's result; or why it failed alone: it has then changed nothing."""
    try:
        return op.apply(batch)
    except JournalError as exc:
        return exc


def _placed(batch: Batch, before: int) -> list[WrittenEvent]:
    return [WrittenEvent(pos, new.event) for pos, new in enumerate(batch.events, before + 1)]
