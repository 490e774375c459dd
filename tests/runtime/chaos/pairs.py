"""What the chaos suite is run on: pairs of a journal and an engine. Another one is one more line here."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from runtime.execution.execution_config import ExecutionConfig, SwarmLimit
from runtime.record.address import PostgresAddress, parse_address
from runtime.record.journal_care import JournalCare
from runtime.record.lease_owner import owner_name
from runtime.record.places import (
    ADDRESS_FILE,
    init_database,
    journal_address,
    journal_exists,
    make_state_directory,
    open_journal,
)
from runtime.record.state.events import utc_now
from runtime.worker.engines.local import LocalEngine
from runtime.worker.engines.port import MakeEngine
from tests.present import present

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer


async def sqlite(state: Path, clock: Callable[[], datetime] | None) -> JournalCare:
    return await open_journal(state, clock=clock)


SERVER_ENV = "TEST_POSTGRES_ADDRESS"
"""The variable that holds a workspace's address, whose workspace is left to be named."""


async def postgres(state: Path, clock: Callable[[], datetime] | None) -> JournalCare:
    """In a workspace that is named after the directory. The first that opens the directory makes it."""
    if not journal_exists(state):
        await _make_workspace(state)
    return await open_journal(state, clock=clock)


_QUEUE = "queue"
"""The workspace whose queue is copied."""
_queue_dump: list[str] = []
"""Its queue as SQL, once it was made."""


async def queued(state: Path, clock: Callable[[], datetime] | None) -> JournalCare:
    """As `postgres`, with a queue. DBOS takes seconds to make one: it is a copy of that of `make_queue_once`."""
    if not journal_exists(state):
        import psycopg

        from runtime.worker.engines.dbos_schema import init_queue, queue_schema

        address = await _make_workspace(state)
        (dump,) = _queue_dump
        origin = queue_schema(parse_address(os.environ[SERVER_ENV] + _QUEUE))
        async with await psycopg.AsyncConnection.connect(address.conninfo) as connection:
            await connection.execute(dump.replace(origin, queue_schema(address)).encode())
        await init_queue(address)
    return await open_journal(state, clock=clock)


def make_queue_once(server: PostgresServer, database: str) -> None:
    """Make the queue that `queued` copies, in a database that $TEST_POSTGRES_ADDRESS names."""
    from runtime.worker.engines.dbos_process import make_queue
    from runtime.worker.engines.dbos_schema import queue_schema

    address = parse_address(os.environ[SERVER_ENV] + _QUEUE)

    async def make() -> None:
        await init_database(address.url)
        await make_queue(address)

    asyncio.run(make())
    _queue_dump[:] = [server.dump(queue_schema(address), database)]


async def _make_workspace(state: Path) -> PostgresAddress:
    name = hashlib.sha256(os.fsencode(state)).hexdigest()[:16]
    address = os.environ[SERVER_ENV] + name
    await init_database(address)
    make_state_directory(address, state)
    return parse_address(address)


async def clone(pair: Pair, origin: Path, target: Path) -> None:
    """Copy a workspace in which nothing is driven, with its journal."""
    shutil.copytree(origin, target)
    if (address := journal_address(origin)) is not None:
        from runtime.record.postgres.tables import read_tables, write_tables

        (target / ADDRESS_FILE).unlink()
        await (await resolve_name(pair.journal)(target, utc_now)).close()
        made = present(journal_address(target))
        await write_tables(made, read_tables(address))


def local(journal: JournalCare, state: Path, slots: int = 64, code: str = "") -> MakeEngine:
    del code  # a claim asks for it
    return partial(LocalEngine, slots=slots)


def dbos(
    journal: JournalCare,
    state: Path,
    slots: int = 64,
    code: str = "",
    limits: Mapping[str, Mapping[str, Any]] | None = None,
) -> MakeEngine:
    from runtime.worker.engines.dbos import DbosEngine

    address = present(journal_address(state))
    limited = {ref: SwarmLimit(**given) for ref, given in (limits or {}).items()}
    return partial(
        DbosEngine,
        address=address,
        journal=journal,
        worker_id=owner_name(),
        config=ExecutionConfig("", slots=slots, code=code, limits=limited),
        now=lambda: journal.now().timestamp(),
        look_s=0.05,
        care_s=0.3,
        unclaimed_s=0.5,
    )


class Pair(NamedTuple):
    """`journal` names a coroutine function of a directory and a clock, `engine` a function of a journal, its directory
    and options, as how many runs there is room for, each as ``module:attribute``: processes of their own look them up.
    A pair that names what is `missing` is skipped with these words.
    """

    name: str
    journal: str
    engine: str
    missing: str = ""


PAIRS = (
    Pair("sqlite+local", f"{__name__}:sqlite", f"{__name__}:local"),
    Pair("postgres+local", f"{__name__}:postgres", f"{__name__}:local"),
    Pair("postgres+dbos", f"{__name__}:queued", f"{__name__}:dbos"),
    Pair(
        "postgres+restate",
        f"{__name__}:postgres",
        "",
        missing="no engine of Restate: the journal has no operation that ends the lease of one run, which the engine's"
        " handler needs at a worker's death (docs/operations.md, docs/design.md)",
    ),
)
