"""The verb `doctor` in a process of its own."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from runtime.daemon import daemon
from runtime.link.transports.transport import UnixTransport
from runtime.operations.requests.reports import RuntimeStatus
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from tests.console.program import Program
from tests.console.pseudo_terminal import Terminal
from tests.present import present
from tests.runtime.link.linked import linked

SECRET = "sk-live-4f9d1c"


# -- the verb ------------------------------------------------------------------------------------------------


def test_every_check_reports_and_nothing_is_made(tmp_path: Path) -> None:
    program = Program(tmp_path, {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "TERM": "xterm-256color"})
    told = program.json("doctor")
    assert all(set(each) == {"id", "state", "detail", "advice"} for each in told)
    assert {each["state"] for each in told} <= {"ok", "warn"}
    assert {"python", "program", "packages", "terminal", "colours", "locale", "state", "disk", "runtime"} <= {
        each["id"] for each in told
    }
    assert all(each["advice"] for each in told if each["state"] == "warn")
    assert list(tmp_path.iterdir()) == []


def test_findings_are_told_with_sign_and_word_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "orbiter.toml").write_text("[runtim]\n")
    done = Program(tmp_path, {"HOME": str(tmp_path)})("doctor")
    assert done.returncode == 1
    assert "✗ fail settings: " in done.stdout
    assert "orbiter.toml:1" in done.stdout
    assert "✓ ok   python: 3." in done.stdout
    assert "       -> correct the file" in done.stdout
    plain = Program(tmp_path, {"HOME": str(tmp_path), "ORBITER_ASCII": "1"})("doctor").stdout
    assert plain.isascii()
    assert "! fail settings: " in plain
    assert "+ ok   python: 3." in plain


def test_no_key_is_ever_printed(tmp_path: Path) -> None:
    (tmp_path / "orbiter.toml").write_text('[runtime]\nenv_file = "keys.env"\n')
    (tmp_path / "keys.env").write_text(f"OPENAI_API_KEY={SECRET}-file\n")
    program = Program(tmp_path, {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": SECRET})
    for arguments in ((), ("--json",)):
        done = program("doctor", *arguments)
        assert done.returncode == 0, done.stdout
        assert SECRET not in done.stdout + done.stderr
        assert "ANTHROPIC_API_KEY" in done.stdout
        assert "keys.env" in done.stdout


def test_a_runtime_that_works_is_found_with_its_sockets_and_keys(program: Program, parked: Callable[[], str]) -> None:
    parked()
    state_dir = program.directory / ".orbiter"
    daemon.ensure_runtime(state_dir)
    try:
        told = {each["id"]: each for each in program.with_environment({"OPENAI_API_KEY": SECRET}).json("doctor")}
        pid = present(daemon.running_runtime(state_dir))
        assert f"pid {pid.pid}" in told["runtime"]["detail"]
        assert "operator.sock (mode 0600)" in told["runtime"]["detail"]
        assert told["keys of the runtime"]["state"] == "warn"
        assert "without OPENAI_API_KEY" in told["keys of the runtime"]["detail"]
        assert "1 run, 1 open incident" in told["journal"]["detail"]
        (state_dir / "run").chmod(0o755)
        hurt = program("doctor")
        assert hurt.returncode == 1
        assert "open to others" in hurt.stdout
        (state_dir / "run").chmod(0o700)
    finally:
        daemon.stop(state_dir)


async def _held_up(state_dir: Path) -> str:
    """What a console is told of runs that are held up, once it is."""
    async with linked(UnixTransport(state_dir)) as console:
        while not (told := console.qualities[0].held_up):  # noqa: ASYNC110 - a pong wakes no waiter
            await asyncio.sleep(0.01)
        return told


def test_a_run_that_cannot_even_be_set_aside_is_told_by_runs_by_doctor_and_to_consoles(tmp_path: Path) -> None:
    state_dir = tmp_path / ".orbiter"

    async def spoilt() -> None:
        async with await open_journal(state_dir) as journal:
            await journal.create(ev.RunCreated(run_id="r1", ref="x.py:y"), Summary(id="r1", ref="x.py:y"))

    asyncio.run(spoilt())
    with closing(sqlite3.connect(state_dir / "journal.db", isolation_level=None)) as file:
        # Where its next event would stand there is one already: nothing more can be written to it.
        file.execute("INSERT INTO event (pos, run, seq, body) SELECT 999, rid, 2, '{}' FROM run WHERE id = 'r1'")
    daemon.ensure_runtime(state_dir)
    try:
        while not (daemon.status(state_dir) or RuntimeStatus()).held_up:
            time.sleep(0.05)
        program = Program(tmp_path, {"HOME": str(tmp_path)})
        assert "run r1 cannot be carried on now: cannot write" in program("runs").stderr
        told = program("doctor")
        assert told.returncode == 1
        assert "fail held up: run r1 cannot be carried on: cannot write" in told.stdout
        assert asyncio.run(_held_up(state_dir)).startswith("run r1 cannot be carried on now: cannot write")
    finally:
        daemon.stop(state_dir)


def test_a_journal_of_a_newer_program_is_not_called_broken(tmp_path: Path) -> None:
    state_dir = tmp_path / ".orbiter"
    state_dir.mkdir()
    with closing(sqlite3.connect(state_dir / "journal.db")) as file:
        file.execute("PRAGMA user_version = 9999")
    told = Program(tmp_path, {"HOME": str(tmp_path)})("doctor")
    assert told.returncode == 1
    assert "written by a newer program" in told.stdout
    assert "the file is not damaged: update the program" in told.stdout
    assert "restore a backup" not in told.stdout


def test_a_journal_whose_end_was_taken_away_is_told_before_and_after_somebody_writes_it(tmp_path: Path) -> None:
    state_dir = tmp_path / ".orbiter"

    async def written() -> None:
        async with await open_journal(state_dir) as journal:
            for name in ("r1", "r2"):
                await journal.create(ev.RunCreated(run_id=name, ref="x.py:y"), Summary(id=name, ref="x.py:y"))
                if name == "r1":
                    await journal.backup(tmp_path / "older.db")

    asyncio.run(written())
    (tmp_path / "older.db").rename(state_dir / "journal.db")
    program = Program(tmp_path, {"HOME": str(tmp_path)})
    before = [each["detail"] for each in program.json("doctor") if each["id"] == "journal"]
    assert before[1] == "its newest events are missing: it ends at event 1, and had reached 2 before"
    told = program("thaw", "--all")
    assert told.returncode == 1
    assert "the journal has lost its newest events: it ends at event 1" in told.stderr
    assert [each["state"] for each in program.json("runs")] == ["frozen"], "who thaws has looked"
    assert program("thaw", "--all").returncode == 0
    assert [each["state"] for each in program.json("runs")] == ["running"]
    after = [each["detail"] for each in program.json("doctor") if each["id"] == "journal"]
    assert after[1].endswith("were found to be missing: it ends at event 1, and had reached 2 before")


def test_in_a_terminal_its_size_is_told(tmp_path: Path) -> None:
    command = "import sys; from console.cli import cli; cli(['doctor'])"
    with Terminal("-c", command, size=(70, 20), cwd=tmp_path, HOME=str(tmp_path)) as shown:
        shown.until("70 x 20 cells")
        assert shown.ended() == 0
    assert "below 80 x 24" in shown.text
