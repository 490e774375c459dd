"""A process goes by the clock of its journal's server, and by its machine's where it has none."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from runtime.record.state.clock import TOLERANCE_S, ServerClock


def hear(clock: ServerClock, ahead_s: float, took_s: float = 0.0) -> None:
    now = time.monotonic()
    clock.hear(time.time() + ahead_s, now - took_s, now)


def difference(clock: ServerClock) -> float:
    return clock.now().timestamp() - time.time()


def test_without_a_server_the_machines_clock_counts() -> None:
    clock = ServerClock()
    hear(clock, 20.0)
    assert difference(clock) == pytest.approx(0.0, abs=0.5)
    assert clock.now().tzinfo is UTC


@pytest.mark.parametrize("ahead_s", [20.0, -20.0, 86_400.0])
def test_a_server_with_another_time_is_gone_by_until_it_is_left(ahead_s: float) -> None:
    clock = ServerClock()
    clock.follow()
    clock.follow()
    hear(clock, ahead_s)
    assert difference(clock) == pytest.approx(ahead_s, abs=0.5)
    clock.leave()
    assert difference(clock) == pytest.approx(ahead_s, abs=0.5), "another journal of this process is open"
    clock.leave()
    assert difference(clock) == pytest.approx(0.0, abs=0.5)


def test_a_small_difference_and_an_answer_that_took_long_change_nothing() -> None:
    clock = ServerClock()
    clock.follow()
    hear(clock, 20.0, took_s=TOLERANCE_S * 2)
    assert difference(clock) == pytest.approx(0.0, abs=0.5)
    hear(clock, TOLERANCE_S / 2)
    assert difference(clock) == pytest.approx(0.0, abs=0.4)


def test_the_machines_clock_may_be_set_once_the_servers_time_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ServerClock()
    clock.follow()
    hear(clock, 0.0)
    before = clock.now()

    class Set(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime(1999, 1, 1, tzinfo=UTC)

    monkeypatch.setattr("runtime.record.state.clock.datetime", Set)
    assert 0 <= clock.now().timestamp() - before.timestamp() < 60


def test_a_server_whose_clock_is_set_is_followed() -> None:
    clock = ServerClock()
    clock.follow()
    hear(clock, 20.0)
    hear(clock, -300.0)
    assert difference(clock) == pytest.approx(-300.0, abs=0.5)
