"""Work that goes in circles or stands still; and what is logged of faults."""

from __future__ import annotations

import logging
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter import errors
from runtime.judgement.faults.classify import classify, classify_record
from runtime.judgement.recovery.retry import RetryPolicy, decide_retry
from runtime.judgement.recovery.stall_detection import handoff_cycle, no_progress
from runtime.judgement.reports.fault_log import fault_line, retry_line, success_line
from runtime.record.state.fault_taxonomy import Origin
from tests.present import present


def test_a_threshold_of_nothing_switches_it_off() -> None:
    assert handoff_cycle(["a", "b"] * 9, 0) is None


@pytest.mark.parametrize(
    ("agents", "way"),
    [(["a", "b"] * 3, "a → b → a"), (["start", *["x", "y", "z"] * 3], "x → y → z → x")],
)
def test_agents_hand_on_in_a_circle(agents: list[str], way: str) -> None:
    found = present(handoff_cycle(agents))
    assert way in found.user_message
    assert found.origin is Origin.SWARM


@given(st.lists(st.sampled_from("abc"), max_size=14), st.integers(1, 3))
def test_a_circle_is_found_exactly_where_there_is_one(agents: list[str], rounds: int) -> None:
    def circles(length: int) -> bool:
        last = agents[-length * rounds :]
        return (
            len(agents) >= length * rounds
            and len(set(last[:length])) > 1
            and all(last[n] == last[n % length] for n in range(len(last)))
        )

    assert (handoff_cycle(agents, rounds) is not None) == any(circles(n) for n in (2, 3, 4))


def test_standing_still() -> None:
    assert no_progress(100.0, 159.0, 60.0) is None
    assert no_progress(100.0, 9e9, None) is None
    found = present(no_progress(100.0, 160.0, 60.0))
    assert found.user_message == "Nothing happened for 60 s"


def _line(attempt: int = 1, **record: Any) -> str:
    fault = classify_record({"where": "response", "message": "x", **record})
    decision = decide_retry(fault, attempt=attempt, policy=RetryPolicy(jitter=0.0), rng=random.Random(1))
    line = present(retry_line(fault, "gpt-5.3-codex", decision))
    assert line.level == logging.WARNING
    return line.text


def test_the_retry_line_is_the_seeds() -> None:
    assert _line(status=503) == "Server error 503 from gpt-5.3-codex. Retry 1/3 after 1.0s"
    assert _line(2, status=503) == "Server error 503 from gpt-5.3-codex. Retry 2/3 after 2.0s"
    assert _line(status=429, headers={"retry-after": "7"}) == "Rate limit 429 from gpt-5.3-codex. Retry 1/3 after 7.0s"
    assert _line(type="httpx.ReadTimeout") == "Timeout from gpt-5.3-codex. Retry 1/3 after 1.0s"


def test_what_is_not_repeated_has_no_retry_line() -> None:
    fault = classify_record({"status": 401, "message": "no"})
    assert retry_line(fault, "m", decide_retry(fault, attempt=1, policy=RetryPolicy(), rng=random.Random(1))) is None


def test_success_after_retries_is_worth_a_line() -> None:
    assert success_line(2) == (logging.INFO, "Request successful after 2 retries")
    assert success_line(1).text == "Request successful after 1 retry"


@pytest.mark.parametrize(
    ("exc", "level"),
    [
        (errors.ValidationError("x"), logging.WARNING),
        (errors.PermissionError("x"), logging.ERROR),
        (RuntimeError("what?"), logging.ERROR),
        (errors.SwarmError("Swarm requires at least one agent"), logging.CRITICAL),
        (RuntimeError("OTEL exporter timed out"), logging.DEBUG),
    ],
)
def test_levels_are_the_seeds(exc: Exception, level: int) -> None:
    assert fault_line(classify(exc)).level == level
