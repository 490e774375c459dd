"""Whose lease it was, and whether that one is gone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from runtime.record.lease_owner import has_died, owner_name


def test_another_process_of_this_machine_counts_while_it_lives_and_no_longer() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        name = f"{socket.gethostname()}:{process.pid}:abcdef#3"
        assert not has_died(name)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert has_died(name), "its exit code is not collected yet"
    assert has_died(name)


def test_our_own_number_is_that_of_an_earlier_life() -> None:
    """Asked only under the workspace's lock, which no second supervisor of this process has."""
    assert has_died(f"{owner_name()}#1")
    assert owner_name() != owner_name()
    assert owner_name().split(":")[1] == str(os.getpid())


@pytest.mark.parametrize("owner", ["", "bench", "elsewhere:1:a#1", "::#", f"{socket.gethostname()}:x:a#1"])
def test_who_cannot_be_judged_is_waited_for(owner: str) -> None:
    assert not has_died(owner)
