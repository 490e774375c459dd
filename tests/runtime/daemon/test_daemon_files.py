"""What a background runtime starts from: interpreter, env_file, log."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.redaction import hold_secrets
from runtime.config.environment import InvalidEnvironment, find_interpreter, read_env_file
from runtime.daemon import daemon
from runtime.daemon.errors import DaemonError
from runtime.daemon.launch import start_failure
from runtime.daemon.log_file import (
    LOG_FORMAT,
    MAX_PENDING_CHARS,
    EscapedOutput,
    EscapingFormatter,
    LogMask,
    RotatingLogHandler,
    escape_controls,
    last_lines,
    log_path,
    open_log,
    rotate_log,
)
from runtime.execution.secret_vault import make_redactor
from runtime.record import workspace_lock


def _python(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.symlink_to(sys.executable)
    return path


def test_the_interpreter_is_the_settings_the_active_ones_the_workspaces_or_ours(tmp_path: Path) -> None:
    assert find_interpreter(tmp_path, environ={}) == Path(sys.executable)
    local = _python(tmp_path / ".venv" / "bin" / "python")
    assert find_interpreter(tmp_path, environ={}) == local
    active = _python(tmp_path / "active" / "bin" / "python")
    assert find_interpreter(tmp_path, environ={"VIRTUAL_ENV": str(tmp_path / "active")}) == active
    own = _python(tmp_path / "own" / "python3")
    assert find_interpreter(tmp_path, "own/python3", environ={"VIRTUAL_ENV": str(tmp_path / "active")}) == own
    assert find_interpreter(tmp_path, str(own), environ={}) == own


@pytest.mark.parametrize(("setting", "environ"), [("nowhere/python", {}), ("", {"VIRTUAL_ENV": "/nowhere"})])
def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path, setting: str, environ: dict[str, str]) -> None:
    with pytest.raises(InvalidEnvironment, match="nowhere"):
        find_interpreter(tmp_path, setting, environ=environ)


def test_env_files_as_people_write_them(tmp_path: Path) -> None:
    path = tmp_path / "keys.env"
    path.write_text(
        "\ufeff# keys\n"
        "export A=plain value # a remark\n"
        "B='single # not a remark'\n"
        'C="two\\nlines and \\"quotes\\" and \\$HOME"  # remark\n'
        "D=\n"
        "  E = a#b\n"
        "F=x=y==\n"
    )
    assert read_env_file(path) == {
        "A": "plain value",
        "B": "single # not a remark",
        "C": 'two\nlines and "quotes" and $HOME',
        "D": "",
        "E": "a#b",
        "F": "x=y==",
    }


@pytest.mark.parametrize("line", ["secret-without-name", "1A=x", "A='secret", 'A="secret" more', "A B=secret"])
def test_a_bad_line_is_named_by_its_number_and_never_shown(tmp_path: Path, line: str) -> None:
    path = tmp_path / "keys.env"
    path.write_text(f"OK=1\n{line}\n")
    with pytest.raises(InvalidEnvironment, match="line 2") as caught:
        read_env_file(path)
    assert "secret" not in str(caught.value)


def test_an_env_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidEnvironment, match=r"nothing\.env"):
        read_env_file(tmp_path / "nothing.env")
    (tmp_path / "binary.env").write_bytes(b"A=\xff\xfe")
    with pytest.raises(InvalidEnvironment, match=r"binary\.env"):
        read_env_file(tmp_path / "binary.env")


@given(st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True), st.text(st.characters(codec="ascii"))))
def test_what_is_quoted_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, values: dict[str, str]) -> None:
    values = {name: "".join(c for c in value if c.isprintable()) for name, value in values.items()}
    path = tmp_path_factory.getbasetemp() / "quoted.env"
    escape = str.maketrans({'"': '\\"', "\\": "\\\\", "$": "\\$"})
    path.write_text("".join(f'{name}="{value.translate(escape)}"\n' for name, value in values.items()))
    assert read_env_file(path) == values


def test_the_log_is_ours_alone_and_rotates(tmp_path: Path) -> None:
    path = log_path(tmp_path / "state")
    assert last_lines(path) == ""
    os.close(open_log(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not rotate_log(path, limit=10)
    for text in ("first....", "second...", "third....", "fourth..."):
        path.write_text(text + "\n")
        assert rotate_log(path, limit=10, kept=2)
    assert not path.exists()
    assert path.with_name("runtime.log.1").read_text() == "fourth...\n"
    assert path.with_name("runtime.log.2").read_text() == "third....\n"
    assert not path.with_name("runtime.log.3").exists()
    assert not rotate_log(path)
    path.write_text("".join(f"line {number}\n" for number in range(9000)))
    assert last_lines(path, 2) == "line 8998\nline 8999"


def test_the_log_holds_no_address_that_was_only_called(tmp_path: Path) -> None:
    read, write = os.pipe()
    try:
        handler = RotatingLogHandler(tmp_path / "runtime.log", descriptors=(write,))
    finally:
        os.close(read)
        os.close(write)
    for level, name, kept in (
        (logging.INFO, "httpx", False),
        (20, "httpx2", False),
        (logging.WARNING, "httpx", True),
        (20, "runtime", True),
    ):
        record = logging.makeLogRecord({"name": name, "levelno": level, "msg": "POST https://hooks.example.com/s3cret"})
        assert bool(handler.filter(record)) is kept


def test_what_anybody_writes_to_the_descriptors_lands_in_the_log_across_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "runtime.log"
    read, write = os.pipe()
    try:
        handler = RotatingLogHandler(path, limit=60, kept=3, descriptors=(write,))
        os.write(write, b"a tool printed this, and it is long enough to make the log rotate\n")
        handler.emit(logging.makeLogRecord({"msg": "and then something was logged"}))
        os.write(write, b"and after the rotation this\n")
    finally:
        os.close(read)
        os.close(write)
    assert path.with_name("runtime.log.1").read_bytes().startswith(b"a tool printed this")
    assert path.read_bytes() == b"and after the rotation this\n"


def test_what_tools_print_and_records_quote_obeys_no_terminal_and_forges_no_record(tmp_path: Path) -> None:
    path = tmp_path / "runtime.log"
    foul = "\x1b]52;c;eA==\x07 \x9b2J \u202e \ud83d \U000e0041\r\n2026-01-01 00:00:00 INFO runtime: all is well\n"
    with path.open("wb") as file, EscapedOutput(file.fileno()) as output:
        print(foul, file=output)
        output.write("at once\n")
        seen = path.read_bytes()
        output.buffer.write("\x1b[2J é".encode()[:-1])
        output.buffer.write("é".encode()[1:] + b"\xff\nlast")
        output.buffer.flush()
        whole = path.read_text()
    assert seen.decode().startswith(r"| \x1b]52;c;eA==\x07 \x9b2J \u202e \ud83d \U000e0041" + "\n| 2026-01-01")
    assert seen.endswith(b"| at once\n")
    assert whole.endswith("\n| \\x1b[2J é\\xff\n| last")
    assert all(line.startswith("| ") for line in whole.splitlines())
    record = logging.makeLogRecord({"name": "runtime", "levelname": "INFO", "msg": "it said %s", "args": (foul,)})
    first, *others = EscapingFormatter(LOG_FORMAT).format(record).split("\n")
    assert first.endswith(r"it said \x1b]52;c;eA==\x07 \x9b2J \u202e \ud83d \U000e0041")
    assert all(line.startswith("    ") for line in others)


def test_what_tools_print_and_records_quote_holds_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SVC_TOKEN", "zebra-crossing-77")
    path = tmp_path / "runtime.log"
    mask = LogMask()
    mask.patterns = (r"PATIENT-\d+",)
    with path.open("wb") as file, EscapedOutput(file.fileno(), mask) as output:
        for part in ("token zebra-", "crossing-77 of ", "PATIENT-", "4711", "\n"):
            output.write(part)
        output.buffer.write(b"again: zebra-crossing-77")
        output.flush()
        seen = path.read_text()
    assert seen == "| token [redacted] of [redacted]\n| again: [redacted]"
    said = {"name": "runtime", "levelname": "INFO", "msg": "zebra-crossing-77, PATIENT-4711 and a@example.com"}
    assert EscapingFormatter("%(message)s", mask).format(logging.makeLogRecord(said)) == (
        "[redacted], [redacted] and a@example.com"
    )


def test_a_secret_that_comes_later_is_masked_though_one_redactor_serves_until_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mask = LogMask()
    said = "zebra-crossing-77, lunar-module-11 and PATIENT-4711"
    assert mask.text(said) == said
    assert make_redactor() is make_redactor()
    monkeypatch.setenv("MY_SVC_TOKEN", "zebra-crossing-77")
    assert mask.text(said) == "[redacted], lunar-module-11 and PATIENT-4711"
    monkeypatch.setenv("MY_SVC_TOKEN", "lunar-module-11")
    assert mask.text(said) == "zebra-crossing-77, [redacted] and PATIENT-4711"
    mask.patterns = (r"PATIENT-\d+",)
    assert mask.text(said) == "zebra-crossing-77, [redacted] and [redacted]"
    monkeypatch.delenv("MY_SVC_TOKEN")
    monkeypatch.setattr(sys.modules["orbiter.redaction.held_secrets"], "_held", ())
    hold_secrets("zebra-crossing-77")
    assert mask.text(said) == "[redacted], lunar-module-11 and [redacted]"


@pytest.mark.parametrize("wrong", [b"abc", None])
def test_what_is_no_text_is_refused_and_leaves_nothing_in_the_log(tmp_path: Path, wrong: Any) -> None:
    path = tmp_path / "runtime.log"
    with path.open("wb") as file, EscapedOutput(file.fileno()) as output:
        with pytest.raises(TypeError):
            output.write(wrong)
        output.write("text\n")
    assert path.read_text() == "| text\n"


def test_what_is_printed_without_the_end_of_a_line_is_not_held_back_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "runtime.log"
    with path.open("wb") as file, EscapedOutput(file.fileno()) as output:
        output.write("." * MAX_PENDING_CHARS)
        output.write(".")
        output.write("end\n")
    assert path.read_text() == f"| {'.' * MAX_PENDING_CHARS}.end\n"


def test_the_end_of_the_interpreter_adds_nothing_to_the_log(tmp_path: Path) -> None:
    """Python 3.13 says what fails as a stream is closed: it hid the reason why a runtime had not come up."""
    path = tmp_path / "runtime.log"
    program = f"""
import sys
from runtime.daemon.log_file import EscapedOutput, redirect_to_log
from pathlib import Path
redirect_to_log(Path({str(path)!r}))
sys.stdout, sys.stderr = EscapedOutput(1), EscapedOutput(2)
print("the reason", file=sys.stderr)
print("said last", end="")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert path.read_text() == "| the reason\n| said last"


def test_a_flush_of_nothing_masks_nothing(tmp_path: Path) -> None:
    class NoMask(LogMask):
        def text(self, text: str) -> str:
            raise AssertionError(text)

    with (tmp_path / "runtime.log").open("wb") as file, EscapedOutput(file.fileno(), NoMask()) as output:
        output.flush()


def test_a_backslash_before_the_end_of_a_line_stays() -> None:
    assert escape_controls("C:\\data\\r\nnext\r\n") == "C:\\data\\r\nnext\n"


def test_where_a_run_holds_the_workspace_no_runtime_is_tried_and_it_is_said_who_does(tmp_path: Path) -> None:
    with (
        workspace_lock.acquire(tmp_path, program=workspace_lock.RUN_PROGRAM),
        pytest.raises(DaemonError) as refused,
    ):
        daemon.ensure_runtime(tmp_path)
    said = str(refused.value)
    assert said.startswith(f"{tmp_path} is in use by orbiter-console run (pid {os.getpid()} on ")
    assert "serves no console" in said
    assert "\n" not in said
    assert not (tmp_path / "runtime.log").exists(), "none was begun"
    # One that died left its words behind, and holds nothing.
    (tmp_path / workspace_lock.LOCK_NAME).write_text(json.dumps({"program": workspace_lock.RUN_PROGRAM}))
    assert not daemon._foreground_run_text(tmp_path)


def test_why_no_runtime_came_up_is_one_sentence_where_it_said_one(tmp_path: Path) -> None:
    log = log_path(tmp_path)
    log.write_text("2026-11-21 07:00:00,000 INFO runtime.service.serve: stopped, long ago\n")
    before = log.stat().st_size
    with log.open("a") as more:
        more.write("2026-11-21 07:40:27,274 ERROR runtime.service.serve: cannot write in journal.db: it is damaged\n")
    assert start_failure(log, before, "") == "no runtime can work here: cannot write in journal.db: it is damaged"
    with log.open("a") as more:
        more.write("Traceback (most recent call last):\n")
    told = start_failure(log, before, "")
    assert told.startswith("the runtime ended before it was ready: its log")
    assert "long ago" not in told
    assert told.endswith("it is damaged\nTraceback (most recent call last):")


@pytest.mark.parametrize(
    ("total", "free", "said"),
    [
        (10**9, 0, "the disk of {} is full: free space, then try again"),
        (10**9, 1, "it wrote nothing to its log ({}/runtime.log)"),
        (0, 0, "it wrote nothing to its log ({}/runtime.log)"),  # a file system that does not say
    ],
)
def test_a_runtime_that_cannot_write_its_log_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, total: int, free: int, said: str
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(total=total, free=free))
    told = start_failure(tmp_path / "runtime.log", 0, "")
    assert told == f"the runtime ended before it was ready: {said.format(tmp_path)}"


def test_a_state_directory_that_is_gone_hides_no_failure(tmp_path: Path) -> None:
    log = tmp_path / "gone" / "runtime.log"
    assert start_failure(log, 0, "") == f"the runtime ended before it was ready: it wrote nothing to its log ({log})"
