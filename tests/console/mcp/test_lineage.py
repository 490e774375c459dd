"""How a client is known to belong to a run: by the mark, and by who started whom."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.mcp import lineage
from console.mcp.lineage import ancestors, is_in_run
from orbiter.mcp.sdk.program import MARKS
from runtime.config.loader import load_configuration
from runtime.service.embedded import EmbeddedRuntime
from runtime.worker.run_mark import RUN_MARK

ASKS = "import os, sys; from console.mcp.lineage import is_in_run; print(is_in_run(os.environ, {int(sys.argv[1])}))"


def answer_of_child(driver: int, *, mark: bool = False, between: bool = False) -> str:
    """What a process that this one started says of itself; with `between`, one that a marked shell started afresh."""
    plain = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    marked = {**plain, RUN_MARK: "/w/.orbiter"} if mark else plain
    child = [sys.executable, "-c", ASKS, str(driver)]
    if between:
        child = ["sh", "-c", 'env -u "$0" "$@"; exit', RUN_MARK, *child]
    return subprocess.run(child, env=marked, capture_output=True, text=True, check=True).stdout.strip()


def test_a_process_with_the_mark_is_in_a_run() -> None:
    assert answer_of_child(0, mark=True) == "True"


def test_a_process_that_a_driving_process_started_is_in_a_run_without_the_mark() -> None:
    assert answer_of_child(os.getpid()) == "True"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="environments of others are read from /proc")
def test_a_process_that_took_the_mark_out_of_its_environment_is_known_by_those_above_it() -> None:
    assert answer_of_child(0, mark=True, between=True) == "True"


def test_a_process_that_a_person_started_is_not_in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "has_mark", lambda _process: False)
    above = ancestors(os.getpid())
    assert above is not None
    assert above[:1] == [os.getppid()]
    assert not is_in_run({}, {0})


def test_where_it_cannot_be_told_it_counts_as_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "_parents", dict)
    assert ancestors(os.getpid()) is None
    assert is_in_run({}, set())


def test_a_process_that_drives_runs_marks_what_they_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUN_MARK, raising=False)
    with EmbeddedRuntime(tmp_path / ".orbiter", load_configuration(tmp_path).execution_config(), listening=False):
        assert os.environ[RUN_MARK] == str(tmp_path / ".orbiter")
    assert RUN_MARK in MARKS
