"""The names under which the steps of guests are recorded. A run that was recorded by an earlier version of a framework,
or of this program, goes on only if its steps have the same names: a difference here is a break for parked runs.

`tests/data/guest-step-names.json` has them, by swarm, with the version of the framework that they were taken from.
"""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path

import pytest

from orbiter.guests.frameworks import FRAMEWORKS
from runtime.record.state.durable_run import DurableRun
from tests.runtime.bench import ME, Bench

DATA = Path(__file__).parents[2] / "data"
PINNED = json.loads((DATA / "guest-step-names.json").read_text(encoding="utf-8"))


_OF_TASK = re.compile(r"\.\d{6,}$")
"""The part of a place that LangGraph makes of a task's id, which each run has of its own."""


def names_of(state: DurableRun) -> list[str]:
    """Each node with its kind, in the order of their names."""
    return sorted(f"{node.kind} {_OF_TASK.sub('.TASK', key)}" for key, node in state.nodes.items())


@pytest.mark.parametrize("ref", sorted(PINNED))
async def test_steps_have_the_names_that_parked_runs_have(bench: Bench, ref: str) -> None:
    async with bench.driving():
        file, _, name = ref.partition(":")
        run = await bench.decisions.start(f"{DATA / 'swarms' / file}:{name}", "go", by=ME)
        state = await bench.ended(run)
    taken, names = PINNED[ref]["from"], PINNED[ref]["names"]
    found = names_of(state)
    assert found == names, f"these differ from the names that were recorded with {taken}"


def test_every_framework_is_pinned() -> None:
    pinned = {each["from"].partition(" ")[0] for each in PINNED.values()}
    assert {each.distribution for each in FRAMEWORKS} == pinned
    for each in FRAMEWORKS:
        assert metadata.version(each.distribution)
