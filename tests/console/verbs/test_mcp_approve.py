"""The MCP example as a user runs it: approved, run, answered, in processes of their own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.console.program import Program

EXAMPLE = Path(__file__).parents[3] / "examples" / "mcp"
RUN = ("run", "notes.py:writer", "Tea is out")


@pytest.fixture
def example(tmp_path: Path) -> Program:
    """A copy of the example, with user directories of its own and `python3` as in an activated environment."""
    shutil.copytree(EXAMPLE, tmp_path / "mcp", ignore=shutil.ignore_patterns(".orbiter", "__pycache__", "notes.txt"))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    homes = {f"XDG_{each}_HOME": str(tmp_path / each) for each in ("STATE", "CONFIG")}
    return Program(tmp_path / "mcp", {"PATH": path, "NOTES_PYTHON": "", **homes})


def answer(example: Program, *given: str) -> None:
    (asked,) = example.json("incidents")
    done = example("answer", asked["id"], *given)
    assert done.returncode == 0, done.stderr


def test_the_example_is_approved_run_and_answered(example: Program) -> None:
    approved = example("mcp-approve", "notes")
    assert approved.returncode == 0, approved.stderr
    assert "notes  approved" in approved.stdout
    assert "not set here" not in approved.stdout + approved.stderr, "the variable has a default"
    waits = example(*RUN)
    assert waits.returncode == 3, waits.stderr
    assert "needs mcp.call:notes/add_note" in waits.stdout + waits.stderr
    answer(example, "grant")
    waits = example(*RUN, "--resume")
    assert waits.returncode == 3, waits.stderr
    assert "On which page shall this stand: Tea is out?" in waits.stdout + waits.stderr
    assert example.logged("notes.txt") == []
    answer(example, "input", "--value", '{"page": 3}')
    done = example(*RUN, "--resume")
    assert done.returncode == 0, done.stderr
    assert "The note is added on page 3." in done.stdout
    assert example.logged("notes.txt") == ["3: Tea is out"]


def test_what_was_not_approved_is_not_started_and_asked_about(example: Program) -> None:
    waits = example(*RUN)
    assert waits.returncode == 3, waits.stderr
    (asked,) = example.json("incidents")
    assert asked["action"]["permission"] == "mcp.server:notes"
    assert asked["action"]["mcp_server"]["command"] == ["${NOTES_PYTHON:-python3}", "notes_server.py"]
