"""Seed 002: `classify_error` and `get_retry_policy` on a Tool subclass, an agent, a swarm (ids: findings, number 4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.record.state.durable_run import RUN_TERMINAL, DurableRun
from tests.runtime.bench import ME, Bench

DECLARED = Path(__file__).parents[1] / "data" / "swarms" / "declared.py"


async def settled(bench: Bench, name: str) -> DurableRun:
    """The run at its end, or once a person is asked."""
    async with bench.driving():
        run_id = await bench.decisions.start(f"{DECLARED}:{name}", "go", by=ME)
        return await bench.until(run_id, lambda state: state.phase in RUN_TERMINAL or bool(state.open_incidents))


async def test_4_retriable_of_a_tool_subclass_with_its_own_policy(bench: Bench) -> None:
    state = await settled(bench, "retried")
    assert (state.phase, state.output) == ("completed", "told: done")
    (call,) = [node for node in state.nodes.values() if node.kind == "tool"]
    assert call.attempts == 3  # the bench's own policy gives up after two


async def test_4_critical_of_a_tool_subclass_is_put_before_a_person(bench: Bench) -> None:
    state = await settled(bench, "critical")
    (incident,) = state.open_incidents
    assert incident.opened.fault.rule_id == "author.critical"
    assert incident.opened.fault.user_message == "Unexpected error: it did not work"


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("by_tool", "tool"),
        ("by_agent", "agent"),
        ("by_agent_after_tool", "agent"),
        ("by_agent_after_broken_tool", "agent"),
        ("by_swarm", "swarm"),
        ("by_swarm_after_agent", "swarm"),
        ("by_inner", "inner"),
        ("by_outer", "outer"),
        ("by_team", "swarm"),
        ("by_hook", "agent"),
        ("by_instructions", "agent"),
    ],
)
async def test_4_the_innermost_that_says_anything_is_heard(bench: Bench, name: str, who: str) -> None:
    state = await settled(bench, name)
    (incident,) = state.open_incidents
    fault = incident.opened.fault
    assert (fault.rule_id, fault.user_message) == ("author.critical", f"{who} says: it did not work")


async def test_4_a_classify_error_that_cannot_be_used_is_warned_of(bench: Bench) -> None:
    state = await settled(bench, "by_agent_after_broken_tool")
    (warning,) = [text for node in state.nodes.values() for text in node.warnings]
    assert "classify_error of capability cannot be used: it raised LookupError: no such judge" in warning


async def test_4_an_agents_failure_outside_of_its_steps_goes_back_to_the_planner(bench: Bench) -> None:
    state = await settled(bench, "replanned")
    assert (state.phase, state.output) == ("completed", "good")
    assert [(back.remedy, back.to) for back in state.returned] == [("replan", "planner")]


@pytest.mark.parametrize(
    ("name", "attempts", "output"),
    [
        ("policy_of_agent", 3, "told: done"),
        ("policy_of_swarm", 3, "told: done"),
        ("policy_of_neither", 2, "told: Tool 'capability' failed: down"),
    ],
)
async def test_4_the_policy_of_an_agent_or_swarm_holds_for_the_tools_in_it(
    bench: Bench, name: str, attempts: int, output: str
) -> None:
    state = await settled(bench, name)
    (call,) = [node for node in state.nodes.values() if node.kind == "tool"]
    assert (call.attempts, state.output) == (attempts, output)
