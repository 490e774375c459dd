"""How long a link takes, and for how long it has been silent: measured, smoothed, at rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.link.client.heartbeat import (
    DEAD_BEATS,
    PING_BEATS,
    SHOWN_CHANGE,
    STALLED_BEATS,
    Heartbeat,
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def measured(*seconds: float) -> Heartbeat:
    clock = Clock()
    trip = Heartbeat(clock)
    trip.connected()
    for took in seconds:
        while (number := trip.beat()) is None:
            pass
        clock.now += took
        trip.received()
        trip.pong_received(number)
    return trip


def test_the_first_answer_is_the_average_and_later_ones_move_it_a_little() -> None:
    assert measured(0.1).average == 0.1
    assert 0.1 < measured(0.1, 0.1, 0.1, 0.2, 0.2, 0.2).average < 0.15


def test_an_answer_that_waited_for_a_busy_moment_is_not_shown_as_a_slow_link() -> None:
    assert measured(0.55).shown == 0.0, "it waited behind the first picture"
    assert measured(0.55, 0.55, 0.01).shown < 0.02
    assert measured(0.01, 0.01, 0.01, 2.0, 2.0).shown < 0.02
    assert measured(0.6, 0.6, 0.6).shown > 0.5


@given(st.lists(st.floats(0.09, 0.115), min_size=3, max_size=50))
def test_what_is_shown_comes_to_rest(times: list[float]) -> None:
    trip = measured(0.1, 0.1, 0.1, *times)
    assert trip.shown == 0.1


@given(st.lists(st.floats(0.001, 5.0), min_size=3, max_size=50))
def test_what_is_shown_is_never_far_from_the_average(times: list[float]) -> None:
    trip = measured(*times)
    nearly = 1e-9  # the clock adds
    assert min(times) - nearly <= trip.average <= max(times) + nearly
    assert abs(trip.average - trip.shown) <= SHOWN_CHANGE * trip.shown


def test_pings_are_paced_and_one_is_under_way_at_a_time() -> None:
    trip = Heartbeat(Clock())
    trip.connected()
    sent = [trip.beat() for _ in range(3 * PING_BEATS)]
    assert len([number for number in sent if number is not None]) == 1, "unanswered: no second one"
    trip.pong_received(next(number for number in sent if number))
    assert any(trip.beat() for _ in range(PING_BEATS))


def test_silence_counts_in_beats_while_an_answer_is_due_and_any_byte_ends_it() -> None:
    trip = Heartbeat(Clock())
    trip.connected()
    for _ in range(STALLED_BEATS):
        trip.beat()
        assert not trip.is_stalled
    trip.beat()
    assert trip.is_stalled == STALLED_BEATS
    trip.received()
    assert not trip.is_stalled
    for _ in range(DEAD_BEATS):
        trip.beat()
    assert trip.is_dead
    trip.connected()
    assert not trip.is_dead


def test_a_loop_that_stood_still_is_no_silence_of_the_far_side() -> None:
    clock = Clock()
    trip = Heartbeat(clock)
    trip.connected()
    trip.beat()
    clock.now += 3600
    trip.beat()
    assert not trip.is_stalled
    assert not trip.is_dead


def test_an_answer_to_somebody_else_is_left_alone() -> None:
    trip = Heartbeat(Clock())
    trip.pong_received(12345)
    assert trip.average == 0.0
