"""Budgets with their end states, prices, and who stands in for a model that failed."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orbiter.models.endpoints import ALIASES, ENDPOINTS
from orbiter.policy import BUDGET_LIMITS
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
from runtime.judgement.reports.prices import PRICED_PROVIDERS, Price, PriceTable, load_prices
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


NOW = datetime(2026, 11, 1, tzinfo=UTC)
MILLION = Usage(input_tokens=1_000_000)


def cost(model: str, usage: Usage, table: PriceTable | None = None) -> float | None:
    return (table or PriceTable()).cost(model, usage, NOW)


def test_a_call_has_a_price_with_and_without_its_version() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=100_000, total_tokens=1_100_000)
    assert cost("openai:gpt-4o", usage) == pytest.approx(3.5)
    assert cost("gpt-4o", usage) == cost("openai:gpt-4o-2024-08-06", usage) == pytest.approx(3.5)
    small = Usage(input_tokens=100_000, output_tokens=10_000)
    assert cost("anthropic:claude-sonnet-4-5-20250929", small) == pytest.approx(0.45)


def test_a_long_prompt_costs_what_the_vendor_says() -> None:
    """More than 200 000 tokens of input: twice the price of each (Anthropic, long context pricing)."""
    assert cost("anthropic:claude-sonnet-4-5", Usage(input_tokens=200_000)) == pytest.approx(0.6)
    assert cost("anthropic:claude-sonnet-4-5", Usage(input_tokens=300_000)) == pytest.approx(1.8)


def test_cached_tokens_are_cheaper() -> None:
    cached = cost("openai:gpt-4o", Usage(input_tokens=1_000_000, cached_tokens=1_000_000))
    assert cached == pytest.approx(1.25)
    said = Usage(input_tokens=100_000, cached_tokens=50_000, cache_write_tokens=30_000, output_tokens=1_000)
    own = Price(input=3, output=15, cached=0.3, cache_write=3.75)
    assert cost("anthropic:claude-sonnet-4-5", said) == pytest.approx(own.cost(said))


def test_cached_tokens_counted_beside_the_input_have_a_price_too() -> None:
    assert cost("openai:gpt-4o", Usage(input_tokens=5, cached_tokens=1_000_000)) == pytest.approx(1.25)


def test_an_unknown_model_is_unknown_and_not_free() -> None:
    assert cost("openai:gpt-99", Usage(input_tokens=5)) is None
    assert cost("local:llama", Usage()) is None
    assert cost("scripted:demo", Usage()) is None


@pytest.mark.parametrize("provider", ["my-openai", "openai-proxy", "claude", "OpenAI"])
def test_a_provider_of_the_users_own_is_not_taken_for_a_vendor(provider: str) -> None:
    assert cost(f"{provider}:gpt-4o", MILLION) is None
    assert not PriceTable().needs_package(f"{provider}:gpt-4o")


def test_an_operators_price_comes_first() -> None:
    table = PriceTable().overridden({"local:llama": {"input": 0, "output": 0}, "gpt-4o": {"input": 1, "output": 1}})
    assert (cost("local:llama", MILLION, table), cost("openai:gpt-4o", MILLION, table)) == (0, 1)
    assert cost("openai:gpt-4o-2024-08-06", MILLION, table) == 1
    assert not table.needs_package("gpt-4o")
    with pytest.raises(ValidationError):
        table.overridden({"x": {"input": -1, "output": 0}})


def test_every_vendor_of_ours_is_known_to_the_package() -> None:
    load_prices()
    known = {provider.id for provider in importlib.import_module("genai_prices.data").providers}
    assert set(PRICED_PROVIDERS.values()) <= known
    assert {*ENDPOINTS, *ALIASES} - set(PRICED_PROVIDERS) == {"ollama", "vllm"}  # they run on machines of the user
    assert not PriceTable().needs_package("openai:gpt-4o")


# Those that the program's own table had until this table came from the package.
@pytest.mark.parametrize(
    ("model", "input_price", "output_price"),
    [
        ("openai:gpt-4o-mini", 0.15, 0.6), ("openai:gpt-4.1", 2.0, 8.0), ("openai:o3", 2.0, 8.0),
        ("openai:o4-mini", 1.1, 4.4), ("openai:gpt-5", 1.25, 10.0), ("openai:gpt-5-nano", 0.05, 0.4),
        ("anthropic:claude-opus-4-5", 5.0, 25.0), ("anthropic:claude-opus-4-1", 15.0, 75.0),
        ("anthropic:claude-haiku-4-5", 1.0, 5.0), ("anthropic:claude-3-5-haiku", 0.8, 4.0),
        ("anthropic:claude-3-haiku", 0.25, 1.25),
    ],
)  # fmt: skip
def test_known_models_have_the_price_of_the_vendors_page(model: str, input_price: float, output_price: float) -> None:
    assert cost(model, Usage(input_tokens=100_000)) == pytest.approx(input_price / 10)
    assert cost(model, Usage(output_tokens=100_000)) == pytest.approx(output_price / 10)


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


@pytest.mark.parametrize("name", BUDGET_LIMITS)
@pytest.mark.parametrize("value", [-1, 0, 0.5, 1, 1.0, 1.5, float("inf"), float("nan"), "many"])
def test_a_swarm_takes_the_budgets_that_a_runtime_takes(name: str, value: Any) -> None:
    try:
        Budget.model_validate({name: value})
    except ValidationError:
        assert not BUDGET_LIMITS[name].takes(value)
    else:
        assert BUDGET_LIMITS[name].takes(value)
