"""What the chaos suite is run on: pairs of a journal and an engine. Another one is one more line here."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from runtime.record.journal_care import JournalCare
from runtime.record.places import (
    ADDRESS_FILE,
    init_database,
    journal_address,
    journal_exists,
    make_state_directory,
    open_journal,
)
from runtime.record.state.events import utc_now
from runtime.worker.engines.local import DriveRun, LocalEngine


async def sqlite(state: Path, clock: Callable[[], datetime]) -> JournalCare:
    return await open_journal(state, clock=clock)


SERVER_ENV = "TEST_POSTGRES_ADDRESS"
"""The variable that holds a workspace's address, whose workspace is left to be named."""


async def postgres(state: Path, clock: Callable[[], datetime]) -> JournalCare:
    """In a workspace that is named after the directory. The first that opens the directory makes it."""
    if not journal_exists(state):
        name = hashlib.sha256(os.fsencode(state)).hexdigest()[:16]
        address = os.environ[SERVER_ENV] + name
        await init_database(address)
        make_state_directory(address, state)
    return await open_journal(state, clock=clock)


async def clone(origin: Path, target: Path) -> None:
    """Copy a workspace in which nothing is driven, with its journal."""
    shutil.copytree(origin, target)
    if (address := journal_address(origin)) is not None:
        from runtime.record.postgres.tables import read_tables, write_tables

        (target / ADDRESS_FILE).unlink()
        await (await postgres(target, utc_now)).close()
        made = journal_address(target)
        assert made is not None
        await write_tables(made, read_tables(address))


def narrow(drive: DriveRun) -> LocalEngine:
    return LocalEngine(drive, slots=3)


class Pair(NamedTuple):
    """`journal` names a coroutine function of a directory and a clock, `engine` what is called with a drive, `narrow`
    the same with room for three runs, each as ``module:attribute``: processes of their own look them up.
    """

    name: str
    journal: str
    engine: str
    narrow: str


PAIRS = (
    Pair(
        "sqlite+local",
        "tests.runtime.chaos.pairs:sqlite",
        "runtime.worker.engines.local:LocalEngine",
        "tests.runtime.chaos.pairs:narrow",
    ),
    Pair(
        "postgres+local",
        "tests.runtime.chaos.pairs:postgres",
        "runtime.worker.engines.local:LocalEngine",
        "tests.runtime.chaos.pairs:narrow",
    ),
)
