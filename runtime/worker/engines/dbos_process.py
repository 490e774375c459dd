"""DBOS in this process, of which there can be one: how it begins and ends, on the database of a workspace."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import psycopg
import sqlalchemy
from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer
from dbos import error as dbos_error

from runtime.record.address import IDLE_TRANSACTION_MS, PostgresAddress
from runtime.record.advisory_lock import hold_advisory_lock
from runtime.worker.engines.dbos_schema import APPLICATION, code_version, first_line, init_queue, queue_schema
from runtime.worker.engines.port import EngineError

T = TypeVar("T")

log = logging.getLogger(__name__)


async def ask_dbos(call: Callable[[], T], cannot: str) -> T:
    """What `call` returns, which has DBOS do something, in a thread.

    Raises:
        EngineError: it cannot; with the words of `cannot`, and why.
    """
    try:
        return await asyncio.to_thread(call)
    except Exception as exc:  # of SQLAlchemy, of psycopg, of DBOS
        raise EngineError(f"{cannot}: {first_line(exc)}") from exc


def begin_dbos(
    address: PostgresAddress, *, worker_id: str, code: str = "", queues: Sequence[str] = (), migrate: bool = False
) -> sqlalchemy.Engine:
    """Begin DBOS in this process, on the database of a workspace, as libpq connects to it. Blocks."""
    logger = logging.getLogger("dbos")
    if _is_news not in logger.filters:
        logger.addHandler(logging.NullHandler())  # else it makes one of its own, for the terminal
        logger.addFilter(_is_news)

    pool = sqlalchemy.create_engine(
        "postgresql+psycopg://",
        creator=partial(connect_to_queue, address),
        pool_size=3,
        max_overflow=5,
        pool_pre_ping=True,
    )
    config: DBOSConfig = {
        "name": APPLICATION,
        "system_database_engine": pool,
        # Not connected to: it must name a database.
        "system_database_url": "postgresql+psycopg://the/engine",
        "dbos_system_schema": queue_schema(address),
        "executor_id": worker_id,
        "application_version": code_version(code),
        "run_migrations": migrate,
        # As `dbos_schema` asks for; what DBOS uses by itself are pickles.
        "serializer": DBOSPortableJSONSerializer(),
        "use_listen_notify": False,
        "log_level": "WARNING",
        "console_log_level": "WARNING",
    }
    try:
        DBOS(config=config)
        DBOS.listen_queues(queues)
        DBOS.launch()
    except BaseException:
        end_dbos(pool)
        raise
    return pool


def connect_to_queue(address: PostgresAddress) -> psycopg.Connection[Any]:
    """A connection for DBOS. Blocks."""
    made = psycopg.connect(address.conninfo, connect_timeout=10, application_name="orbiter queue", autocommit=True)
    # A worker that is stopped in mid-transaction would hold rows of the queue, and with them every other worker.
    made.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, false)", (str(IDLE_TRANSACTION_MS),))
    made.autocommit = False
    return made


def _is_news(record: logging.LogRecord) -> bool:
    """Whether to log what DBOS says: not that a slice is gone, which is taken away from a worker that lost its run."""
    failed = record.exc_info[1] if record.exc_info else None
    return not (
        isinstance(failed, dbos_error.DBOSNonExistentWorkflowError) or "outcome was not recorded" in record.getMessage()
    )


def end_dbos(pool: sqlalchemy.Engine, *, patience_s: int = 0) -> None:
    """End DBOS in this process. Blocks."""
    DBOS.destroy(workflow_completion_timeout_sec=patience_s)
    pool.dispose()


_making = threading.Lock()
"""Held while a queue is made: DBOS is one for each process."""
MAKING_LOCK = 0x0B17E502
"""Of `hold_advisory_lock`: held while a queue is made in a database. DBOS has one of its own, and goes on without it
after half a minute, so that two processes make the same tables.
"""
WAITS = "another process makes a queue in this database: waiting until it has ended"


async def make_queue(
    address: PostgresAddress,
    *,
    worker: str = "",
    operator: str = "",
    viewer: str = "",
    say: Callable[[str], object] = log.warning,
) -> None:
    """Make the queue of a workspace, or bring its tables up to date, and grant rights to existing database roles.

    Args:
        address: The workspace.
        worker: A role that may then drive runs.
        operator: The same.
        viewer: A role that may then read.
        say: Is told once if another process is waited for.

    Raises:
        EngineError: DBOS's tables cannot be made.
        JournalError: this role may not, or a role does not exist.
    """

    def migrate() -> None:
        with _making:
            end_dbos(begin_dbos(address, worker_id="init", migrate=True))

    cannot = f"the queue cannot be made in {address.url}"
    try:
        async with await psycopg.AsyncConnection.connect(
            address.conninfo, autocommit=True, connect_timeout=10
        ) as alone:
            await hold_advisory_lock(alone, MAKING_LOCK, lambda: say(WAITS))
            await ask_dbos(migrate, cannot)
            await init_queue(address, worker=worker, operator=operator, viewer=viewer)
    except psycopg.Error as exc:
        raise EngineError(f"{cannot}: {first_line(exc)}") from exc
