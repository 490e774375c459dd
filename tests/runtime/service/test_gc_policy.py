"""Garbage is looked for in one go, and not while a person types."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from runtime.service.gc_policy import (
    COLLECT_INTERVAL_S,
    DISABLED_THRESHOLD,
    MAX_YOUNG_COLLECTIONS,
    QUIET_S,
    GcPolicy,
)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Iterator[Clock]:
    before = gc.get_threshold()
    yield Clock()
    gc.set_threshold(*before)
    gc.unfreeze()


class Loop:
    """Garbage that only a look at everything finds."""

    def __init__(self) -> None:
        self.me = self


def grown() -> None:
    """Enough happened since."""
    for _ in range(MAX_YOUNG_COLLECTIONS):
        gc.collect(1)


def test_it_sweeps_rarely_and_while_nobody_types(clock: Clock) -> None:
    sweeper = GcPolicy(clock=clock)
    sweeper.begin()
    assert gc.get_threshold()[2] == DISABLED_THRESHOLD
    grown()
    assert not sweeper.collect_if_due(), "it has just begun"
    clock.now += COLLECT_INTERVAL_S
    sweeper.key_pressed()
    assert not sweeper.collect_if_due()
    clock.now += QUIET_S
    assert sweeper.collect_if_due()
    assert gc.get_freeze_count() > 0
    clock.now += 10 * COLLECT_INTERVAL_S
    assert not sweeper.collect_if_due(), "nothing grew old since"
    grown()
    assert sweeper.collect_if_due()


def test_what_was_put_aside_and_became_garbage_goes(clock: Clock) -> None:
    sweeper = GcPolicy(clock=clock)
    loops = [Loop()]
    sweeper.begin()
    loops.clear()
    grown()
    assert any(isinstance(found, Loop) for found in _all()), "put aside, no ordinary look finds it"
    clock.now += COLLECT_INTERVAL_S + QUIET_S
    assert sweeper.collect_if_due()
    gc.unfreeze()
    assert not any(isinstance(found, Loop) for found in _all())


def test_while_it_loads_nothing_is_collected_and_what_was_loaded_is_put_aside(clock: Clock) -> None:
    policy = GcPolicy(clock=clock)
    try:
        policy.loading()
        assert not gc.isenabled()
        policy.loaded()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
        gc.unfreeze()
        policy.loaded()
        assert gc.get_freeze_count() == 0, "a second time there is nothing to end"
    finally:
        gc.enable()


def test_where_user_code_shares_the_process_the_collector_is_left_as_it_is(clock: Clock) -> None:
    policy, before = GcPolicy(enabled=False, clock=clock), gc.get_threshold()
    gc.unfreeze()
    policy.loading()
    assert gc.isenabled()
    policy.loaded()
    policy.begin()
    grown()
    clock.now += COLLECT_INTERVAL_S + QUIET_S
    assert not policy.collect_if_due()
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def _all() -> list[object]:
    gc.unfreeze()
    found = gc.get_objects()
    gc.freeze()
    return found
