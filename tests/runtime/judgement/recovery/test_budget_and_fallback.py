"""Budgets with their end states, prices, and who stands in for a model that failed."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orbiter.types import Usage
from runtime.judgement.recovery.budget import (
    Budget,
    BudgetUsage,
    blocking_limit,
    check_limits,
    end_state,
    limit_fault,
)
from runtime.judgement.recovery.fallback import choose_fallback, should_fall_back
from runtime.judgement.reports.prices import PriceTable, builtin_prices
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Limit,
    Origin,
    Persistence,
)


def test_a_warning_comes_at_four_fifths() -> None:
    budget = Budget(max_total_cost_usd=1.0)
    assert check_limits(budget, BudgetUsage(cost_usd=0.79)) == ()
    (found,) = check_limits(budget, BudgetUsage(cost_usd=0.8))
    assert (found.limit, found.level, found.name) == (Limit.COST, "warning", "max_total_cost_usd")


def test_a_hit_limit_lets_nothing_begin() -> None:
    found = check_limits(Budget(max_steps=3, max_total_tokens=100), BudgetUsage(steps=3, tokens=90))
    assert [(f.limit, f.level) for f in found] == [(Limit.STEPS, "hit"), (Limit.TOKENS, "warning")]
    fault = limit_fault(found[0])
    assert (fault.cause, fault.limit, fault.effect) == (Cause.LIMIT_REACHED, Limit.STEPS, Effect.NOT_ATTEMPTED)
    assert fault.user_message == "max_steps is reached: 3 of 3"


def test_tool_calls_that_are_used_up_stop_no_model_call() -> None:
    budget, spent = Budget(max_tool_calls=1), BudgetUsage(tool_calls=1)
    assert blocking_limit(budget, spent, "llm") is None
    found = blocking_limit(budget, spent, "tool")
    assert found is not None
    assert found.limit is Limit.TOOL_CALLS


def test_no_limits_no_findings() -> None:
    assert check_limits(Budget(), BudgetUsage(steps=10**9, cost_usd=1e9)) == ()


@pytest.mark.parametrize(
    ("limit", "policy", "state"),
    [
        (Limit.STEPS, "fail", "failed"),
        (Limit.STEPS, "degrade", "degraded"),
        (Limit.TOOL_CALLS, "fail", "failed"),
        (Limit.TOOL_CALLS, "continue", "degraded"),
        (Limit.COST, "fail", "failed"),
        (Limit.COST, "degrade", "failed"),
        (Limit.WALL_TIME, "fail", "interrupted"),
        (Limit.WALL_TIME, "degrade", "interrupted"),
    ],
)
def test_end_states_are_seed_004s(limit: Limit, policy: Literal["fail", "degrade", "continue"], state: str) -> None:
    assert end_state(limit, policy) == state


def test_an_extended_budget_goes_on() -> None:
    budget = Budget(max_steps=3).extended(Limit.STEPS, 2)
    assert budget.max_steps == 5
    assert check_limits(budget, BudgetUsage(steps=3)) == ()


@pytest.mark.parametrize(
    ("limit", "amount", "says"),
    [
        (Limit.COST, 1.0, "nothing to extend"),
        (Limit.STEPS, 0, "above 0"),
        (Limit.STEPS, float("nan"), "above 0"),
        (Limit.HANDOFFS, 1, "nothing to extend"),
    ],
)
def test_what_cannot_be_extended(limit: Limit, amount: float, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Budget(max_steps=3).extended(limit, amount)


@given(st.integers(1, 1000), st.integers(0, 2000))
def test_a_limit_is_hit_exactly_when_it_is_used_up(allowed: int, used: int) -> None:
    found = check_limits(Budget(max_llm_calls=allowed), BudgetUsage(llm_calls=used))
    level = found[0].level if found else ""
    assert level == ("hit" if used >= allowed else "warning" if used >= 0.8 * allowed else "")


# -- prices ----------------------------------------------------------------------------------------------------------


def test_a_call_has_a_price_with_and_without_its_version() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, total_tokens=1_100_000)
    table = builtin_prices()
    assert table.cost("openai:gpt-4o", usage) == pytest.approx(3.5)
    assert table.cost("gpt-4o", usage) == table.cost("openai:gpt-4o-2024-08-06", usage) == pytest.approx(3.5)
    assert table.cost("anthropic:claude-sonnet-4-5-20250929", usage) == pytest.approx(4.5)


def test_cached_tokens_are_cheaper() -> None:
    table = builtin_prices()
    cached = table.cost("openai:gpt-4o", Usage(input_tokens=1_000_000, cached_tokens=1_000_000))
    assert cached == pytest.approx(1.25)


def test_an_unknown_model_is_unknown_and_not_free() -> None:
    assert builtin_prices().cost("openai:gpt-99", Usage(input_tokens=5)) is None
    assert builtin_prices().cost("local:llama", Usage()) is None


def test_an_operators_price_comes_first() -> None:
    table = builtin_prices().overridden({"local:llama": {"input": 0, "output": 0}, "gpt-4o": {"input": 1, "output": 1}})
    usage = Usage(input_tokens=1_000_000)
    assert (table.cost("local:llama", usage), table.cost("openai:gpt-4o", usage)) == (0, 1)
    with pytest.raises(ValidationError):
        table.overridden({"x": {"input": -1, "output": 0}})


def test_the_table_says_of_when_it_is() -> None:
    assert isinstance(builtin_prices(), PriceTable)
    assert builtin_prices().as_of.year >= 2025
    assert builtin_prices().source


# -- fallback --------------------------------------------------------------------------------------------------------


def _fault(cause: Cause, **rest: Any) -> Classification:
    given = {
        "origin": Origin.MODEL,
        "cause": cause,
        "persistence": Persistence.NEEDS_CHANGE,
        "effect": Effect.NONE,
    } | rest
    return Classification(**given)


def test_a_chain_is_tried_in_order_each_once() -> None:
    chain = ["openai:a", "anthropic:b", "openai:a", "openai:c"]
    assert choose_fallback(chain, ["openai:a"]).name == "anthropic:b"
    assert choose_fallback(chain, ["openai:a", "anthropic:b"]).name == "openai:c"
    assert choose_fallback(chain, chain).name is None


def test_a_model_behind_an_open_breaker_is_passed_over_and_named() -> None:
    found = choose_fallback(["a", "b", "c"], ["a"], closed=lambda name: name != "b")
    assert found.name == "c"
    assert [(s.name, s.reason) for s in found.skipped] == [("b", "circuit breaker open")]


@pytest.mark.parametrize(
    ("fault", "exhausted", "expected"),
    [
        (_fault(Cause.AUTH_FAILED), False, True),
        (_fault(Cause.MODEL_UNKNOWN), False, True),
        (_fault(Cause.QUOTA_EXHAUSTED), False, True),
        (_fault(Cause.CIRCUIT_OPEN, persistence=Persistence.TRANSIENT), False, True),
        (_fault(Cause.SERVICE_UNAVAILABLE, persistence=Persistence.TRANSIENT), False, False),
        (_fault(Cause.SERVICE_UNAVAILABLE, persistence=Persistence.TRANSIENT), True, True),
        (_fault(Cause.CANCELLED), True, False),
        (_fault(Cause.LIMIT_REACHED), True, False),
        (_fault(Cause.AUTH_FAILED, origin=Origin.TOOL), True, False),
    ],
)
def test_when_another_model_can_help(fault: Classification, exhausted: bool, expected: bool) -> None:
    assert should_fall_back(fault, exhausted=exhausted) is expected
