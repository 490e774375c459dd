"""So many times in so many seconds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.operations.rate_limit import RateLimit


def test_what_is_refused_says_how_long_to_wait_and_counts_for_nothing() -> None:
    now = [0.0]
    limit = RateLimit(2, 60.0, lambda: now[0])
    assert [limit.take(), limit.take(), limit.take()] == [0.0, 0.0, 60.0]
    now[0] = 59.0
    assert limit.take() == 1.0
    now[0] = 60.0
    assert [limit.take(), limit.take(), limit.take()] == [0.0, 0.0, 60.0]


@given(st.integers(1, 5), st.lists(st.integers(0, 30), max_size=60))
def test_no_window_has_more_than_its_share(times: int, pauses: list[int]) -> None:
    now, done = [0.0], []
    limit = RateLimit(times, 20.0, lambda: now[0])
    for pause in pauses:
        now[0] += pause
        if not limit.take():
            done.append(now[0])
    assert all(later - first >= 20.0 for first, later in zip(done, done[times:], strict=False))
