"""The workspace's lock: one holder, who says who it is, and whose death frees it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.record import workspace_lock
from runtime.record.journal import JournalError
from tests.runtime.record.journal_samples import ROOT

HOLD = """
import sys
from runtime.record import workspace_lock
held = workspace_lock.acquire(sys.argv[1], program="orbiter-console 1.2 serve")
print("held", flush=True)
sys.stdin.readline()
held.release()
print("released", flush=True)
sys.stdin.readline()
"""


def hold(state: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_second_process_is_kept_out_and_told_by_whom(tmp_path: Path) -> None:
    state = tmp_path / "state"
    process = hold(state)
    try:
        with pytest.raises(workspace_lock.Locked) as caught:
            workspace_lock.acquire(state)
        found = caught.value.holder
        assert (found.pid, found.host, found.program) == (
            process.pid,
            socket.gethostname(),
            "orbiter-console 1.2 serve",
        )
        assert f"pid {process.pid}" in str(caught.value)
        assert workspace_lock.holder(state) == found
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "released\n"
        assert workspace_lock.holder(state) is None
        with workspace_lock.acquire(state) as mine:
            assert mine.holder.pid == os.getpid()
            assert workspace_lock.holder(state) == mine.holder
        assert workspace_lock.holder(state) is None
    finally:
        end(process)


def test_a_killed_holder_leaves_the_lock_free(tmp_path: Path) -> None:
    process = hold(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert workspace_lock.holder(tmp_path) is None
    workspace_lock.acquire(tmp_path).release()


def test_a_child_does_not_inherit_the_lock(tmp_path: Path) -> None:
    held = workspace_lock.acquire(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False, text=True)
    try:
        held.release()
        held.release()
        workspace_lock.acquire(tmp_path).release()
    finally:
        end(child)


def test_the_same_process_is_kept_out_too(tmp_path: Path) -> None:
    with workspace_lock.acquire(tmp_path), pytest.raises(workspace_lock.Locked):
        workspace_lock.acquire(tmp_path)


def test_looking_does_not_let_go(tmp_path: Path) -> None:
    """With record locks, closing any descriptor of the file would."""
    with workspace_lock.acquire(tmp_path) as held:
        for _ in range(3):
            assert workspace_lock.holder(tmp_path) == held.holder
        with pytest.raises(workspace_lock.Locked):
            workspace_lock.acquire(tmp_path)


def test_a_holder_that_has_not_yet_said_who_it_is(tmp_path: Path) -> None:
    with workspace_lock.acquire(tmp_path) as held:
        for content in ("", "{", "[]", '{"pid": "x"}'):
            held.path.write_text(content)
            assert workspace_lock.holder(tmp_path) == workspace_lock.Holder()
            with pytest.raises(workspace_lock.Locked, match="in use by another process"):
                workspace_lock.acquire(tmp_path)


def test_nobody_and_nowhere(tmp_path: Path) -> None:
    assert workspace_lock.holder(tmp_path / "none") is None
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="--state"):
        workspace_lock.acquire(tmp_path / "file")


@pytest.mark.parametrize(
    ("program", "way_out"), [("orbiter-console 1.0", "orbiter-console stop"), (workspace_lock.RUN_PROGRAM, "ctrl\\+c")]
)
def test_who_is_kept_out_is_told_the_way_that_works(tmp_path: Path, program: str, way_out: str) -> None:
    with workspace_lock.acquire(tmp_path, program=program), pytest.raises(workspace_lock.Locked, match=way_out):
        workspace_lock.acquire(tmp_path)
