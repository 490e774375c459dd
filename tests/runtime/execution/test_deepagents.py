"""Deep agents under a runtime. The package brings the SDKs of several vendors, so it is not among the locked ones.

These tests run in the environment of `make guests-newest`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.runtime.bench import Bench
from tests.runtime.guest_bench import parked, starts

pytest.importorskip("deepagents", reason="deepagents is not installed: make guests-newest")
start = starts(Path(__file__).parents[2] / "data" / "swarms" / "deep.py")


async def test_each_call_is_a_step_and_what_its_helper_does_is_not_done_again(bench: Bench) -> None:
    (bench.root / "down").touch()
    async with bench.driving(grace_s=0.0, guest_tools={"task": {"composite": True}}):
        run = await start(bench, "deep")
        (failed,) = await bench.incidents(run)
        assert failed.opened.action == {"tool": "reach", "arguments": {"host": "h"}}
        await bench.until(run, parked)
    (bench.root / "down").unlink()
    async with bench.driving(grace_s=0.0, guest_tools={"task": {"composite": True}}):
        state = await bench.ended_by(failed, "retry")
    assert "the plan" in state.output
    assert [key for key in state.nodes if key.startswith("deep~0/task")] == [
        "deep~0/task~1.0", "deep~0/task~1.0/llm~0", "deep~0/task~1.0/reach~0.0", "deep~0/task~1.0/llm~1",
    ]  # fmt: skip
    assert state.nodes["deep~0"].info["depth"] == "fine"
    assert Counter(bench.effects) == Counter({"look model": 6, "reach h": 2})


async def test_without_a_declaration_a_helper_is_part_of_one_step(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "deep"))
    assert [key for key in state.nodes if key.startswith("deep~0/task")] == ["deep~0/task~1.0"]
    assert "the plan" in state.output
