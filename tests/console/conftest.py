"""A directory to work in, with a swarm in it that needs a person."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.console.program import SWARM, Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "keeper.py").write_text(SWARM)
    return Program(tmp_path)


@pytest.fixture
def parked(program: Program) -> Callable[[], str]:
    """Runs the swarm until it waits for leave; gives the incident's id."""

    def park() -> str:
        done = program("run", "keeper.py:swarm", "tea")
        assert done.returncode == 3, done.stderr
        (incident,) = program.json("incidents")
        return str(incident["id"])

    return park
