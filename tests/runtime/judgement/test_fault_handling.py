"""Seed 003's error configuration: every field checked, every field in force."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pydantic import ValidationError

from orbiter import errors
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.faults.classify import classify
from runtime.judgement.recovery.retry import decide_retry
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
    Remedy,
)

SEED: dict[str, Any] = {
    "use_error_classification": True,
    "classify_as_critical": ["PermissionError", "ConfigurationError"],
    "classify_as_recoverable": ["RateLimitError", "TimeoutError"],
    "notify_on_critical_errors": True,
    "notification_channels": ["terminal", "log"],
    "enable_error_routing": True,
    "error_recovery_timeout": 300.0,
    "auto_retry_on_rate_limits": True,
    "max_rate_limit_retries": 3,
    "base_retry_delay": 1.0,
    "max_retry_delay": 60.0,
    "enable_circuit_breaker": True,
    "circuit_breaker_threshold": 5,
    "circuit_breaker_timeout": 60.0,
    "provider_settings": {
        "openai": {
            "max_retries": 3,
            "base_retry_delay": 60,
            "rate_limit_strategy": "exponential_backoff",
            "insufficient_quota_action": "fallback",
        },
        "anthropic": {
            "max_retries": 2,
            "base_retry_delay": 30,
            "rate_limit_strategy": "fixed_delay",
            "insufficient_quota_action": "raise",
        },
        "google": {
            "max_retries": 3,
            "base_retry_delay": 45,
            "rate_limit_strategy": "exponential_backoff",
            "insufficient_quota_action": "queue",
        },
    },
}


def _limited(provider: str = "") -> Classification:
    return Classification(
        origin=Origin.MODEL,
        cause=Cause.RATE_LIMITED,
        persistence=Persistence.TRANSIENT,
        effect=Effect.NONE,
        provider=provider,
    )


def test_the_seeds_example_is_a_configuration() -> None:
    config = FaultHandling(**SEED)
    assert [config.quota_action(p) for p in ("openai", "anthropic", "google", "mistral")] == [
        "fallback",
        "raise",
        "queue",
        "raise",
    ]
    assert config.error_recovery_timeout == 300


def test_a_providers_own_delays_are_in_force() -> None:
    config = FaultHandling(**SEED)
    anthropic = config.policy_for(_limited("anthropic"))
    assert (anthropic.max_attempts, [anthropic.delay(n, random.Random(1)) for n in (1, 2)]) == (3, [30, 30])
    openai = config.policy_for(_limited("openai"))
    assert (openai.max_attempts, openai.base, openai.max_retry_delay) == (4, 60, 60)


def test_rate_limits_have_attempts_of_their_own() -> None:
    config = FaultHandling(max_rate_limit_retries=1, max_attempts=7)
    assert config.policy_for(_limited()).max_attempts == 2
    assert config.policy_for(classify(TimeoutError(), origin=Origin.MODEL)).max_attempts == 7


def test_rate_limits_are_not_repeated_where_that_is_switched_off() -> None:
    policy = FaultHandling(auto_retry_on_rate_limits=False).policy_for(_limited())
    assert decide_retry(_limited(), attempt=1, policy=policy, rng=random.Random(1)).remedy is Remedy.ASK_HUMAN


def test_the_breaker_is_configured() -> None:
    policy = FaultHandling(circuit_breaker_threshold=2, circuit_breaker_timeout=9).breaker_policy()
    assert (policy.enabled, policy.threshold, policy.cooldown_s) == (True, 2, 9)
    assert not FaultHandling(enable_circuit_breaker=False).breaker_policy().enabled


def test_critical_classes_end_the_run() -> None:
    config = FaultHandling(classify_as_critical=("ConfigurationError", "ValueError"))
    for exc in (errors.AgentConfigurationError("x"), UnicodeError("x")):
        found = config.reclassify(classify(exc), exc)
        assert (found.impact, found.rule_id) == (Impact.RUN, "config.critical")
    assert found.persistence is Persistence.PERMANENT


def test_recoverable_classes_are_repeated_where_that_is_safe() -> None:
    config = FaultHandling(classify_as_recoverable=("ValueError",))
    exc = ValueError("odd")
    safe = config.reclassify(classify(exc, origin=Origin.MODEL), exc)
    assert (safe.persistence, safe.rule_id) == (Persistence.TRANSIENT, "config.recoverable")
    unsafe = config.reclassify(classify(exc, origin=Origin.TOOL), exc)
    assert unsafe.persistence is Persistence.NEEDS_CHANGE


def test_the_lists_are_not_asked_where_classification_is_off() -> None:
    config = FaultHandling(use_error_classification=False, classify_as_critical=("ValueError",))
    exc = ValueError("x")
    facts = classify(exc)
    assert config.reclassify(facts, exc) is facts


def test_rules_of_ones_own_are_part_of_it() -> None:
    config = FaultHandling.model_validate({"rules": [{"id": "beam", "text": "beam lost", "cause": "network"}]})
    assert classify(RuntimeError("Beam lost"), rules=config.rules).rule_id == "beam"
    twice = {"id": "beam", "text": "x", "cause": "network"}
    with pytest.raises(ValidationError, match="given twice"):
        FaultHandling.model_validate({"rules": [twice, twice]})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"base_retry_dealy": 1}, "did you mean 'base_retry_delay'"),
        ({"notification_channels": ["terminl"]}, "did you mean 'terminal'"),
        ({"provider_settings": {"openai": {"insufficient_quota_action": "fall_back"}}}, "did you mean 'fallback'"),
        ({"provider_settings": {"openai": {"rate_limit_strategy": "fixed"}}}, "did you mean 'fixed_delay'"),
        ({"provider_settings": {"openai": {"max_retrys": 1}}}, "did you mean 'max_retries'"),
        ({"max_rate_limit_retries": -1}, "greater than or equal to 0"),
        ({"base_retry_delay": 0}, "greater than 0"),
        ({"base_retry_delay": float("nan")}, "finite"),
        ({"base_retry_delay": 90}, "is below base_retry_delay"),
        ({"circuit_breaker_threshold": 0}, "greater than or equal to 1"),
        ({"error_recovery_timeout": 0}, "greater than 0"),
        ({"notification_channels": ["webhook"]}, "needs webhook_url"),
        ({"webhook_url": "ftp://x"}, "must start with http"),
        ({"classify_as_critical": ["not a class"]}, "must be the name of an exception class"),
        ({"classify_as_critical": ["A"], "classify_as_recoverable": ["A"]}, "both critical and recoverable"),
    ],
)
def test_what_cannot_be_is_refused_with_the_nearest_word(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        FaultHandling(**given)
