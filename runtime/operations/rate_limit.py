"""A limit on how often something may be done: so many times in so many seconds."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable


class RateLimit:
    """Counts what was done in the latest `seconds`.

    Args:
        times: How often it may be done in that time.
        seconds: The time.
        clock: A clock that never goes back, in seconds.
    """

    def __init__(self, times: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._times = times
        self._seconds = seconds
        self._clock = clock
        self._done: deque[float] = deque()

    def take(self) -> float:
        """Do it once more. 0.0 if it may be done, and it is counted; else the seconds until it may."""
        now = self._clock()
        while self._done and self._done[0] <= now - self._seconds:
            self._done.popleft()
        if len(self._done) >= self._times:
            return self._done[0] + self._seconds - now
        self._done.append(now)
        return 0.0
