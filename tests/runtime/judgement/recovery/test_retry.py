"""Whether and when a step is tried again."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.judgement.recovery.retry import RetryPolicy, decide_retry
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
    Remedy,
)

STEADY = RetryPolicy(jitter=0.0)


def fault(**given: Any) -> Classification:
    """A model's transient failure that changed nothing, unless told otherwise."""
    default: dict[str, Any] = {
        "origin": Origin.MODEL,
        "cause": Cause.SERVICE_UNAVAILABLE,
        "persistence": Persistence.TRANSIENT,
        "effect": Effect.NONE,
    }
    return Classification(**(default | given))


def test_backoff_doubles_until_attempts_are_spent() -> None:
    decisions = [decide_retry(fault(), attempt=n, policy=STEADY, rng=random.Random(1)) for n in (1, 2, 3, 4)]
    assert [d.delay_s for d in decisions] == [1.0, 2.0, 4.0, None]
    assert [d.remedy for d in decisions] == [Remedy.RETRY] * 3 + [Remedy.ASK_HUMAN]
    assert decisions[0].source_of_delay == "backoff"
    assert decisions[3].reason == "attempts are spent (4 of 4)"


def test_the_servers_hint_is_followed_exactly() -> None:
    found = decide_retry(
        fault(retry_after_s=7.5, hint_source="retry-after header"),
        attempt=1,
        policy=RetryPolicy(),
        rng=random.Random(1),
    )
    assert (found.remedy, found.delay_s, found.source_of_delay) == (Remedy.WAIT_RETRY, 7.5, "retry-after header")


def test_a_long_hint_parks_and_is_never_shortened() -> None:
    found = decide_retry(fault(retry_after_s=300), attempt=1, policy=STEADY, rng=random.Random(1))
    assert (found.remedy, found.delay_s) == (Remedy.WAIT_RETRY, None)
    assert "300 s" in found.reason


def test_a_hint_of_nothing_leaves_the_backoff() -> None:
    assert decide_retry(fault(retry_after_s=0), attempt=1, policy=STEADY, rng=random.Random(1)).delay_s == 1.0


def test_a_fixed_delay_does_not_grow() -> None:
    policy = RetryPolicy(fixed=30.0)
    assert [policy.delay(n, random.Random(1)) for n in (1, 2, 9)] == [30.0, 30.0, 30.0]


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"effect": Effect.UNKNOWN}, Remedy.ASK_HUMAN),
        ({"effect": Effect.APPLIED}, Remedy.ASK_HUMAN),
        ({"persistence": Persistence.UNKNOWN}, Remedy.ASK_HUMAN),
        ({"persistence": Persistence.NEEDS_CHANGE}, Remedy.ASK_HUMAN),
        ({"exhausted": True}, Remedy.ASK_HUMAN),
        ({"persistence": Persistence.PERMANENT, "impact": Impact.RUN}, Remedy.STOP),
        ({"impact": Impact.PROCESS}, Remedy.STOP),
        ({"cause": Cause.CANCELLED, "persistence": Persistence.PERMANENT}, Remedy.STOP),
        ({"proposal": Remedy.REPLAN, "persistence": Persistence.NEEDS_CHANGE}, Remedy.REPLAN),
        ({"proposal": Remedy.REROUTE}, Remedy.REROUTE),
        ({"cause": Cause.CONTEXT_OVERFLOW, "persistence": Persistence.NEEDS_CHANGE}, Remedy.COMPACT_RETRY),
        ({"cause": Cause.PAYLOAD_TOO_LARGE, "persistence": Persistence.NEEDS_CHANGE}, Remedy.COMPACT_RETRY),
        ({"origin": Origin.TOOL, "impact": Impact.ABSORBED, "effect": Effect.UNKNOWN}, Remedy.FEED_BACK),
        (
            {"origin": Origin.TOOL, "impact": Impact.ABSORBED, "effect": Effect.UNKNOWN, "proposal": Remedy.RETRY},
            Remedy.ASK_HUMAN,
        ),
        ({"origin": Origin.TELEMETRY, "impact": Impact.ABSORBED, "effect": Effect.UNKNOWN}, Remedy.IGNORE),
        (
            {"origin": Origin.PARSER, "cause": Cause.ARGS_INVALID, "persistence": Persistence.NEEDS_CHANGE},
            Remedy.FEED_BACK,
        ),
    ],
)
def test_what_is_not_repeated(given: dict[str, Any], remedy: Remedy) -> None:
    found = decide_retry(fault(**given), attempt=1, policy=STEADY, rng=random.Random(1))
    assert (found.remedy, found.delay_s) == (remedy, None)


def test_a_step_declared_idempotent_is_repeated_whatever_it_did() -> None:
    found = decide_retry(fault(effect=Effect.UNKNOWN), attempt=1, policy=STEADY, rng=random.Random(1), idempotent=True)
    assert found.remedy is Remedy.RETRY


_policies = st.builds(
    RetryPolicy,
    base=st.floats(0, 100),
    factor=st.floats(0, 10),
    jitter=st.floats(0, 1),
    max_retry_delay=st.floats(0, 1000),
)


@given(_policies, st.integers(1, 10_000), st.integers())
def test_delays_stay_within_bounds(policy: RetryPolicy, attempt: int, seed: int) -> None:
    assert 0 <= policy.delay(attempt, random.Random(seed)) <= policy.max_retry_delay


@given(st.integers(1, 6), st.integers())
def test_jitter_is_a_tenth_either_way(attempt: int, seed: int) -> None:
    plain = min(60.0, 2.0 ** (attempt - 1))
    delay = RetryPolicy().delay(attempt, random.Random(seed))
    assert plain * 0.9 <= delay <= min(60.0, plain * 1.1)


@given(st.integers(1, 20), st.integers(1, 10))
def test_never_more_attempts_than_allowed(attempt: int, allowed: int) -> None:
    found = decide_retry(fault(), attempt=attempt, policy=RetryPolicy(max_attempts=allowed), rng=random.Random(1))
    assert (found.remedy is Remedy.RETRY) == (attempt < allowed)


def test_seed_002s_words() -> None:
    policy = RetryPolicy.from_mapping({"max_attempts": 5, "delay_seconds": 2.0, "backoff_factor": 1.5})
    assert (policy.max_attempts, policy.base, policy.factor) == (5, 2.0, 1.5)
    assert [policy.delay(attempt, random.Random(attempt)) for attempt in (1, 2, 3)] == [2.0, 3.0, 4.5]


def test_seed_003s_words() -> None:
    policy = RetryPolicy.from_mapping({"max_retries": 2, "base_retry_delay": 90, "rate_limit_strategy": "fixed_delay"})
    assert (policy.max_attempts, policy.fixed, policy.max_retry_delay) == (3, 90, 90)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"max_attempts": "5"}, "max_attempts is '5'"),
        ({"max_attempts": 0}, "at least 1"),
        ({"delay_seconds": -1}, "base is -1"),
        ({"rate_limit_strategy": "sometimes"}, "'fixed_delay'"),
        ({"max_attempts": True}, "give a number"),
        (None, "it is None; give a mapping, such as {'max_attempts': 2}"),
        ([1], r"it is \[1\]; give a mapping"),
    ],
)
def test_policies_that_cannot_be(given: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        RetryPolicy.from_mapping(given)


@pytest.mark.parametrize("jitter", [-0.1, 1.1])
def test_jitter_is_a_share(jitter: float) -> None:
    with pytest.raises(ValueError, match="share"):
        RetryPolicy(jitter=jitter)
