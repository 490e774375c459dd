"""The program with standard streams that its caller closed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.console.program import PROGRAM, SWARM, Program, environment

CLOSED = ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"]


def run_with(directory: Path, closed: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *PROGRAM, *arguments],
        cwd=directory,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("closed", CLOSED)
def test_a_run_goes_as_far_as_with_them_and_what_is_printed_is_not_in_the_journal(tmp_path: Path, closed: str) -> None:
    loud = SWARM.replace('    return f"saw {what}"', '    print("LOUD", flush=True)\n    return f"saw {what}"')
    (tmp_path / "keep.py").write_text(loud)
    done = run_with(tmp_path, closed, "run", "keep.py:swarm", "tea", "--json")
    assert done.returncode == 3, done
    assert "Traceback" not in done.stderr
    assert (tmp_path / "looked.log").read_text() == "tea\n"
    (waiting,) = Program(tmp_path).json("runs")
    assert waiting["state"] == "waiting"


@pytest.mark.parametrize(("closed", "arguments"), [(">&-", "runs"), ("2>&-", "incidents"), (">&-", "themes")])
def test_a_verb_has_its_exit_code(tmp_path: Path, closed: str, arguments: str) -> None:
    done = run_with(tmp_path, closed, arguments)
    assert (done.returncode, done.stdout if closed == ">&-" else done.stderr) == (0, "")


@pytest.mark.parametrize("closed", CLOSED)
def test_the_console_says_that_it_needs_a_terminal(tmp_path: Path, closed: str) -> None:
    done = run_with(tmp_path, closed)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert ("needs a terminal" in done.stderr) == ("2>&-" not in closed)
