"""When Python's garbage collector runs in the console: while it is idle.

What a console holds is mostly what it shows: of a run with 10,000 nodes, half a million objects, none of them garbage.
Python looks through all of them again and again as new ones come, for 50 ms each time. Here they are put aside instead
(`gc.freeze`), and looked through rarely; the young, which is most of what becomes garbage, are looked at as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import monotonic

DISABLED_THRESHOLD = 1_000_000
"""Generations are counted up to this before Python would look through all objects of its own accord."""
COLLECT_INTERVAL_S = 30.0
"""Seconds between two sweeps, at least."""
MAX_SHARE = 0.002
"""The part of the time that may go into them."""
QUIET_S = 2.0
"""So long no key was pressed."""
MAX_YOUNG_COLLECTIONS = 20
"""Looks at the young in which something may have grown old: where nothing happens, there is nothing to sweep."""


class GcPolicy:
    """`pressed` is told of keys, `look` is called every second."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._free_at = 0.0
        self._pressed_at = 0.0
        self._looks = 0

    def begin(self) -> None:
        """From now on. What is there stays, and is put aside at once."""
        gc.set_threshold(*gc.get_threshold()[:2], DISABLED_THRESHOLD)
        gc.freeze()
        self._free_at = self._clock() + COLLECT_INTERVAL_S

    def key_pressed(self) -> None:
        self._pressed_at = self._clock()

    def collect_if_due(self) -> bool:
        """Sweep, if it is time; whether it was."""
        began, looks = self._clock(), gc.get_stats()[1]["collections"]
        if began < self._free_at or began - self._pressed_at < QUIET_S or looks - self._looks < MAX_YOUNG_COLLECTIONS:
            return False
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._looks = looks
        took = self._clock() - began
        self._free_at = began + max(COLLECT_INTERVAL_S, took / MAX_SHARE)
        return True
