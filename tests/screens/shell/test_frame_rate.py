"""How a terminal's link is judged, and how often a screen is drawn because of that."""

from __future__ import annotations

import pytest

from screens.shell.frame_rate import (
    CALM_S,
    FRAME_S_BY_QUALITY,
    STUCK_S,
    WINDOW_S,
    FrameRateGovernor,
)
from screens.widgets.redraw_throttle import FRAME_S, RedrawThrottle
from tests.screens.stepping import Owner, delays


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def write(governor: FrameRateGovernor, time: Time, seconds: float) -> None:
    governor.begin()
    time.now += seconds
    governor.end()


@pytest.mark.parametrize(("waiting", "quality"), [(0.0001, "good"), (0.01, "slow"), (0.08, "bad")])
def test_a_link_is_called_by_the_part_of_the_time_that_writes_wait(waiting: float, quality: str) -> None:
    time = Time()
    governor = FrameRateGovernor(clock=time)
    for _ in range(20):
        write(governor, time, waiting)
        time.now += 0.1 - waiting
    assert governor.quality == quality
    assert governor.frame_s == FRAME_S_BY_QUALITY[quality]


def test_it_is_worse_at_once_and_better_only_after_a_calm_while_step_by_step() -> None:
    time = Time()
    governor = FrameRateGovernor(clock=time)
    heard: list[str] = []
    write(governor, time, 1.0)
    for pause in (0.0, WINDOW_S, CALM_S, 0.0, CALM_S):
        time.now += pause
        heard.append(governor.quality)
    write(governor, time, 1.0)
    assert [*heard, governor.quality] == ["bad", "bad", "slow", "slow", "good", "bad"]


def test_a_write_that_does_not_come_back_counts_while_it_waits() -> None:
    time = Time()
    governor = FrameRateGovernor(clock=time)
    governor.begin()
    heard = [governor.stuck]
    time.now += STUCK_S + 0.1
    heard.append(governor.stuck)
    assert governor.quality == "bad"
    governor.end()
    assert [*heard, governor.stuck] == [False, True, False]


async def test_drawing_is_rarer_on_a_slow_link_and_waits_while_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time()
    waits = delays(monkeypatch)
    governor = FrameRateGovernor(clock=time)
    drawn: list[float] = []
    throttle = RedrawThrottle(Owner(), lambda: drawn.append(time.now), clock=time, governor=governor)  # type: ignore[arg-type]
    throttle.request()
    governor.begin()
    time.now += STUCK_S + 0.1
    waits.pop()[1]()
    assert drawn == []
    assert waits[-1][0] == FRAME_S, "it looks again, and asks no terminal"
    governor.end()
    waits.pop()[1]()
    assert len(drawn) == 1
    throttle.request()
    assert waits[-1][0] == pytest.approx(FRAME_S_BY_QUALITY["bad"])


def test_a_link_is_called_slow_on_the_screen_only_once_it_has_been_slow_for_a_while() -> None:
    time = Time()
    governor = FrameRateGovernor(clock=time)
    heard: list[tuple[str, str]] = []
    for _ in range(4):  # as a first picture, and then on and on
        write(governor, time, 0.2)
        time.now += 1.0
        heard.append((governor.quality, governor.told_quality))
    assert heard == [("slow", "good"), ("slow", "good"), ("slow", "slow"), ("slow", "slow")]
    write(governor, time, 2.0)
    assert governor.told_quality == "bad"
    calm = FrameRateGovernor(clock=time)
    write(calm, time, 1.0)
    assert calm.told_quality == "bad", "one that is bad is said at once"
