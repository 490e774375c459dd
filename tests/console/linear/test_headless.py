"""A run without an operator to ask comes to its end, and its exit code says which; the many are in `tests/soak`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from console.linear.run_follower import _left_waiting, _waits_for_person
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from tests.console.linear.headless import check_codes, check_journals, headless_runs
from tests.console.linear.test_answering import FAULT


@pytest.mark.parametrize("shared", [False, True])
async def test_headless_runs_at_once_all_end_with_the_right_code(tmp_path: Path, shared: bool) -> None:
    check_codes(await headless_runs(tmp_path, 4, at_once=4, seed=13, shared=shared))
    assert await check_journals(tmp_path) == 4


def parked(asks: bool, until: timedelta | None) -> DurableRun:
    """A run that is parked until then, with an open incident or without one."""
    now = ev.utc_now()
    at = now + until if until is not None else None
    opened = ev.IncidentOpened(seq=3, incident_id="i1", fault=FAULT, ts=now, deadline=at)
    begun = [ev.RunCreated(seq=1, run_id="r", ref="x"), ev.RunStarted(seq=2, epoch=1)]
    return fold_events([*begun, *([opened] if asks else []), ev.RunParked(seq=4, reason="waiting", wake_at=at)])


HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("asks", "until", "waits"),
    [
        (True, None, True),
        (True, HOUR, True),
        (False, HOUR, True),
        (True, -HOUR, False),
        (False, -HOUR, False),
        (False, None, False),
    ],
)
def test_a_wait_whose_time_has_passed_is_not_a_wait(asks: bool, until: timedelta | None, waits: bool) -> None:
    state = parked(asks, until)
    assert _left_waiting(state) == waits
    assert _waits_for_person(state) == (asks and waits)
