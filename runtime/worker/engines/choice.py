"""Which engine a worker has: as `[runtime] engine` says. DBOS is imported only where it is chosen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from runtime.execution.execution_config import ExecutionConfig
from runtime.record.address import EXAMPLE, PostgresAddress
from runtime.record.journal import Journal
from runtime.worker.engines.local import LocalEngine
from runtime.worker.engines.port import EngineError, MakeEngine


def choose_engine(
    config: ExecutionConfig, address: PostgresAddress | None, journal: Journal, worker_id: str
) -> MakeEngine:
    """What makes the engine that is configured.

    Args:
        config: Which, its slots, limits and label of code.
        address: Where the workspace is; None for one in a directory.
        journal: Its journal.
        worker_id: The worker's id in it.

    Raises:
        EngineError: it cannot be used here.
    """
    if config.engine == "local":
        return partial(LocalEngine, slots=config.slots)
    if address is None:
        raise EngineError(
            'engine = "dbos" gives runs of a workspace on Postgres to workers, and this workspace is a directory: name'
            f' one with --workspace, for example {EXAMPLE}, or set [runtime] engine to "local"'
        )
    try:
        from runtime.worker.engines.dbos import DbosEngine
    except ImportError as exc:
        raise _missing_package(exc) from exc
    return partial(
        DbosEngine,
        address=address,
        journal=journal,
        worker_id=worker_id,
        config=config,
    )


async def init_queue(
    address: PostgresAddress,
    *,
    worker: str = "",
    operator: str = "",
    viewer: str = "",
    say: Callable[[str], object],
) -> None:
    """Make the queue of a workspace that is there, or bring it up to date; existing roles may then use it.

    `say` is told once if another process, which makes one in the same database, is waited for.

    Raises:
        EngineError: it cannot be made, or DBOS is not installed.
        JournalError: this role may not, or a role does not exist.
    """
    try:
        from runtime.worker.engines.dbos_process import make_queue
    except ImportError as exc:
        raise _missing_package(exc) from exc
    await make_queue(address, worker=worker, operator=operator, viewer=viewer, say=say)


async def describe_queue(address: PostgresAddress) -> str:
    """What gives out the runs of a workspace, and how many wait and are driven, in words.

    Raises:
        EngineError: the queue is not there, cannot be used, or DBOS is not installed.
    """
    try:
        from runtime.worker.engines.dbos_tables import QueueTables
    except ImportError as exc:
        raise _missing_package(exc) from exc
    try:
        installed = version("dbos")
    except PackageNotFoundError as exc:
        raise _missing_package(exc) from exc
    async with QueueTables(address) as tables:
        counts = await tables.counts()
    return f"DBOS {installed}: runs that wait: {counts.get('ENQUEUED', 0)}, that are driven: {counts.get('PENDING', 0)}"


def _missing_package(exc: ImportError) -> EngineError:
    return EngineError(f"engine = \"dbos\" needs DBOS: pip install 'orbiter-console[dbos]' ({exc})")
