"""Whether a model is asked about an incident: the keys that are there, the setting, the run's budget."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from orbiter.models import ModelError
from orbiter.models.endpoints import ENDPOINTS
from runtime.judgement.faults.classify import classify, classify_record
from runtime.judgement.recovery.budget import Budget
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.events import IncidentOpened
from runtime.record.state.fault_taxonomy import Cause, Classification, Origin
from runtime.worker.duties.analysis_models import analysis_models, budget_reason, no_model_reason, refused_reason


def test_without_a_key_the_reason_says_which_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert analysis_models("auto", "") == ()
    assert no_model_reason("auto") == "no provider key: set ANTHROPIC_API_KEY or OPENAI_API_KEY to have one asked"
    assert no_model_reason("off") == "off: [analysis] in orbiter.toml"


@pytest.mark.parametrize(
    ("cost", "tokens", "budget", "reason"),
    [
        (0.94, 0, Budget(max_total_cost_usd=1.0), ""),
        (0.98, 0, Budget(max_total_cost_usd=1.0), "this run has used 98% of its cost limit"),
        (None, 960, Budget(max_total_tokens=1000), "this run has used 96% of its limit of tokens"),
        (9.0, 10_000, Budget(max_steps=1), ""),
        (0.0, 0, Budget(max_total_cost_usd=0.0), "this run has used all of its cost limit"),
    ],
)
def test_a_run_that_has_used_its_budget_pays_for_no_analysis(
    cost: float | None, tokens: int, budget: Budget, reason: str
) -> None:
    assert budget_reason(DurableRun(cost_usd=cost, input_tokens=tokens), budget) == reason


@pytest.mark.parametrize(
    ("model", "provider", "status", "code", "reason"),
    [
        ("openai:gpt-4.1-mini", "openai", 401, "invalid_api_key", "openai refused the key"),
        ("openai:gpt-4.1-mini", "openai", 429, "insufficient_quota", "openai refused a call for the account's quota"),
        ("openai:gpt-4.1-mini", "openai", 429, "rate_limit_exceeded", ""),
        ("openai:gpt-4.1-mini", "openai", 503, "", ""),
        ("anthropic:claude-haiku-4-5", "openai", 401, "invalid_api_key", ""),
        ("scripted:analyst", "scripted", 401, "invalid_api_key", ""),
    ],
)
def test_a_provider_that_refused_its_key_or_its_account_is_not_asked_again(
    model: str, provider: str, status: int, code: str, reason: str
) -> None:
    fault = classify_record({"provider": provider, "status": status, "code": code, "message": "no"})
    told = refused_reason(model, IncidentOpened(incident_id="i", node_id="a~0", fault=fault))
    assert told == (f"{model} is not asked: {reason}" if reason else "")


def told_after(model: str, fault: Classification) -> str:
    return refused_reason(model, IncidentOpened(incident_id="i", node_id="a~0", fault=fault))


@pytest.mark.parametrize(
    ("model", "status", "message"),
    [
        ("gemini:gemini-2.5-flash", 429, "You exceeded your current quota. limit: 0, model: gemini-2.5-pro"),
        ("gemini:gemini-2.5-flash", 429, "Quota exceeded for metric: requests_per_day, GenerateRequestsPerDay"),
        ("openrouter:openai/gpt-4.1-mini", 429, "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock"),
        ("openrouter:openai/gpt-4.1-mini", 402, "You requested up to 64000 tokens, but can only afford 800"),
        ("openai:gpt-4.1-mini", 429, "You have run out of quota for the model gpt-5"),
    ],
)
def test_a_quota_that_is_not_all_of_the_accounts_stops_no_other_model(model: str, status: int, message: str) -> None:
    fault = classify_record({"provider": model.partition(":")[0], "status": status, "message": message})
    assert fault.cause is Cause.QUOTA_EXHAUSTED
    assert not told_after(model, fault)


@pytest.mark.parametrize(
    ("provider", "status", "message"),
    [
        ("anthropic", 400, "Your credit balance is too low to access the Anthropic API. Please purchase credits."),
        ("openrouter", 402, "Insufficient credits. Add more using https://openrouter.ai/credits"),
    ],
)
def test_a_balance_that_is_used_up_stops_every_model_of_the_account(provider: str, status: int, message: str) -> None:
    fault = classify_record({"provider": provider, "status": status, "message": message})
    said = f"{provider}:m is not asked: {provider} refused a call for the account's quota"
    assert told_after(f"{provider}:m", fault) == said


@pytest.mark.parametrize(("status", "code"), [(401, "invalid_api_key"), (429, "insufficient_quota")])
def test_what_a_tool_with_a_key_of_its_own_is_refused_stops_no_model(status: int, code: str) -> None:
    fault = classify_record({"provider": "openai", "status": status, "code": code, "message": "no"})
    assert told_after("openai:gpt-4.1-mini", fault)
    assert not told_after("openai:gpt-4.1-mini", replace(fault, origin=Origin.TOOL))


def test_a_key_that_is_not_set_was_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelError) as missing:
        ENDPOINTS["openai"].require(None, None, "gpt-4.1-mini")
    fault = classify(missing.value, origin=Origin.MODEL, provider="openai")
    assert told_after("openai:gpt-4.1-mini", fault) == "openai:gpt-4.1-mini is not asked: no key is set for openai"
