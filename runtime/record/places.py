"""Where journals are, and the one way to open them.

A place is a state directory, by default `.orbiter` in the workspace, or an address on Postgres
(`runtime.record.address`). A workspace on Postgres has a state directory, too, for what belongs to one
machine: lock, socket, log. Its file `journal.url` holds the address, and opening the directory opens the journal
there. The store is imported when a journal is opened: a console that only talks to a runtime loads none.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from runtime.record.address import EXAMPLE, SCHEMES, PostgresAddress, parse_address
from runtime.record.journal import JournalError
from runtime.record.journal_care import JournalCare
from runtime.record.listed import JournalLists
from runtime.record.live_replies import LiveReplies
from runtime.record.user_directories import shared_state

JOURNAL_FILE = "journal.db"
"""The journal's file in a state directory."""
ADDRESS_FILE = "journal.url"
"""In the state directory of a workspace on Postgres: its address."""
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


async def open_journal(
    place: str | Path, *, readonly: bool = False, clock: Callable[[], datetime] | None = None
) -> JournalCare:
    """Open the journal at `place`. Unless `readonly`, one in a directory is made if there is none, and its schema is
    brought up to date; one on Postgres is made by `init_database`.

    `clock` gives the time (UTC) against which leases and `wake_at` are held; by default it is the system's, and on
    Postgres the server's.

    Raises:
        JournalError: it cannot be opened, is not a journal, or was written by a newer program.
    """
    address = journal_address(place)
    if address is not None:
        try:
            from runtime.record.postgres.journal import PostgresJournal
        except ImportError as exc:
            raise _missing_package(exc) from exc
        return await PostgresJournal.open(address, readonly=readonly, clock=clock)
    path = Path(place) / JOURNAL_FILE
    from runtime.record.sqlite.journal import SqliteJournal

    if clock is None:
        return await SqliteJournal.open(path, readonly=readonly)
    return await SqliteJournal.open(path, readonly=readonly, clock=clock)


def live_replies(place: str | Path) -> LiveReplies | None:
    """Where replies that stream are passed on to other machines; None for a workspace in a directory, which has none.

    Raises:
        JournalError: `place` is not one of a journal.
    """
    address = journal_address(place)
    if address is None:
        return None
    try:
        from runtime.record.postgres.live_replies import PostgresLiveReplies
    except ImportError as exc:
        raise _missing_package(exc) from exc
    return PostgresLiveReplies(address)


async def init_database(
    place: str | Path, *, worker: str = "", operator: str = "", viewer: str = "", partition_runs: int | None = None
) -> str:
    """Make the schema of a workspace on Postgres, or bring it up to date. What was done, in words.

    Args:
        place: Its address, or a state directory that names it.
        worker: A role of the database that may then drive runs, take nothing away, and decide nothing for people.
        operator: A role that may then drive runs and record what people decide.
        viewer: A role that may then read.
        partition_runs: For how many runs each partition of the events is that is made from now on; None: as before.

    Raises:
        JournalError: `place` is not an address on Postgres, or the database cannot hold a journal.
    """
    address = journal_address(place)
    if address is None:
        raise JournalError(f"{place} is a directory: only a database is initialized, for example {EXAMPLE}")
    try:
        from runtime.record.postgres import schema
    except ImportError as exc:
        raise _missing_package(exc) from exc
    done = await schema.init_database(address, partition_runs=partition_runs)
    await schema.grant_roles(address, worker=worker, operator=operator, viewer=viewer)
    return done


def read_lists(
    place: str | Path, *, runs: int = 0, incidents: bool = False, leave_proposals: bool = True
) -> JournalLists | None:
    """What a journal lists, read without opening it; None where it must be opened for that: on Postgres, or where its
    file is not as this program writes it.

    Args:
        place: As for `open_journal`.
        runs: At most so many runs, the newest.
        incidents: Whether open incidents are asked for.
        leave_proposals: Whether an answer that an agent proposed may be left out. If not, such a journal must be
            opened.

    Raises:
        JournalError: the place cannot be read.
    """
    if journal_address(place) is not None:
        return None
    if not journal_exists(place):
        return JournalLists(runs=(), incidents=(), unserved={})
    from runtime.record.sqlite.quick_lists import read_quick_lists

    file = (Path(place) / JOURNAL_FILE).absolute()
    return read_quick_lists(file, runs=runs, incidents=incidents, leave_proposals=leave_proposals)


def journal_address(place: str | Path) -> PostgresAddress | None:
    """The address of a journal on Postgres; None for one in a directory.

    Raises:
        JournalError: `place` is another URL, or an address that cannot be used.
    """
    if isinstance(place, str) and (url := _URL.match(place)):
        if url[1].lower() not in SCHEMES:
            # Only its scheme is shown: the rest may hold a password.
            raise JournalError(
                f"cannot open the journal at {url[1]}://…: name a directory, for example .orbiter, or a workspace on"
                f" Postgres, for example {EXAMPLE}"
            )
        return parse_address(place)
    try:
        return parse_address((Path(place) / ADDRESS_FILE).read_text(encoding="utf-8").strip())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as exc:
        if isinstance(exc, OSError) and exc.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            return None  # said of the directory, by what looks into it
        said = exc.strerror if isinstance(exc, OSError) else exc
        raise JournalError(f"cannot read {Path(place) / ADDRESS_FILE}: {said}") from exc


def make_state_directory(url: str, state: Path | None = None) -> Path:
    """This machine's state directory of a workspace on Postgres: for lock, socket and log.

    Args:
        url: The workspace's address.
        state: Which directory; by default one among those of the user that is named after the address.

    Raises:
        JournalError: `url` is not such an address, or the directory cannot be written, or is another workspace's.
    """
    address = journal_address(url)
    if address is None:
        raise JournalError(f"a workspace is named by an address, for example {EXAMPLE}; a directory by --state")
    if state is None:
        import hashlib

        digest = hashlib.sha256(address.url.encode()).hexdigest()[:12]
        state = shared_state() / "workspaces" / f"{address.workspace}-{digest}"
    _write_address(state, address)
    return state


def _write_address(state: Path, address: PostgresAddress) -> None:
    """Make `state` the state directory of a workspace on Postgres.

    Raises:
        JournalError: it cannot be written, or is another workspace's.
    """
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = journal_address(state)
        if known is None and (state / JOURNAL_FILE).exists():
            raise JournalError(f"{state} holds a journal of its own: name another directory with --state")
        if known is not None and known != address:
            raise JournalError(f"{state} is the state directory of {known.url}: name another with --state")
        if known is None:
            part = state / f".{ADDRESS_FILE}.{os.getpid()}"
            part.write_text(f"{address.url}\n", encoding="utf-8")
            part.replace(state / ADDRESS_FILE)
    except OSError as exc:
        raise JournalError(f"cannot write {state / ADDRESS_FILE}: {exc.strerror or exc}") from exc


def journal_exists(place: str | Path) -> bool:
    """Whether there is a journal at `place`: whether anything was run there. Of one on Postgres the server would have
    to be asked: it counts as there.
    """
    return journal_address(place) is not None or (Path(place) / JOURNAL_FILE).exists()


def journal_name(place: str | Path) -> str:
    """What a person is shown as the journal of `place`."""
    address = journal_address(place)
    return address.url if address is not None else str(Path(place) / JOURNAL_FILE)


def _missing_package(exc: ImportError) -> JournalError:
    return JournalError(f"a workspace on Postgres needs psycopg 3: pip install 'orbiter-console[postgres]' ({exc})")
