"""Back, forward and up among what was shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from screens.shell.navigation_history import MAX_VISITS, History, Visit

INBOX, SWARMS, LOG = Visit("inbox"), Visit("swarms"), Visit("log")
RUN, OTHER = Visit("", "run-1"), Visit("", "run-2")


def been(*visits: Visit) -> History:
    history = History()
    for visit in visits:
        history.go(visit)
    return history


def test_back_and_forward_and_what_lies_ahead_is_forgotten() -> None:
    history = been(INBOX, SWARMS, RUN)
    assert history.step(-1) == SWARMS
    assert history.step(-1) == INBOX
    assert history.step(-1) is None
    assert history.step(1) == SWARMS
    history.go(LOG)
    assert history.step(1) is None
    assert history.visits == [INBOX, SWARMS, LOG]


def test_up_from_a_run_is_the_place_that_one_came_from() -> None:
    history = been(INBOX, SWARMS, RUN, OTHER)
    assert history.above() == SWARMS
    assert history.up() == SWARMS
    assert history.up() == INBOX
    assert history.up() is None
    assert history.step(1) == SWARMS


def test_up_from_the_log_of_a_run_is_that_run() -> None:
    history = been(INBOX, RUN, Visit("log", "run-1"))
    assert history.up() == RUN
    assert history.up() == INBOX


def test_to_go_where_one_is_is_no_visit() -> None:
    assert been(INBOX, INBOX).visits == [INBOX]


@given(st.lists(st.one_of(st.sampled_from([INBOX, SWARMS, RUN, OTHER]), st.sampled_from(["up", -1, 1]))))
def test_wherever_one_goes_one_is_somewhere(steps: list[Visit | str | int]) -> None:
    history = been(INBOX)
    for step in steps:
        if isinstance(step, Visit):
            history.go(step)
        elif isinstance(step, int):
            history.step(step)
        else:
            above = history.above()
            assert history.up() == above
        assert history.current is not None
        assert history.current == history.visits[history.at]
    assert len(history.visits) <= MAX_VISITS
