"""When a run may wait outside memory: decided in the transaction that writes the park, from what stands there.

A driver parks a run because of what it last read. Whatever was committed since then (an answer, a default, an abort, a
thaw, an expired wait) may be a reason to go on. So the park names what it waits for, and the journal compares.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from runtime.record.state.events import RunParked
from runtime.record.state.summary import RunPhase


def decide_park(
    park: RunParked, *, now: datetime, told: bool, frozen: bool, open_incidents: int, is_open: Callable[[str], bool]
) -> RunParked:
    """The park as it is written: unchanged where the run may wait, else with the reason `stop`, which queues the run.

    Args:
        park: What the driver wants to write.
        now: The journal's time.
        told: Something that wakes was committed that the driver has not read.
        frozen: The run is frozen in this transaction.
        open_incidents: How many incidents of the run are open in this transaction.
        is_open: Whether one of them, by its id, is.
    """
    if park.reason != "waiting":
        return park
    changed = told or (park.thaw and not frozen) or not all(map(is_open, park.incidents))
    overdue = park.wake_at is not None and park.wake_at <= now
    if changed or overdue or waits_for_nothing("waiting", park.wake_at, open_incidents, frozen=frozen):
        return replace(park, reason="stop", wake_at=None)
    return park


def waits_for_nothing(
    state: RunPhase | str, wake_at: object | None, open_incidents: int, *, frozen: bool = False
) -> bool:
    """Whether a run waits although nothing will ever wake it. Earlier programs could leave one so."""
    return state == "waiting" and wake_at is None and not open_incidents and not frozen
