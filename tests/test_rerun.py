"""The second run of what failed: by tests of a directory of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rerun import MOST

ROOT = Path(__file__).parent.parent
PASSES = "def test_passes():\n    pass\n"
FAILS = "def test_fails(): raise RuntimeError\n"
ONCE = """
import os, signal
from pathlib import Path

def test_once():
    seen = Path(__file__).with_suffix(".seen")
    if not seen.exists():
        seen.touch()
        FAIL
"""
RAISES = ONCE.replace("FAIL", "raise RuntimeError")
DIES = ONCE.replace("FAIL", "os.kill(os.getpid(), signal.SIGKILL)")
UNREPORTED = """
def pytest_runtest_logreport(report):
    pass

def pytest_report_from_serializable(data):
    from pytest import TestReport
    if "test_passes" in data["nodeid"]:
        data = {**data, "nodeid": "elsewhere"}
        return TestReport._from_json({k: v for k, v in data.items() if k != "$report_type"})
"""


def rerun(place: Path, *arguments: str, **texts: str) -> tuple[int, list[str]]:
    """The exit code, and the lines that name tests."""
    (place / "pytest.ini").write_text("[pytest]\ntestpaths = .\n")
    for name, text in texts.items():
        (place / f"{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "tests.rerun", "-q", "-p", "xdist", *(arguments or ("-n", "0"))],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    starts = ("FLAKY", "FAILED again", "NOT RUN")
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith(starts)]


def test_none_fails(tmp_path: Path) -> None:
    assert rerun(tmp_path, test_a=PASSES) == (0, [])


def test_no_test_is_there(tmp_path: Path) -> None:
    assert rerun(tmp_path)[0] == pytest.ExitCode.NO_TESTS_COLLECTED


def test_what_cannot_be_read_is_not_run_again(tmp_path: Path) -> None:
    assert rerun(tmp_path, test_a="def", test_b=RAISES) == (pytest.ExitCode.INTERRUPTED, [])


def test_what_cannot_be_compiled_before_the_workers_start_is_told_by_them(tmp_path: Path) -> None:
    assert rerun(tmp_path, "-n", "2", test_a="def", test_b=PASSES) == (pytest.ExitCode.INTERRUPTED, [])


def test_workers_that_do_not_agree_on_the_tests_fail_the_command(tmp_path: Path) -> None:
    """What one of them could not read can be read the second time, but the other tests were not run."""
    unread = "import os\nassert os.environ.get('PYTEST_XDIST_WORKER') != 'gw1'\n" + PASSES
    assert rerun(tmp_path, "-n", "2", test_a=PASSES, test_b=unread) == (
        pytest.ExitCode.TESTS_FAILED,
        ["NOT RUN: all, in doubt"],
    )


def test_one_that_fails_once_is_named_and_the_others_are_not_run_again(tmp_path: Path) -> None:
    """Also where its worker is killed under it."""
    passes = PASSES + "    open('ran.log', 'a').write('x')\n"
    found = rerun(tmp_path, "-n", "2", "--dist", "worksteal", test_a=passes, test_b=DIES, test_c=RAISES)
    names = ["test_b.py::test_once", "test_c.py::test_once"]
    assert found == (0, [f"FLAKY (to be mended): {name}" for name in names])
    assert (tmp_path / "ran.log").read_text() == "x"


def test_the_snapshots_of_those_that_are_not_run_again_are_no_failure(tmp_path: Path) -> None:
    (tmp_path / "__snapshots__").mkdir()
    names = ("test_once", "test_other")
    kept = "".join(f"# name: {name}\n  1\n# ---\n" for name in names)
    (tmp_path / "__snapshots__" / "test_a.ambr").write_text("# serializer version: 1\n" + kept)
    once = RAISES.replace("once()", "once(snapshot)") + "    assert snapshot == 1\n"
    other = "def test_other(snapshot):\n    assert snapshot == 1\n"
    found = rerun(tmp_path, "-n", "2", "-p", "syrupy", test_a=once + other)
    assert found == (0, ["FLAKY (to be mended): test_a.py::test_once"])


def test_one_that_fails_always_fails_the_command(tmp_path: Path) -> None:
    assert rerun(tmp_path, test_a=FAILS, test_b=RAISES) == (
        pytest.ExitCode.TESTS_FAILED,
        ["FLAKY (to be mended): test_b.py::test_once", "FAILED again: test_a.py::test_fails"],
    )


def test_too_many_are_not_run_again(tmp_path: Path) -> None:
    many = "".join(FAILS.replace("fails", f"fails_{number}") for number in range(MOST + 1))
    assert rerun(tmp_path, test_a=many) == (pytest.ExitCode.TESTS_FAILED, [])


def test_one_without_a_report_fails_the_command(tmp_path: Path) -> None:
    found = rerun(tmp_path, "-n", "1", test_a=PASSES, test_b=RAISES, conftest=UNREPORTED)
    assert found == (pytest.ExitCode.TESTS_FAILED, ["NOT RUN: test_a.py::test_passes"])
