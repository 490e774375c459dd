"""Where journals are, and the one way to open them.

A place is a state directory, by default `.orbiter` in the workspace. The store is imported when a journal is opened:
a console that only talks to a runtime loads none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from runtime.record.journal import JournalError
from runtime.record.journal_care import JournalCare

JOURNAL_FILE = "journal.db"
"""The journal's file in a state directory."""
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


async def open_journal(
    place: str | Path, *, readonly: bool = False, clock: Callable[[], datetime] | None = None
) -> JournalCare:
    """Open the journal at `place`. Unless `readonly` it is made if there is none, and its schema is brought up to date.

    `clock` gives the time (UTC) against which leases and `wake_at` are held; by default it is the system's.

    Raises:
        JournalError: it cannot be opened, is not a journal, or was written by a newer program.
    """
    path = _journal_file(place)
    from runtime.record.sqlite.journal import SqliteJournal

    if clock is None:
        return await SqliteJournal.open(path, readonly=readonly)
    return await SqliteJournal.open(path, readonly=readonly, clock=clock)


def journal_exists(place: str | Path) -> bool:
    """Whether there is a journal at `place`: whether anything was run there."""
    return _journal_file(place).exists()


def journal_name(place: str | Path) -> str:
    """What a person is shown as the journal of `place`."""
    return str(_journal_file(place))


def _journal_file(place: str | Path) -> Path:
    """The journal's file in a state directory.

    Raises:
        JournalError: `place` is a URL.
    """
    if isinstance(place, str) and (url := _URL.match(place)):
        # Only its scheme is shown: the rest may hold a password.
        raise JournalError(
            f"cannot open the journal at {url[1]}://…: this program keeps journals in directories only;"
            " name one, for example .orbiter"
        )
    return Path(place) / JOURNAL_FILE
