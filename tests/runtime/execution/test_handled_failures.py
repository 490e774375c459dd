"""Failures that an agent of another framework deals with itself: they go to it, as they do without us. Where it raises
an exception in the end, a person is asked of the step that failed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.judgement.recovery.retry import RetryPolicy
from tests.runtime.bench import Bench
from tests.runtime.guest_bench import LANGGRAPH, effects, output_alone, parked, starts, two_lives

FILE = LANGGRAPH.with_name("handled_failures.py")
start = starts(FILE)
TOLD = "Declined funds: 1 was declined"
AFTER_RETRIES = "Tool 'charge' failed after 3 attempts with Declined: 1 was declined. Please try again."


@pytest.mark.parametrize("name", ["by_hook", "by_toolset", "inner", "outer", "retrying", "by_function"])
async def test_the_agent_is_told_as_it_is_alone_also_in_a_second_life(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    state = await two_lives(bench, FILE, name, at="/llm~")
    assert state.output == f"{AFTER_RETRIES if name == 'retrying' else TOLD}; charged 2"
    tries = 3 if name == "retrying" else 1
    assert sorted(effects(bench)) == [*["note charge 1"] * tries, "note charge 2"]
    assert await output_alone(FILE, name, tmp_path / "alone", monkeypatch) == state.output


@pytest.mark.parametrize("name", ["hook_raises", "inner_raises", "outer_raises", "function_raises"])
async def test_what_it_raises_again_is_asked_once_at_the_step_and_a_retry_goes_on(bench: Bench, name: str) -> None:
    async with bench.driving(grace_s=0.0):
        run = await start(bench, name)
        (asked,) = await bench.incidents(run)
        assert "/charge~" in asked.opened.node_id
        assert "out of reach" in asked.opened.message
        await bench.until(run, parked)
    async with bench.driving(grace_s=0.0):
        await bench.until(run, parked)
        assert await bench.incidents(run) == [asked]
        state = await bench.ended_by(asked, "retry")
    assert state.output == "charged 102; Declined funds: 3 was declined"
    assert sorted(effects(bench)) == ["note charge 102", "note charge 102", "note charge 3"]
    assert len(state.incidents) == 1


async def test_middleware_that_deals_with_no_failure_leaves_the_retries_of_a_busy_service_to_the_runtime(
    bench: Bench,
) -> None:
    async with bench.driving(policy=RetryPolicy(max_attempts=3, base=0.01)):
        state = await bench.ended(await start(bench, "passed_on"))
    assert (state.output, state.incidents) == ("12", {})
    assert [each for each in state.nodes if "/balance~" in each] == ["passed_on~0/balance~0.0"]
    assert effects(bench) == ["look x"] * 3
