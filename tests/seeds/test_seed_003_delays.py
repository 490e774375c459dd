"""Seed 003: OpenRouter's own delays, where no configuration says otherwise."""

from __future__ import annotations

import random

import pytest

from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.faults.classify import classify_record
from runtime.judgement.recovery.retry import decide_retry


def delay(status: int, provider: str, config: FaultHandling, attempt: int = 1) -> float | None:
    fault = classify_record({"provider": provider, "status": status, "message": "x"})
    return decide_retry(fault, attempt=attempt, policy=config.policy_for(fault), rng=random.Random(1)).delay_s


@pytest.mark.parametrize(("status", "seconds"), [(408, 5), (502, 5), (503, 10), (500, 10), (504, 10)])
def test_13_openrouter_is_asked_again_after_its_own_delays(status: int, seconds: float) -> None:
    config = FaultHandling()
    assert [delay(status, "openrouter", config, attempt) for attempt in (1, 2)] == [seconds, seconds]
    assert (delay(status, "openai", config) or 0) < 2


def test_13_what_is_configured_counts_more() -> None:
    of_provider = FaultHandling.model_validate({"provider_settings": {"openrouter": {"base_retry_delay": 2.0}}})
    for config in (of_provider, FaultHandling(base_retry_delay=2.0)):
        assert 1.7 < (delay(503, "openrouter", config) or 0) < 2.3
