"""The circuit breaker: closed, open, half-open with one probe."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from runtime.judgement.recovery.breaker import (
    Breaker,
    BreakerPolicy,
    BreakerState,
    breaker_open_fault,
    counts_as_outage,
)
from runtime.judgement.recovery.retry import RetryPolicy, decide_retry
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Origin,
    Persistence,
    Remedy,
)

POLICY = BreakerPolicy(threshold=5, cooldown_s=60.0)


def fault(cause: Cause = Cause.SERVICE_UNAVAILABLE, **rest: Any) -> Classification:
    given = {"origin": Origin.MODEL, "cause": cause, "persistence": Persistence.TRANSIENT} | rest
    return Classification(**given)


def failed(times: int, breaker: Breaker | None = None, at: float = 0.0) -> Breaker:
    found = breaker or Breaker(key="model:openai:x")
    for n in range(times):
        found = found.record_failure(fault(), POLICY, at, f"c{n}")
    return found


def test_it_opens_at_the_threshold_and_tries_again_after_the_cooldown() -> None:
    breaker = failed(5)
    assert breaker.state(POLICY, 0.0) is BreakerState.OPEN
    assert breaker.check(POLICY, 59.0, "a").wait_s == 1.0
    assert breaker.state(POLICY, 60.0) is BreakerState.HALF_OPEN
    assert breaker.check(POLICY, 60.0, "a").probe


def test_four_failures_are_not_five_and_a_success_between_starts_anew() -> None:
    assert failed(4).state(POLICY, 0.0) is BreakerState.CLOSED
    assert failed(4, failed(4).record_success("ok")).state(POLICY, 0.0) is BreakerState.CLOSED


def test_one_probe_at_a_time() -> None:
    breaker = failed(5).admit(POLICY, 60.0, "a")
    assert breaker.check(POLICY, 61.0, "a").allowed
    verdict = breaker.check(POLICY, 61.0, "b")
    assert (verdict.allowed, verdict.wait_s) == (False, None)


def test_a_probe_that_succeeds_closes_it() -> None:
    breaker = failed(5).admit(POLICY, 60.0, "a").record_success("a")
    assert (breaker.state(POLICY, 60.0), breaker.failures) == (BreakerState.CLOSED, 0)


def test_a_probe_that_fails_opens_it_for_another_cooldown() -> None:
    breaker = failed(5).admit(POLICY, 60.0, "a").record_failure(fault(), POLICY, 61.0, "a")
    assert breaker.state(POLICY, 120.0) is BreakerState.OPEN
    assert breaker.state(POLICY, 121.0) is BreakerState.HALF_OPEN


def test_a_probe_that_is_cancelled_frees_its_slot() -> None:
    probing = failed(5).admit(POLICY, 60.0, "a")
    assert probing.release_probe("a").check(POLICY, 60.0, "b").allowed
    cancelled = fault(Cause.CANCELLED, persistence=Persistence.PERMANENT)
    assert probing.record_failure(cancelled, POLICY, 60.0, "a").check(POLICY, 60.0, "b").probe
    assert probing.release_probe("b") == probing


def test_a_probe_that_is_never_heard_of_again_is_given_up() -> None:
    probing = failed(5).admit(POLICY, 60.0, "a")
    assert not probing.check(POLICY, 659.0, "b").allowed
    assert probing.check(POLICY, 660.0, "b").probe


def test_a_probe_answered_with_a_refused_key_found_the_service_alive() -> None:
    refused = fault(Cause.AUTH_FAILED, persistence=Persistence.NEEDS_CHANGE)
    breaker = failed(5).admit(POLICY, 60.0, "a").record_failure(refused, POLICY, 60.0, "a")
    assert breaker.state(POLICY, 60.0) is BreakerState.CLOSED


def test_late_answers_say_nothing_of_now() -> None:
    probing = failed(5).admit(POLICY, 60.0, "probe")
    assert probing.record_success("late") == probing
    assert probing.record_failure(fault(), POLICY, 61.0, "late") == probing


@pytest.mark.parametrize(
    ("cause", "persistence", "expected"),
    [
        (Cause.SERVICE_UNAVAILABLE, Persistence.TRANSIENT, True),
        (Cause.NETWORK, Persistence.TRANSIENT, True),
        (Cause.TIMEOUT, Persistence.TRANSIENT, True),
        (Cause.NETWORK, Persistence.NEEDS_CHANGE, False),
        (Cause.RATE_LIMITED, Persistence.TRANSIENT, False),
        (Cause.BAD_REQUEST, Persistence.NEEDS_CHANGE, False),
        (Cause.AUTH_FAILED, Persistence.NEEDS_CHANGE, False),
        (Cause.ARGS_INVALID, Persistence.NEEDS_CHANGE, False),
        (Cause.TOOL_FAILED, Persistence.UNKNOWN, False),
    ],
)
def test_what_counts(cause: Cause, persistence: Persistence, expected: bool) -> None:
    found = fault(cause, persistence=persistence)
    assert counts_as_outage(found) is expected
    breaker = Breaker(key="k")
    for n in range(9):
        breaker = breaker.record_failure(found, POLICY, 0.0, f"c{n}")
    assert (breaker.opened_at is not None) is expected


def test_switched_off_it_is_always_closed() -> None:
    off = BreakerPolicy(enabled=False, threshold=1)
    breaker = Breaker(key="k").record_failure(fault(), off, 0.0, "a")
    assert breaker.check(off, 0.0, "b").allowed


def test_going_without_asking_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="is open"):
        failed(5).admit(POLICY, 1.0, "a")


def test_an_operator_resets_it() -> None:
    assert failed(5).reset().check(POLICY, 0.0, "a").allowed


def test_it_survives_being_written_down() -> None:
    breaker = failed(5).admit(POLICY, 60.0, "a")
    assert Breaker.model_validate_json(breaker.model_dump_json()) == breaker


def test_a_call_kept_back_waits_for_the_cooldown() -> None:
    import random

    found = breaker_open_fault(failed(5), 30.0)
    assert (found.cause, found.effect, found.origin) == (Cause.CIRCUIT_OPEN, Effect.NOT_ATTEMPTED, Origin.MODEL)
    decision = decide_retry(found, attempt=1, policy=RetryPolicy(), rng=random.Random(1))
    assert (decision.remedy, decision.delay_s) == (Remedy.WAIT_RETRY, 30.0)
    assert "openai:x" in found.user_message


_callers = st.sampled_from(["a", "b", "c"])


class BreakerMachine(RuleBasedStateMachine):
    """Callers come and go in any order, and time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.policy = BreakerPolicy(threshold=3, cooldown_s=10.0, probe_s=50.0)
        self.breaker = Breaker(key="k")
        self.now = 0.0
        self.out: dict[str, bool] = {}

    @rule(seconds=st.floats(0, 30))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(caller=_callers)
    def goes(self, caller: str) -> None:
        verdict = self.breaker.check(self.policy, self.now, caller)
        if verdict.allowed and caller not in self.out:
            self.breaker = self.breaker.admit(self.policy, self.now, caller)
            self.out[caller] = verdict.probe

    @rule(caller=_callers)
    def succeeds(self, caller: str) -> None:
        if caller in self.out:
            probe = self.out.pop(caller) and self.breaker.prober == caller
            self.breaker = self.breaker.record_success(caller)
            if probe:
                assert self.breaker.state(self.policy, self.now) is BreakerState.CLOSED

    @rule(caller=_callers, cause=st.sampled_from([Cause.TIMEOUT, Cause.BAD_REQUEST]))
    def fails(self, caller: str, cause: Cause) -> None:
        if caller in self.out:
            probe = self.out.pop(caller) and self.breaker.prober == caller
            self.breaker = self.breaker.record_failure(fault(cause), self.policy, self.now, caller)
            if probe and cause is Cause.TIMEOUT:
                assert self.breaker.state(self.policy, self.now) is BreakerState.OPEN

    @rule(caller=_callers)
    def is_cancelled(self, caller: str) -> None:
        if caller in self.out:
            del self.out[caller]
            self.breaker = self.breaker.release_probe(caller)

    @invariant()
    def it_is_closed_exactly_while_nothing_opened_it(self) -> None:
        closed = self.breaker.state(self.policy, self.now) is BreakerState.CLOSED
        assert closed == (self.breaker.opened_at is None)
        assert closed or self.breaker.failures >= self.policy.threshold

    @invariant()
    def whoever_holds_the_probe_is_out(self) -> None:
        assert not self.breaker.prober or self.breaker.prober in self.out

    @invariant()
    def nobody_is_kept_out_for_ever(self) -> None:
        later = self.now + self.policy.cooldown_s + self.policy.probe_s
        assert self.breaker.check(self.policy, later, "somebody else").allowed


TestBreakerMachine = BreakerMachine.TestCase
TestBreakerMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
