"""Whether a model is asked about an incident: the keys that are there, the setting, the run's budget."""

from __future__ import annotations

import pytest

from runtime.judgement.faults.classify import classify_record
from runtime.judgement.recovery.budget import Budget
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.events import IncidentOpened
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
