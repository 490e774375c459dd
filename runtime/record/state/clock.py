"""The time of this process: that of its machine, or that of a server which several machines go by.

While a journal on a server is open, time is counted on from what that server's clock said. So clocks of machines that
differ, or are set, change nothing in leases, waits and deadlines.
"""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

Instant = Annotated[datetime, msgspec.Meta(tz=True)]
"""A moment with its time zone: one without is refused where it is read."""

log = logging.getLogger("runtime.clock")

TOLERANCE_S = 1.0
"""By how many seconds clocks may differ without one of them counting as wrong."""


class _Anchor(msgspec.Struct, frozen=True):
    at_s: float
    """The time (UTC) in seconds."""
    ticks: float
    """When that was, by what counts on whatever becomes of clocks."""


class ServerClock:
    """Keeps this process at a server's time, between `follow` and `leave`. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._followers = 0
        self.anchor: _Anchor | None = None
        """None while the machine's own clock counts."""

    def now(self) -> datetime:
        """The time (UTC), as well as it is known here."""
        anchor = self.anchor
        if anchor is None:
            return datetime.now(UTC)
        return datetime.fromtimestamp(anchor.at_s, UTC) + timedelta(seconds=_ticks() - anchor.ticks)

    def follow(self) -> None:
        """From now on the time of a server counts; it is told by `hear`."""
        with self._lock:
            self._followers += 1

    def leave(self) -> None:
        """The end of one `follow`. After the last the machine's clock counts again."""
        with self._lock:
            self._followers -= 1
            if not self._followers:
                self.anchor = None

    def hear(self, server_s: float, asked: float, heard: float) -> None:
        """Compare with what the server's clock said.

        Args:
            server_s: Its time (UTC) in seconds.
            asked: `time.monotonic` before it was asked.
            heard: `time.monotonic` after it had answered. An answer that took long says too little, and is passed over.
        """
        if heard - asked > TOLERANCE_S:
            return
        with self._lock:
            if not self._followers:
                return
            here, ticks, now = self.now().timestamp(), _ticks(), time.monotonic()
            at_least, at_most = server_s + now - heard, server_s + now - asked
            agrees = at_least - TOLERANCE_S < here < at_most + TOLERANCE_S
            if agrees and self.anchor is not None:
                return
            if not agrees:
                log.warning(
                    "the clock here differs by %+.1f s from the database's: that of the database is used",
                    here - at_least,
                )
            self.anchor = _Anchor(here if agrees else (at_least + at_most) / 2, ticks)


def _ticks() -> float:
    """Seconds that count on while the machine sleeps, where it tells."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(boottime) if boottime is not None else time.monotonic()


SERVER_CLOCK = ServerClock()
"""This process's: it works in one workspace."""


def utc_now() -> datetime:
    """The time (UTC) of this process."""
    # Asked for each event, more than once: the usual case without another call.
    return datetime.now(UTC) if SERVER_CLOCK.anchor is None else SERVER_CLOCK.now()
