"""Seed 004's failure matrix and policies, row by row, without an operator: what a run comes to, and what was tried."""

from __future__ import annotations

import pytest

from runtime.execution.gates.breaker import fold_breakers
from runtime.judgement.fault_handling import FaultHandling
from runtime.record.state import events as ev
from tests.runtime.bench import Bench
from tests.runtime.execution.failures.test_remedies import finished, started

ROWS = [
    # what fails, state, output, how the failing thing was tried
    ("lone", "failed", "", ["ask down"] * 2),  # a server error is retried, then final
    ("strict", "failed", "", ["ask badkey"]),  # a refused key is final at once
    ("without_model", "degraded", "good: ", ["ask badkey", "ask good"]),
    ("passed_over", "completed", "good: go", ["ask badkey", "ask good"]),
    ("degraded", "degraded", "good: go", ["ask badkey", "ask good"]),
    ("tool_continue", "completed", "told: Tool 'breaks' failed: broke it", ["ask breaker", "breaks it", "ask breaker"]),
    ("tool_degrade", "degraded", "told: Tool 'breaks' failed: broke it", ["ask breaker", "breaks it", "ask breaker"]),
    ("tool_fail", "failed", "", ["ask breaker", "breaks it"]),
    ("bad_arguments", "completed", "told: ", ["ask botcher", "ask botcher"]),  # for the model to correct
    ("times_out", "completed", "told: hangs did not come back", ["ask hanger", "ask hanger"]),
    ("times_out_fail", "failed", "", ["ask hanger"]),
    ("denied", "completed", "told: Denied", ["ask sheller", "ask sheller"]),
    ("all_required", "failed", "", None),
    ("optional", "degraded", "good: go", None),
    ("first", "completed", "good: go", None),  # whether the good one comes first, or last
    ("quorum1", "completed", "good: go", None),
    ("quorum2", "failed", "", None),
]


@pytest.mark.parametrize(("name", "phase", "output", "effects"), ROWS, ids=[row[0] for row in ROWS])
async def test_a_row_of_the_matrix(bench: Bench, name: str, phase: str, output: str, effects: list[str] | None) -> None:
    state = await finished(bench, name, enable_error_routing=False)
    assert state.phase == phase, state.error
    assert state.output.startswith(output)
    if effects is not None:
        assert bench.effects == effects


@pytest.mark.parametrize("name", ["without_model", "passed_over", "degraded", "tool_continue", "tool_degrade"])
async def test_a_policy_that_goes_on_asks_nobody(bench: Bench, name: str) -> None:
    assert not (await finished(bench, name)).incidents


async def test_an_open_breaker_lets_the_fallback_go_at_once(bench: Bench) -> None:
    errors = FaultHandling(circuit_breaker_threshold=2)
    async with bench.driving(errors=errors):
        assert (await bench.ended(await started(bench, "flaky"))).output == "good: go"
        asked = bench.effects.count("ask down")
        state = await bench.ended(await started(bench, "flaky"))
    assert (asked, bench.effects.count("ask down")) == (2, 2)
    assert state.output == "good: go"
    known = fold_breakers(await bench.journal.read(ev.WORKSPACE_RUN_ID))
    assert known["model:scripted:repair/down"].opened_at is not None
    assert "model:scripted:repair/good" not in known


async def test_an_open_breaker_holds_a_step_back_until_somebody_resets_it(bench: Bench) -> None:
    errors = FaultHandling(circuit_breaker_threshold=2, circuit_breaker_timeout=3000)
    async with bench.driving(errors=errors):
        await bench.incidents(await started(bench, "lone"))
        run = await started(bench, "lone")
        (incident,) = await bench.incidents(run)
        assert bench.effects.count("ask down") == 2
        opened = incident.opened
        assert opened.fault.cause == "circuit_open"
        assert [option.id for option in opened.options][:2] == ["wait_retry", "reset"]
        assert (opened.safe, opened.action["breaker"]) == ("wait_retry", "model:scripted:repair/down")
        await bench.answer(incident, "reset")
        await bench.until(run, lambda s: len(s.incidents) == 2)
    assert bench.effects.count("ask down") == 4


async def test_after_its_time_one_step_probes(bench: Bench) -> None:
    errors = FaultHandling(circuit_breaker_threshold=2, circuit_breaker_timeout=4.0)
    async with bench.driving(errors=errors):
        await bench.incidents(await started(bench, "lone"))
        run = await started(bench, "lone")
        state = await bench.until(run, lambda s: any(node.attempts for node in s.nodes.values()))
    (first, *_) = state.incidents.values()
    assert first.answer is not None
    assert (first.answer.option, first.answer.by.channel) == ("wait_retry", "rule")
    assert any(
        isinstance(event, ev.BreakerChanged) and event.prober for event in await bench.journal.read(ev.WORKSPACE_RUN_ID)
    )


async def test_bad_keys_and_bad_arguments_open_no_breaker(bench: Bench) -> None:
    async with bench.driving(errors=FaultHandling(circuit_breaker_threshold=1), enable_error_routing=False):
        for name in ("strict", "bad_arguments", "tool_continue"):
            await bench.ended(await started(bench, name))
    assert not fold_breakers(await bench.journal.read(ev.WORKSPACE_RUN_ID))
