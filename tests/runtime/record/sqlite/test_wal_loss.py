"""A journal whose end was damaged or taken away says so when it is opened; one over which a process died does not."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.reports.digest import build_digest
from runtime.record.sqlite import wal_loss
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from runtime.worker.driving_thread import DrivingThread

FRAME = 24 + 4096


@pytest.fixture
async def crashed(tmp_path: Path) -> Path:
    """A journal as the kernel has it when its process is killed: copied while it is open, with its log."""
    live, dead = tmp_path / "live", tmp_path / "dead"
    dead.mkdir()
    async with await SqliteJournal.open(live / "journal.db") as journal:
        for number in range(6):
            run_id = f"r{number}"
            await journal.create(ev.RunCreated(run_id=run_id, ref="x:y"), Summary(id=run_id, ref="x:y"))
        for path in live.iterdir():
            if not path.name.endswith("-shm"):
                shutil.copy(path, dead / path.name)
    return dead / "journal.db"


async def _looked(path: Path) -> tuple[str, list[str], int]:
    async with await SqliteJournal.open(path) as journal:
        if found := await journal.look_for_loss():
            await journal.stand_still(found)
        told = [each.detail for each in await journal.read(ev.WORKSPACE_RUN_ID) if isinstance(each, ev.EventsLost)]
        return found, told, len(await journal.runs())


def _log(path: Path) -> Path:
    return path.with_name("journal.db-wal")


def _frames(path: Path) -> int:
    return (_log(path).stat().st_size - 32) // FRAME


def _overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


async def test_a_process_that_died_lost_nothing(crashed: Path) -> None:
    assert _frames(crashed) > 10
    assert await _looked(crashed) == ("", [], 6)


@pytest.mark.parametrize("left", [24, 24 + 4096 // 2, 0])
async def test_what_a_process_died_over_is_no_loss(crashed: Path, left: int) -> None:
    """A transaction of which not all was written, behind the last whole one: no caller was told that it is."""
    with _log(crashed).open("rb") as file:
        last = file.read()[-FRAME:]
    with _log(crashed).open("ab") as file:
        file.write(last[:left])
    assert await _looked(crashed) == ("", [], 6)


async def test_an_older_round_of_the_log_is_no_loss(tmp_path: Path) -> None:
    async with await SqliteJournal.open(tmp_path / "journal.db") as journal:
        for number in range(4):
            await journal.create(ev.RunCreated(run_id=f"r{number}", ref="x:y"), Summary(id=f"r{number}", ref="x:y"))
        assert await journal.look_for_loss() == ""  # everything of it is in the database now: it begins again
        await journal.create(ev.RunCreated(run_id="last", ref="x:y"), Summary(id="last", ref="x:y"))
        assert await journal.look_for_loss() == ""


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: _overwrite(_log(path), 32 + (_frames(path) // 2) * FRAME + 100, b"\xff" * 64),
        lambda path: _overwrite(_log(path), 32 + 24, b"\xff" * 64),
        lambda path: _overwrite(_log(path), 0, b"\0" * 32),
        lambda path: os.truncate(_log(path), 32 + (_frames(path) // 2) * FRAME),
        lambda path: _log(path).unlink(),
    ],
    ids=["in the middle", "at the first frame", "at the head", "cut off", "taken away"],
)
async def test_what_was_damaged_from_outside_is_told_once_and_stays_on_record(
    crashed: Path, damage: Callable[[Path], None]
) -> None:
    damage(crashed)
    found, told, runs = await _looked(crashed)
    assert found
    assert told == [found]
    assert runs < 6
    assert "had reached" in found
    assert await _looked(crashed) == ("", [found], runs), "what is known by now is not told again"


async def test_the_log_alone_tells_where_no_mark_was_kept(crashed: Path) -> None:
    crashed.with_name("journal.db-mark").unlink()
    _overwrite(_log(crashed), 32 + (_frames(crashed) // 2) * FRAME + 100, b"\xff" * 64)
    found, _, _ = await _looked(crashed)
    assert "transactions at the end of its write-ahead log cannot be read" in found


async def test_the_runtime_says_so_and_so_does_what_happened_meanwhile(
    crashed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _log(crashed).unlink()
    host = DrivingThread(crashed.parent, ExecutionConfig(workspace=str(crashed.parent)))
    host.start()
    host.stop()
    assert "the journal has lost its newest events: it ends at event" in caplog.text
    async with await SqliteJournal.open(crashed, readonly=True) as journal:
        told = build_digest([await journal.read(ev.WORKSPACE_RUN_ID)], None).sentences
    assert told[0].startswith("the journal has lost its newest events (it ends at event ")


async def test_the_mark_is_there_before_the_caller_hears_that_it_is_written(tmp_path: Path) -> None:
    async with await SqliteJournal.open(tmp_path / "journal.db") as journal:
        for number in range(70):  # more than the mark has slots
            await journal.create(ev.RunCreated(run_id=f"r{number}", ref="x:y"), Summary(id=f"r{number}", ref="x:y"))
            assert wal_loss.read_mark(journal.path) == await journal.position()


async def test_several_writers_hide_nothing_from_one_another(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with await SqliteJournal.open(path) as one, await SqliteJournal.open(path) as other:
        made = (
            journal.create(ev.RunCreated(run_id=f"{name}{number}", ref="x:y"), Summary(id=f"{name}{number}", ref="x:y"))
            for number in range(40)
            for name, journal in (("a", one), ("b", other))
        )
        await asyncio.gather(*made)
        assert wal_loss.read_mark(path) == await one.position()


async def test_a_mark_that_cannot_be_written_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "journal.db-mark").mkdir()
    async with await SqliteJournal.open(tmp_path / "journal.db") as journal:
        for name in ("one", "two"):
            assert await journal.create(ev.RunCreated(run_id=name, ref="x:y"), Summary(id=name, ref="x:y"))
    assert caplog.text.count("its mark cannot be written") == 1


def test_the_highest_number_of_a_mark_counts(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    assert wal_loss.read_mark(path) == 0
    for position, expected in ((7, 7), (3, 7), (9, 9), (9 + 64, 73)):
        wal_loss.write_mark(path, position)
        assert wal_loss.read_mark(path) == expected
    wal_loss.mark_again(path, 2)
    assert wal_loss.read_mark(path) == 2
    path.with_name("journal.db-mark").write_bytes(b"%020d\n" % 37)
    assert wal_loss.read_mark(path) == 37, "as earlier versions wrote it"
    path.with_name("journal.db-mark").write_text("no number")
    assert wal_loss.read_mark(path) == 0
    with closing(sqlite3.connect(":memory:")) as none:
        assert none.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1] == -1


_WRITES = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("PRAGMA synchronous = FULL")
connection.execute("CREATE TABLE busy (at INTEGER)")
print("writing", flush=True)
for at in range(100_000):
    connection.execute("INSERT INTO busy VALUES (?)", (at,))
    if at % 20 == 0:
        time.sleep(0.002)  # without a pause SQLite lets no other process write
"""

_MOVES_THE_LOG = """
import fcntl, sys
with open(sys.argv[1] + "-shm", "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 121)  # WAL_CKPT_LOCK, https://www.sqlite.org/walformat.html section 2.3.1
    print("locked", flush=True)
    sys.stdin.readline()
    fcntl.lockf(file, fcntl.LOCK_UN, 1, 121)
"""


async def test_what_another_process_is_writing_is_no_loss(tmp_path: Path) -> None:
    """Its frames are in the log before its transaction can be read."""
    path = tmp_path / "journal.db"
    async with await SqliteJournal.open(path) as journal:
        writer = await _python(_WRITES, path)
        try:
            found = [await journal.look_for_loss() for _ in range(100)]
            assert writer.returncode is None
        finally:
            writer.kill()
            await writer.wait()
    assert found == [""] * 100


async def test_a_log_that_another_process_is_moving_is_no_loss(crashed: Path) -> None:
    async with await SqliteJournal.open(crashed) as journal:
        other = await _python(_MOVES_THE_LOG, crashed)
        looking = asyncio.create_task(journal.look_for_loss())
        done, _ = await asyncio.wait([looking], timeout=0.2)
        assert not done
        await other.communicate(b"\n")
        assert await looking == ""


async def _python(code: str, path: Path) -> asyncio.subprocess.Process:
    """A process that runs `code` with the journal's path, after its first line."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, path, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    assert await process.stdout.readline()
    return process
