"""Carries a whole journal from a directory to Postgres, and back: runs parked and in doubt, decisions, grants, blobs.

Nothing may drive the runs meanwhile. The journal that was read is left as it is: who went on from it as well would do
everything twice.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from runtime.record.address import PostgresAddress
from runtime.record.journal import JournalError
from runtime.record.places import JOURNAL_FILE, journal_address, open_journal
from runtime.record.workspace_lock import acquire


async def import_directory(state: Path, target: PostgresAddress) -> int:
    """Put the journal of a state directory into an empty workspace on Postgres. Gives how many events it has.

    Raises:
        JournalError: something drives it, or the workspace is not empty.
    """
    from runtime.record.postgres import tables as postgres
    from runtime.record.sqlite import tables as sqlite

    if journal_address(state) is not None or not (state / JOURNAL_FILE).exists():
        raise JournalError(f"{state} holds no journal: name a state directory, for example .orbiter")
    with acquire(state):
        async with await open_journal(state) as journal:  # brings an older file's schema up to date
            if lost := await journal.look_for_loss():
                raise JournalError(
                    f"{state} has lost its newest events ({lost}): open the console there and look at the runs first"
                )
        return await postgres.write_tables(target, sqlite.read_tables(state / JOURNAL_FILE))


async def export_directory(source: PostgresAddress, state: Path) -> int:
    """Put a workspace on Postgres into a state directory in which there is no journal. Gives how many events it has.

    Raises:
        JournalError: a run is driven, or `state` holds a journal.
    """
    from runtime.record.postgres import tables as postgres
    from runtime.record.sqlite import tables as sqlite

    if journal_address(state) is not None or (state / JOURNAL_FILE).exists():
        raise JournalError(f"{state} holds a journal, or belongs to one: name a directory that does not")
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)  # noqa: ASYNC240 - once
        part = Path(tempfile.mkdtemp(prefix=".export-", dir=state))
    except OSError as exc:
        raise JournalError(f"cannot write in {state}: {exc.strerror or exc}") from exc
    try:
        async with await open_journal(part):
            pass
        events = await sqlite.write_tables(part / JOURNAL_FILE, postgres.read_tables(source))
        async with await open_journal(part) as journal:
            if wrong := await journal.check():
                raise JournalError(f"the copy is not whole: {'; '.join(wrong)}")
        (part / JOURNAL_FILE).rename(state / JOURNAL_FILE)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return events
