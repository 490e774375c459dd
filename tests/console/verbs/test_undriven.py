"""What the verbs that look say of a run whose process was killed: nothing drives it."""

from __future__ import annotations

import time

import pytest

from tests.console.program import SWARM, Program
from tests.patience import PATIENCE_S

SAID = "nothing drives this workspace now"
SLOW = SWARM.replace('    return f"saw {what}"', '    __import__("time").sleep(600)\n    return ""')


@pytest.fixture
def interrupted(program: Program) -> str:
    """The id of a run that was killed in its first tool call. Until then the verbs say nothing of that kind."""
    (program.directory / "keep.py").write_text(SLOW)
    with program.start("run", "keep.py:swarm", "tea"):
        deadline = time.monotonic() + PATIENCE_S
        while not program.logged("looked.log"):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        for verb in ("runs", "incidents"):
            assert SAID not in program(verb).stderr
        driven = program("waits", program.json("runs")[0]["id"])
        assert (SAID in driven.stderr, "its call is under way" in driven.stdout) == (False, True)
    (run,) = program.json("runs")
    assert run["state"] == "running"
    return str(run["id"])


def test_a_run_that_was_killed_does_not_look_like_work_under_way(program: Program, interrupted: str) -> None:
    looked = [["runs"], ["runs", "--search", "tea"], ["runs", "--json"], ["show", interrupted], ["incidents"]]
    for words in [*looked, ["incidents", "--run", interrupted], ["waits", interrupted]]:
        done = program(*words)
        assert (done.returncode, done.stderr.count(SAID)) == (0, 1), (words, done.stderr)
        assert "under way" not in done.stdout
    (waits,) = program.json("waits", interrupted)
    assert (waits["kind"], waits["why"]) == ("runtime", "a runtime that carries the run on")
    assert waits["chain"][-1]["why"] == waits["why"]
    assert SAID not in program("runs", "--in", "completed").stderr


def test_a_run_that_waits_for_a_person_only_or_is_over_needs_no_runtime(program: Program) -> None:
    (program.directory / "keep.py").write_text(SWARM)
    assert program("run", "keep.py:swarm", "tea").returncode == 3
    run = program.json("runs")[0]["id"]
    for words in (["runs"], ["show", run], ["waits", run], ["incidents"]):
        assert SAID not in program(*words).stderr, words
