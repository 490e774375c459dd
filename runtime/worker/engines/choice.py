"""Which engine a worker has: as `[runtime] engine` says. DBOS is imported only where it is chosen."""

from __future__ import annotations

from functools import partial

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
        raise EngineError(f"engine = \"dbos\" needs DBOS: pip install 'orbiter-console[dbos]' ({exc})") from exc
    return partial(
        DbosEngine,
        address=address,
        journal=journal,
        worker_id=worker_id,
        slots=config.slots,
        code=config.code,
        limits=config.limits,
    )
