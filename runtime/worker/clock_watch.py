"""The clock watch: notices that the computer slept, or that its clock was set, and says so in the runs that wait."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from runtime.record.journal import Journal, JournalError
from runtime.record.state import events as ev
from runtime.record.state.summary import ALL_RUNS, RUN_ACTIVE

log = logging.getLogger("runtime.supervisor")

SUSPEND_GAP_S = 5.0
"""By how much, in seconds, the clock may differ from the time that has passed before it counts as set, and how long the
computer may sleep before that counts as a break in which the runtime was not alive.
"""


def suspended_s() -> float:
    """Seconds for which the computer has slept since it was started: Linux and macOS each have a clock that counts them
    and one that does not (clock_gettime(2), clock_gettime(3)).
    """
    if sys.platform == "darwin":
        return time.clock_gettime(time.CLOCK_MONOTONIC) - time.clock_gettime(time.CLOCK_UPTIME_RAW)
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


class ClockWatch:
    """Compares the computer's clock with the time that has passed, at each `check`.

    Args:
        journal: Where the runs that wait are told.
        clock: The clock that waits are held against.
        slept: Seconds for which the computer has slept so far.
        gap_s: From which difference on, in seconds, the clock counts as set.
    """

    def __init__(
        self, journal: Journal, clock: Callable[[], datetime], slept: Callable[[], float], gap_s: float
    ) -> None:
        self.alive_since = clock()
        """Since when this process has been alive without a break, by the clock as it is set now."""
        self._journal = journal
        self._clock = clock
        self._slept = slept
        self._gap_s = gap_s
        self._looked_at = self.alive_since
        self._ticked_at = time.monotonic()
        self._slept_s = slept()
        self._roused = False

    async def check(self) -> None:
        """Take note of a sleep or a clock that was set since the last check. Where times are a server's, this machine's
        clock may be set as anybody likes: no run is told.

        A computer that slept: the runtime was not alive in the time that is missing. One whose clock was set: by how
        much is known here, and no wait gets longer or shorter by it. Where it was set back before this process began,
        no wait is longer than from now.
        """
        now, ticks, slept = self._clock(), time.monotonic(), self._slept()
        gap = (now - self._looked_at).total_seconds() - (ticks - self._ticked_at)
        asleep = slept - self._slept_s
        step = gap - asleep
        stepped = abs(step) > self._gap_s and self._journal.goes_by_local_clock
        self._looked_at, self._ticked_at, self._slept_s = now, ticks, slept
        if stepped:
            self.alive_since += timedelta(seconds=step)
            self._roused = False  # also if not all of them can be told
            await self._record_step(step)
        if asleep > self._gap_s:
            self.alive_since = now
        if not self._roused:
            for run_id in await self._journal.wake_future_parks():
                log.info("run %s: the clock was set back; its wait is held against the new time", run_id)
            self._roused = True

    async def _record_step(self, seconds: float) -> None:
        """Say so in every run that waits for an instant, or that is at work, in whose state it may."""
        log.warning("the clock was set by %+.0f s: waits are as long as they were", seconds)
        runs = await self._journal.runs(ALL_RUNS, states=RUN_ACTIVE)
        concerned = [each.id for each in runs if each.state != "waiting" or each.wake_at is not None]
        event = ev.ClockStepped(seconds=round(seconds, 3), ts=self._clock())
        for outcome in await asyncio.gather(
            *(self._journal.post(run_id, event) for run_id in concerned), return_exceptions=True
        ):
            if isinstance(outcome, JournalError):
                log.info("not told that the clock was set: %s", outcome)  # it ended at this moment, as a rule
            elif isinstance(outcome, BaseException):
                raise outcome
