"""The lab of the remote console leaves no network namespace behind, however it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.remote.namespaces import listed, remove, remove_leftovers

ROOT = Path(__file__).parent.parent
LAB = [sys.executable, "-m", "benchmarks.remote.remote_lab"]


def _possible() -> bool:
    if os.getuid() != 0 or shutil.which("ip") is None or not os.access("/dev/net/tun", os.W_OK):
        return False
    name = f"orbiter-test-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode != 0:
        return False
    remove(name)
    return True


pytestmark = pytest.mark.skipif(not _possible(), reason="no network namespaces can be made here")


@contextmanager
def lab(**variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """The lab, as a user calls it."""
    with subprocess.Popen(
        LAB, cwd=ROOT, env=os.environ | variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def namespaces(process: subprocess.Popen[bytes]) -> list[str]:
    return [name for name in listed() if name.endswith(f"-{process.pid}")]


def until_both(process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while len(namespaces(process)) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_lab_that_is_stopped_removes_its_namespaces(number: signal.Signals) -> None:
    with lab() as process:
        until_both(process)
        process.send_signal(number)
        assert process.wait(timeout=60) != 0
        assert namespaces(process) == []


def test_a_lab_that_fails_removes_its_namespaces(tmp_path: Path) -> None:
    (tmp_path / "ssh-keygen").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "ssh-keygen").chmod(0o755)
    with lab(PATH=f"{tmp_path}:{os.environ['PATH']}") as process:
        until_both(process)
        assert process.wait(timeout=60) != 0
        assert namespaces(process) == []


def test_what_a_killed_lab_left_behind_is_removed_by_the_next() -> None:
    with lab() as process:
        until_both(process)
        process.kill()
        process.wait()
    assert len(namespaces(process)) == 2
    assert set(namespaces(process)) <= set(remove_leftovers())
    assert namespaces(process) == []
