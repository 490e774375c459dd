"""Places of journals, and what they are refused for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runtime.record.journal import JournalError
from runtime.record.places import journal_exists, journal_name, open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary


async def test_a_directory_is_a_place(tmp_path: Path) -> None:
    assert not journal_exists(tmp_path)
    with pytest.raises(JournalError, match="nothing has been run here yet"):
        await open_journal(tmp_path, readonly=True)
    async with await open_journal(str(tmp_path)) as journal:
        await journal.create(ev.RunCreated(run_id="r1", ref="x:y"), Summary(id="r1", ref="x:y"))
        assert (await journal.describe()).startswith(f"{journal_name(tmp_path)}: ")
        await journal.backup(tmp_path / "copy.db")
    assert journal_exists(tmp_path)
    async with await open_journal(tmp_path, readonly=True) as journal:
        assert [run.id for run in await journal.runs()] == ["r1"]
        assert await journal.check() == []
        with pytest.raises(JournalError, match="for reading only"):
            await journal.prune(max_bytes=0)


async def test_what_is_opened_to_be_read_tells_how_far_it_had_come(tmp_path: Path) -> None:
    async with await open_journal(tmp_path) as journal:
        await journal.create(ev.RunCreated(run_id="r1", ref="x:y"), Summary(id="r1", ref="x:y"))
    async with await open_journal(tmp_path, readonly=True) as journal:
        assert await journal.look_for_loss() == ""
        (tmp_path / "journal.db-mark").write_text("00000000000000000007\n")
        assert await journal.look_for_loss() == "it ends at event 1, and had reached 7 before"


async def test_a_url_is_refused_without_showing_its_password() -> None:
    for ask in (open_journal("postgres://me:secret@host/db?workspace=news"), open_journal("sqlite:///journal.db")):
        with pytest.raises(
            JournalError, match=r"^cannot open the journal at \w+://…: .*directories only; name one"
        ) as caught:
            await ask
        assert "secret" not in str(caught.value)
    with pytest.raises(JournalError, match="directories only"):
        journal_exists("postgres://host/db")


def test_no_store_is_imported_before_a_journal_is_opened() -> None:
    code = "import sys, runtime.record.places; sys.exit(bool({'aiosqlite', 'sqlite3'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0
