"""`PostgresJournal`: the journal port on a schema of a Postgres database, through psycopg.

    async with await PostgresJournal.open(parse_address("postgres://host/db?workspace=news")) as journal:
        ...

One connection writes (`writer`), one reads, and one listens while there is a tail. Any number of processes on any
number of machines may drive runs: what keeps them apart is the lease of a run, fenced in each transaction. Times of
leases are the server's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Self

from runtime.record.address import PostgresAddress
from runtime.record.journal import CLOCK_CORRECTION_S, JournalError
from runtime.record.journal_care import BeforeForgetting
from runtime.record.postgres import maintenance, partitions, registry, statements
from runtime.record.postgres.connection import Connection, connect
from runtime.record.postgres.listener import ChangeListener
from runtime.record.postgres.reader import Reader
from runtime.record.postgres.retention import prune_runs
from runtime.record.postgres.schema import check_version
from runtime.record.postgres.writer import Writer
from runtime.record.rules.stored_journal import LOSS_REASON, StoredJournal
from runtime.record.state import events as ev
from runtime.record.state.summary import ALL_RUNS
from runtime.record.workers import ListedWorker, PlacedRun, WorkerReport

_UNFROZEN = ("queued", "running", "waiting")


class PostgresJournal(StoredJournal[Writer, Reader]):
    """A journal in a database. `runtime.record.journal` and `runtime.record.journal_care` say what methods promise."""

    def __init__(self, address: PostgresAddress, reader: Reader, clock: Callable[[], datetime] | None) -> None:
        """Use `open`."""
        self._address = address
        self._given_clock = clock
        self._listener = ChangeListener(address, self._own_pid)
        super().__init__(address.url, reader, self._listener, clock or ev.utc_now)

    @classmethod
    async def open(
        cls, address: PostgresAddress, *, readonly: bool = False, clock: Callable[[], datetime] | None = None
    ) -> Self:
        """Open the journal of a workspace that `schema.init_database` has made.

        Args:
            address: Where it is.
            readonly: Whether it is opened to be read.
            clock: The time (UTC) against which leases and `wake_at` are held; None for the server's.

        Raises:
            JournalError: the server cannot be reached, or the workspace is missing, or of another program's version.
        """
        connection = await connect(address, readonly=True)
        try:
            await check_version(connection, address)
            journal = cls(address, Reader(connection, address), clock)
            if not readonly:
                journal._writer = await Writer.open(address, clock, publish=journal._tails.publish)
        except BaseException:
            await connection.close()
            raise
        return journal

    async def close(self) -> None:
        """Write what is queued, end the tails, and let go of the connections. May be called twice."""
        self._tails.close()
        if self._writer is not None:
            await self._writer.close()
        await self._reader.close()
        await self._listener.join()

    def now(self) -> datetime:
        return self._clock()

    @property
    def goes_by_local_clock(self) -> bool:
        return self._given_clock is not None

    async def runnable(
        self, limit: int = 100, *, code: str | None = None, queues: Collection[str] | None = None
    ) -> list[str]:
        return await self._reader.runnable(self._given_seconds(), limit, code, queues)

    async def next_wake(self) -> datetime | None:
        return await self._reader.next_wake(self._given_seconds())

    async def stranded(self, *, code: str | None = None, queues: Collection[str] | None = None) -> list[str]:
        return await self._reader.stranded(self._given_seconds(), code, queues)

    def _given_seconds(self) -> float | None:
        """The time of a test; None for the server's."""
        return self._given_clock().timestamp() if self._given_clock is not None else None

    async def wake_future_parks(self) -> list[str]:
        given = {"now": self._given_seconds()}

        async def work(connection: Connection) -> list[str]:
            slew = {"slew": CLOCK_CORRECTION_S}
            found = await connection.execute(statements.WAKE_FUTURE_PARKS, given | slew)
            return [row[0] for row in await found.fetchall()]

        return await self._write().run_exclusive(work)

    # -- workers -----------------------------------------------------------------------------------------------

    async def beat(self, report: WorkerReport) -> None:
        await self._write().run_exclusive(partial(registry.beat, report=report, now=self._given_seconds()))

    async def sign_off(self, worker_id: str) -> None:
        await self._write().run_exclusive(partial(registry.sign_off, worker_id=worker_id))

    async def workers(self) -> list[ListedWorker]:
        return await registry.list_workers(self._reader, self._given_seconds())

    async def placed_runs(self, *, everywhere: bool = False) -> list[PlacedRun]:
        return await registry.placed_runs(self._reader, self._given_seconds(), everywhere=everywhere)

    async def take_claim(self, name: str, owner: str, ttl_s: float) -> bool:
        work = partial(registry.take_claim, name=name, owner=owner, ttl_s=ttl_s, now=self._given_seconds())
        return await self._write().run_exclusive(work)

    async def drop_claim(self, name: str, owner: str) -> None:
        await self._write().run_exclusive(partial(registry.drop_claim, name=name, owner=owner))

    async def make_partitions(self) -> int:
        async def work(connection: Connection) -> int:
            row = await (await connection.execute(partitions.MAKE_PARTITIONS)).fetchone()
            return int(row[0]) if row is not None else 0

        return await self._write().run_exclusive(work)

    # -- care --------------------------------------------------------------------------------------------------

    @property
    def is_local(self) -> bool:
        return False

    async def describe(self) -> str:
        server, schema, size = await maintenance.describe_database(self._reader)
        return f"{self._name}: {size // 1024:,} KiB, schema {schema}, PostgreSQL {server}"

    async def check(self) -> list[str]:
        return await maintenance.check_journal(self._address)

    async def prune(
        self,
        *,
        older_than: timedelta | None = None,
        max_bytes: int | None = None,
        export: BeforeForgetting | None = None,
        whole_partitions: bool = False,
        dry_run: bool = False,
    ) -> list[str]:
        before = self._clock() - older_than if older_than is not None else None
        if not dry_run:
            self._write()  # not where it was opened to be read
        return await prune_runs(
            self._address,
            before=before,
            max_bytes=max_bytes,
            export=export,
            whole_partitions=whole_partitions,
            dry_run=dry_run,
        )

    async def backup(self, target: str | Path) -> None:
        raise JournalError(
            f"a journal on Postgres is backed up by the database: pg_dump --schema={self._address.schema}, or"
            " orbiter-console database export DIR for a copy that this program reads"
        )

    async def look_for_loss(self) -> str:
        return ""  # the server's log is the server's; after a restore, see docs/postgres.md

    async def stand_still(self, lost: str) -> list[str]:
        by = ev.Actor(name="the journal", channel="rule")
        await self.post(ev.WORKSPACE_RUN_ID, ev.FreezeSet(reason=LOSS_REASON, by=by))
        ids = [run.id for run in await self._reader.summaries(ALL_RUNS, _UNFROZEN)]
        for run_id in ids:
            await self.post(run_id, ev.RunFrozen(reason=LOSS_REASON, by=by))
        await self.post(ev.WORKSPACE_RUN_ID, ev.EventsLost(detail=lost))
        return ids

    def displaced(self) -> str:
        return ""

    def overwritten(self) -> str:
        return ""

    async def sign(self) -> None:
        """A server's files are its own."""

    async def keep_log(self) -> None:
        """A server's log is its own."""

    async def rescue(self, target: Path) -> None:
        raise JournalError(f"the journal {self._name} is not a file: it cannot be rescued from here")

    async def rescue_overwritten(self, target: Path) -> bool:
        return False

    def _own_pid(self) -> int:
        return self._writer.backend_pid if self._writer is not None else 0
