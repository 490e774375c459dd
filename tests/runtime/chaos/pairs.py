"""What the chaos suite is run on: pairs of a journal and an engine. A second one is one more line here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.worker.engines.local import DriveRun, LocalEngine


async def sqlite(state: Path, clock: Callable[[], datetime]) -> JournalCare:
    return await open_journal(state, clock=clock)


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
)
