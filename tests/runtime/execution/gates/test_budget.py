"""Budgets in force: a hit one is a question, an extension lets the run go on, and its end is seed 004's state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orbiter.types import Usage
from runtime.execution.gates.budget import usage_fields
from runtime.judgement.recovery.budget import Budget, LimitFinding, limit_fault
from runtime.judgement.reports.prices import PriceTable
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Limit,
    Origin,
    Persistence,
)
from tests.runtime.bench import Bench
from tests.runtime.execution.failures.test_remedies import started

PRICES = PriceTable().overridden({"scripted:repair/busy": {"input": 1000, "output": 2000}})
# One question of `busy` is 100 tokens in and 50 out: 0.2 dollars.


@pytest.mark.parametrize(
    ("limits", "ends", "looked"),
    [
        ({"max_steps": 3}, "failed", 1),
        ({"max_tool_calls": 2}, "failed", 2),
        ({"max_llm_calls": 2}, "failed", 2),
        ({"max_total_cost_usd": 0.3}, "failed", 1),
        ({"max_total_tokens": 290}, "failed", 1),
        ({"max_wall_time_s": 0.000001}, "interrupted", 0),
    ],
)
async def test_a_hit_budget_ends_the_run_where_nobody_can_be_asked(
    bench: Bench, limits: dict[str, Any], ends: str, looked: int
) -> None:
    async with bench.driving(enable_error_routing=False, budget=Budget(**limits), prices=PRICES):
        state = await bench.ended(await started(bench, "busy"))
    assert state.phase == ends
    assert state.error.startswith(f"{next(iter(limits))} is reached")
    assert sum(line.startswith("look") for line in bench.effects) == looked
    assert state.anomalies == 0


async def test_steps_end_degraded_where_the_policy_goes_on(bench: Bench) -> None:
    for limits, ends in (({"max_steps": 3}, "degraded"), ({"max_total_tokens": 200}, "failed")):
        async with bench.driving(enable_error_routing=False, budget=Budget(**limits)):
            assert (await bench.ended(await started(bench, "degrading"))).phase == ends


async def test_an_operator_extends_and_the_run_goes_on(bench: Bench) -> None:
    async with bench.driving(budget=Budget(max_tool_calls=2)):
        run = await started(bench, "busy")
        (incident,) = await bench.incidents(run)
        opened = incident.opened
        assert opened.options[0].id == "extend"
        assert opened.action["budget"]["limit"] == "max_tool_calls"
        await bench.decisions.answer(opened.incident_id, "extend", {"amount": 1}, by=ev.Actor(name="t", channel="cli"))
        await bench.until(run, lambda s: len(s.incidents) == 2)
        (again,) = await bench.incidents(run)
        assert again.opened.action["budget"]["allowed"] == 3
        await bench.decisions.answer(again.opened.incident_id, "extend", {}, by=ev.Actor(name="t", channel="cli"))
        state = await bench.ended(run)
    assert (state.phase, state.output) == ("completed", "looked at all")


async def test_an_operator_who_aborts_ends_it_in_the_seeds_state(bench: Bench) -> None:
    async with bench.driving(budget=Budget(max_wall_time_s=0.000001)):
        (incident,) = await bench.incidents(await started(bench, "busy"))
        assert incident.opened.action["budget"]["ends"] == "interrupted"
        state = await bench.ended_by(incident, "abort", reason="enough")
    assert state.phase == "interrupted"
    assert state.error.startswith("max_wall_time_s is reached")


async def test_calls_side_by_side_do_not_overshoot_and_go_on_together(bench: Bench) -> None:
    async with bench.driving(budget=Budget(max_tool_calls=1)):
        run = await started(bench, "wide")
        found = await bench.incidents(run, 3)
        # The one that may run is in a thread: it may come to its end after the others are asked about.
        await bench.until(run, lambda s: any(node.kind == "tool" and node.recorded for node in s.nodes.values()))
        assert sum(line.startswith("look") for line in bench.effects) == 1
        by = ev.Actor(name="t", channel="cli")
        await bench.decisions.answer(found[0].opened.incident_id, "extend", {"amount": 5}, by=by)
        state = await bench.ended(run)
    assert (state.phase, state.output) == ("completed", "wide done")
    assert sum(line.startswith("look") for line in bench.effects) == 4


async def test_a_swarms_own_budget_and_one_of_the_runs_options(bench: Bench) -> None:
    async with bench.driving():
        (incident,) = await bench.incidents(await started(bench, "limited"))
        assert incident.opened.action["budget"]["of"].startswith("swarm(")
        other = await started(bench, "busy", options={"budget": {"max_steps": 2}})
        (incident,) = await bench.incidents(other)
        assert incident.opened.action["budget"]["of"] == "the run"
        third = await started(bench, "nested_limit")
        (incident,) = await bench.incidents(third)
        state = await bench.state(third)
    assert state.llm_calls + state.tool_calls == 4


async def test_a_warning_comes_once_before_the_limit(bench: Bench) -> None:
    async with bench.driving(budget=Budget(max_steps=10)):
        state = await bench.ended(await started(bench, "busy"))
    warnings = [text for node in state.nodes.values() for text in node.warnings]
    assert warnings == ["budget max_steps: 80% of 10 is used"]


async def test_costs_come_from_prices_and_unknown_ones_are_not_nothing(bench: Bench) -> None:
    async with bench.driving(prices=PRICES):
        state = await bench.ended(await started(bench, "busy"))
        unknown = await bench.ended(await started(bench, "wide"))
    assert state.cost_usd == pytest.approx(1.0)
    assert (state.unpriced_calls, unknown.cost_usd, unknown.unpriced_calls) == (0, None, 2)


async def test_a_budget_of_costs_says_which_models_it_does_not_count(bench: Bench) -> None:
    async with bench.driving(budget=Budget(max_total_cost_usd=5)):
        state = await bench.ended(await started(bench, "busy"))
    warnings = [text for node in state.nodes.values() for text in node.warnings]
    unknown = "the price of scripted:repair/busy is unknown, so its calls do not count"
    assert warnings == [f'budget max_total_cost_usd: {unknown}. Set it under [prices."scripted:repair/busy"]']


async def test_a_limit_of_costs_that_is_reached_says_what_is_not_in_it(bench: Bench) -> None:
    async with bench.driving(budget=Budget(max_total_cost_usd=0), enable_error_routing=False):
        state = await bench.ended(await started(bench, "busy"))
    assert state.error == "max_total_cost_usd is reached: $0.00 of $0.00"
    found = LimitFinding(Limit.COST, "hit", 2.0, 1.5)
    assert limit_fault(found, 1).user_message == (
        "max_total_cost_usd is reached: $2.00 of $1.50, without 1 call of unknown price"
    )
    assert limit_fault(found, 3).user_message.endswith("without 3 calls of unknown price")


def test_waiting_for_a_person_or_frozen_is_no_wall_time() -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)

    def at(seconds: float) -> Any:
        return {"ts": begin + timedelta(seconds=seconds), "run_id": "r"}

    fault = Classification(origin=Origin.TOOL, cause=Cause.TOOL_FAILED, persistence=Persistence.UNKNOWN)
    step: Any = {"node_id": "a~0/t~0.0", "parent_id": "a~0", "kind": "tool", "name": "t", "agent": "a"}
    told: list[ev.JournalEvent] = [
        ev.RunCreated(**at(0), ref="x:y"),
        ev.RunStarted(**at(10), epoch=1),
        ev.NodeOpened(**at(10), node_id="a~0", kind="agent", name="a"),
        ev.StepStarted(**at(20), **step, attempt=1, epoch=1),  # + 5
        ev.StepEnded(**at(25), node_id="a~0/t~0.0", attempt=1, fault=fault),
        ev.StepStarted(**at(30), **step, attempt=2, epoch=1),  # + 3, then it asks an operator from inside
        ev.StepRequested(
            **at(33), node_id="a~0/t~0.0/ask~0", parent_id="a~0/t~0.0", kind="value", name="ask", agent="a"
        ),
        ev.IncidentOpened(**at(33), node_id="a~0/t~0.0/ask~0", incident_id="i", fault=fault),
        ev.IncidentAnswered(**at(90), node_id="a~0/t~0.0/ask~0", incident_id="i", revision=1, option="input"),
        ev.RunFrozen(**at(94)),  # + 4
        ev.RunThawed(**at(190)),  # + 2, and then its process dies
        ev.NodeOpened(**at(192), node_id="a~0/other~0", parent_id="a~0", kind="tool", name="other"),
        ev.RunStarted(**at(900), epoch=2),
        ev.StepStarted(**at(901), **step, attempt=3, epoch=2),  # + 1
        ev.StepEnded(**at(902), node_id="a~0/t~0.0", attempt=3, result=1),
    ]
    assert fold_events(told).active_seconds(begin + timedelta(days=1)) == pytest.approx(5 + 3 + 4 + 2 + 1)


def test_negative_counts_give_nothing_back() -> None:
    prices = PriceTable().overridden({"own:m": {"input": 1.0, "output": 1.0}})
    used = usage_fields(prices, "own:m", Usage(input_tokens=-5, output_tokens=-5), datetime.now(UTC))
    assert (used["input_tokens"], used["output_tokens"], used["cost_usd"]) == (0, 0, 0.0)
    used = usage_fields(prices, "own:m", Usage(input_tokens=1_000_000, output_tokens=-5), datetime.now(UTC))
    assert (used["input_tokens"], used["output_tokens"], used["cost_usd"]) == (1_000_000, 0, 1.0), "nor of the cost"


SLOW = """
import asyncio
from orbiter import steps
from orbiter._internal.loop.value_step import VALUE_CODEC
from orbiter.steps import Place, Step, Traits
from orbiter.types import RunResult

async def never(arguments):
    await asyncio.Event().wait()

class Slow:
    # Its model has a limit of its own for each call, as the OpenAI Agents SDK has it.

    name = "slow"

    async def run(self, input, **more):
        async with steps.opening("agent", self.name) as scope:
            step = Step("llm", "m", self.name, Place(0), {}, never, VALUE_CODEC, Traits(timeout=0.05))
            output = await scope.step(step)
            scope.outcome(output)
        return RunResult(output=output, steps=1, agent=self.name)

slow = Slow()
"""


async def test_a_models_own_limit_holds_within_the_wall_time(bench: Bench) -> None:
    app = bench.root / "slow.py"
    app.write_text(SLOW)
    async with bench.driving(enable_error_routing=False, budget=Budget(max_wall_time_s=3600)):
        state = await bench.ended(await bench.decisions.start(f"{app}:slow", "go", by=ev.Actor(name="t")))
    assert state.phase == "failed"
    assert "m did not come back within 0.05 s" in state.error
