"""Seed 001: a nested swarm is a swarm, so what it declares holds (ids: findings, number 2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.record.state.durable_run import DurableRun
from tests.runtime.bench import ME, Bench

NESTED = Path(__file__).parents[1] / "data" / "swarms" / "nested.py"
PLACES = ("top", "workflow", "team", "handoff", "parallel", "serial", "twice")


async def started(bench: Bench, name: str) -> str:
    return await bench.decisions.start(f"{NESTED}:{name}", "go", by=ME)


async def finished(bench: Bench, name: str) -> DurableRun:
    async with bench.driving():
        run = await started(bench, name)
        return await bench.until(run, lambda state: bool(state.incidents) or state.phase in ("completed", "degraded"))


@pytest.mark.parametrize("place", PLACES)
async def test_2_a_budget_holds(bench: Bench, place: str) -> None:
    async with bench.driving():
        (incident,) = await bench.incidents(await started(bench, f"budget_{place}"))
    assert incident.opened.action["budget"]["limit"] == "max_tool_calls"
    assert [option.id for option in incident.opened.options][:1] == ["extend"]
    assert bench.effects == ["look 0"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("setting", "output", "phase"),
    [
        ("continue", "echo: go", "completed"),
        ("degrade", "echo: go", "degraded"),
        ("join", "good\n\ngood", "completed"),
        ("model", "good", "completed"),
        ("agent", "good", "completed"),
        ("planner", "21 degrees", "completed"),
        ("router", "good", "completed"),
        ("hooks", "good", "completed"),
    ],
)
async def test_2_what_a_swarm_declares_holds_wherever_it_stands(
    bench: Bench, setting: str, output: str, phase: str, place: str
) -> None:
    state = await finished(bench, f"{setting}_{place}")
    assert not state.incidents, [each.opened.message for each in state.incidents.values()]
    assert (state.phase, state.anomalies) == (phase, 0)
    # In a handoff swarm the work so far is the history, and the name of the agent is what is said to it.
    expected = output.replace("go", "inner") if place == "handoff" and setting in ("continue", "degrade") else output
    if setting == "join":
        assert state.output.startswith(expected)
    else:
        assert state.output == expected
    if setting == "hooks":
        assert bench.effects == ["hook"]


async def test_2_the_budget_of_the_outer_swarm_holds_over_the_inner_ones(bench: Bench) -> None:
    async with bench.driving():
        (incident,) = await bench.incidents(await started(bench, "outer_budget"))
    assert incident.opened.action["budget"]["allowed"] == 1
    assert incident.opened.action["budget"]["of"].startswith("swarm(")
    assert bench.effects == ["look 0"]


@pytest.mark.parametrize(
    ("name", "output", "phase"),
    [("spent_and_passed", "echo: go", "degraded"), ("spent_and_replaced", "good", "completed")],
)
async def test_2_a_nested_swarm_whose_budget_is_spent_has_failed_for_the_outer_policy(
    bench: Bench, name: str, output: str, phase: str
) -> None:
    state = await finished(bench, name)
    assert not state.incidents
    assert (state.phase, state.output) == (phase, output)
    assert bench.effects == ["look 0"]
