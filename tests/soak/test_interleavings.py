"""Two processes and operators, who take turns at every transaction, for as many histories as an hour allows."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.runtime.execution.interleaving import World
from tests.runtime.execution.parking_machine import Interleaved, asked, follow

TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(
    max_examples=3000,
    stateful_step_count=60,
    deadline=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("start", ["".join(each) for each in product("twhH", repeat=2)])
def test_a_rules_own_answer_and_a_park_in_every_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    for rest in map("".join, product("twhH", repeat=3)):
        world = World(tmp_path / rest, "dead", attended=False)
        try:
            asked(world)
            follow(world, start + rest)
            assert world.drain().phase == "failed", start + rest
        finally:
            world.close()
