"""A journal that is overwritten or cut short in place, under a runtime that has it open."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from runtime.link.client.client import CommandRefused
from runtime.record.journal import Displaced
from runtime.record.journal_care import DAMAGED_FILE
from runtime.record.sqlite.content_check import read_content
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config
from runtime.worker.rescue import NOTE_NAME, rescue_directories
from tests.present import present
from tests.runtime.service.test_displaced import SWARM, _console, _other, _saving


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "work"
    root.mkdir()
    (root / "swarm.py").write_text(SWARM)
    return root / ".orbiter"


def _onto(source: Path, target: Path) -> None:
    """As `cp source target`: the file at the target keeps its inode."""
    with source.open("rb") as reading, target.open("wb") as writing:
        shutil.copyfileobj(reading, writing)


def _checkpoint(journal: Path) -> None:
    with closing(sqlite3.connect(journal)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


def _halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


DAMAGE: dict[str, Callable[[Path, Path], object]] = {
    "another journal": lambda journal, other: _onto(other, journal),
    "no database": lambda journal, _: journal.write_bytes(b"something else\n" * 1000),
    "emptied": lambda journal, _: os.truncate(journal, 0),
    "cut in half": lambda journal, _: _halve(journal),
    "the log emptied": lambda journal, _: os.truncate(journal.with_name("journal.db-wal"), 0),
    "the log cut in half": lambda journal, _: _halve(journal.with_name("journal.db-wal")),
}


@pytest.mark.parametrize("how", DAMAGE)
async def test_nothing_new_begins_and_the_file_is_left_as_it_is(tmp_path: Path, state: Path, how: str) -> None:
    journal, other = state / "journal.db", await _other(tmp_path / "other")
    runtime = EmbeddedRuntime(state, build_execution_config(state.parent, {}))
    runtime.start()
    try:
        async with _console(runtime) as console:
            run_id = await _saving(console)
            await _watched(runtime, journal)
            DAMAGE[how](journal, other)
            left = journal.read_bytes()
            with pytest.raises(CommandRefused, match=r"not carried out: .*journal\.db.* while it was in use"):
                await console.command("start", ref="swarm.py:saver", input="another")
            (state.parent / "go").touch()
            await console.wait_until(lambda: console.status.phase == "lost")
    finally:
        (state.parent / "go").touch()
        with pytest.raises(Displaced, match="while it was in use: nothing new was begun") as caught:
            await asyncio.to_thread(runtime.close)
    assert journal.read_bytes() == left, "no page of the old journal was written into it"
    (kept,) = rescue_directories(state)
    assert str(kept) in str(caught.value)
    assert str(caught.value) in (kept / NOTE_NAME).read_text()
    whole = (kept / "journal.db").exists()
    assert ("Everything that it had recorded is kept" in str(caught.value)) == whole
    assert whole or (kept / "overwritten.db-wal").exists(), (kept / DAMAGED_FILE).exists()
    if whole:
        async with await SqliteJournal.open(kept / "journal.db", readonly=True) as found:
            assert await found.check() == []
            assert [each.id for each in await found.runs()] == [run_id]
    if how == "another journal":
        shutil.copytree(state, tmp_path / "next")  # as the next process finds it: in this one the old one stays open
        async with await SqliteJournal.open(tmp_path / "next" / "journal.db") as found:
            assert [each.id for each in await found.runs()] == ["other"]
            assert await found.check() == []


async def _watched(runtime: EmbeddedRuntime, journal: Path) -> None:
    """Return when the runtime has seen the files as they are, with its own token."""
    assert runtime._runtime is not None
    host = runtime._runtime._driving_thread
    assert isinstance(host._journal, SqliteJournal)
    assert host._journal._files is not None
    content = present(host._journal._files.content)
    log = journal.with_name("journal.db-wal")
    while (content._size, content._log_size) != (journal.stat().st_size, log.stat().st_size):
        assert host.check_files() == ""
        await asyncio.sleep(0.01)


async def _fill(journal: SqliteJournal, name: str, count: int) -> None:
    for number in range(count):
        run_id = f"{name}-{number}"
        await journal.create(ev.RunCreated(run_id=run_id, ref="x:y", input="i" * 2000), Summary(id=run_id, ref="x:y"))


async def _at_rest(journal: SqliteJournal) -> None:
    """Return when a look has seen the file as it is now."""
    assert journal._files is not None
    content = present(journal._files.content)
    while content._stamp != content._stamp_now():
        assert journal.displaced() == ""
        await asyncio.sleep(0.01)


async def test_an_older_copy_of_itself_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = await SqliteJournal.open(path)
    try:
        await journal.sign()
        await _fill(journal, "early", 5)
        _checkpoint(path)
        shutil.copy(path, tmp_path / "early.db")
        await _fill(journal, "late", 5)
        _checkpoint(path)
        await _at_rest(journal)
        _onto(tmp_path / "early.db", path)
        await _until_displaced(journal)
    finally:
        await journal.close()


async def test_a_backup_of_itself_is_noticed_though_it_is_newer_than_the_file(tmp_path: Path) -> None:
    """Its pages are in another order than those of the log."""
    path = tmp_path / "journal.db"
    journal = await SqliteJournal.open(path)
    try:
        await journal.sign()
        await _at_rest(journal)
        await _fill(journal, "run", 5)
        await journal.backup(tmp_path / "backup.db")
        _onto(tmp_path / "backup.db", path)
        await _until_displaced(journal)
    finally:
        await journal.close()


async def _until_displaced(journal: SqliteJournal) -> None:
    async with asyncio.timeout(60):
        while "overwritten with other content while it was in use" not in journal.displaced():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_checkpoints_prunes_vacuums_and_other_processes_are_no_change_of_content(tmp_path: Path) -> None:
    """Whatever SQLite itself does to the files is looked at while it is done, thousands of times."""
    path = tmp_path / "journal.db"
    async with await SqliteJournal.open(path) as journal, await SqliteJournal.open(path) as second:
        await journal.sign()
        context, done = 0, asyncio.Event()

        def look() -> int:
            count = 0
            while not done.is_set():
                assert journal.displaced() == ""
                count += 1
                time.sleep(0)
            return count

        looking = asyncio.create_task(asyncio.to_thread(look))
        try:
            for turn in range(8):
                await asyncio.gather(_fill(journal, f"a{turn}", 60), _fill(second, f"b{turn}", 60))
                for run in await journal.runs(limit=100):
                    if run.id.startswith(f"b{turn}"):
                        await _end(journal, run.id)
                await asyncio.to_thread(_checkpoint, path)
                if turn % 3 == 0:
                    await second.prune(max_bytes=0)
                if turn % 3 == 1:
                    await asyncio.to_thread(_vacuum, path)
        finally:
            done.set()
            context = await looking
        assert context > 0
        await _at_rest(journal)
        assert (found := read_content(path)) is not None
        assert found.position > 0


async def _end(journal: SqliteJournal, run_id: str) -> None:
    lease = present(await journal.claim(run_id, "me", 60))
    await journal.append(lease, [ev.RunFinished(state="completed")])
    await journal.release(lease)


def _vacuum(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as connection:
        connection.execute("VACUUM")


async def test_who_opens_an_unsigned_journal_does_not_look_at_its_content(tmp_path: Path) -> None:
    """A verb that opens the journal beside a runtime, before or after that one has signed it."""
    path = tmp_path / "journal.db"
    async with await SqliteJournal.open(path) as verb:
        for _ in range(2):
            async with await SqliteJournal.open(path) as runtime:
                await runtime.sign()
                assert (verb.displaced(), runtime.displaced()) == ("", "")
