"""When Python's garbage collector runs: in the console while it is idle, in the runtime rarely.

What a console holds is mostly what it shows: of a run with 10,000 nodes, half a million objects, none of them garbage.
Python looks through all of them again and again as new ones come, for 50 ms each time. `GcPolicy` puts them aside
instead (`gc.freeze`), and looks through them rarely; the young, which is most of what becomes garbage, are looked at as
ever. `relaxed_gc` is what a process that serves does. Where user code shares the process, neither changes anything
unless it is asked for (the setting `idle_gc`).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

GC_THRESHOLDS = (5_000, 20, 20)
"""How rarely a process that does nothing but serve looks for garbage: nearly all of what a step makes goes away by
itself, and with Python's own (700, 10, 10) the looking takes a part of each step that grows with what is held.
"""
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
    """All that a console changes about the collector. `key_pressed` is told of keys, `collect_if_due` is called every
    second.

    Args:
        enabled: False: the collector is left as it is. Where user code shares the process (`--embedded`), it is its.
        clock: Seconds.
    """

    def __init__(self, *, enabled: bool = True, clock: Callable[[], float] = monotonic) -> None:
        self.enabled = enabled
        self._clock = clock
        self._loading = False
        self._free_at = 0.0
        self._pressed_at = 0.0
        self._collections = 0

    def loading(self) -> None:
        """What is loaded from now on makes no garbage, only work for the collector: it waits until `loaded`."""
        if self.enabled:
            gc.disable()
            self._loading = True

    def loaded(self) -> None:
        """What was loaded stays: it is put aside, and the collector is at work again."""
        if self._loading:
            self._loading = False
            gc.freeze()
            gc.enable()

    def begin(self) -> None:
        """From now on. What is there stays, and is put aside at once."""
        if not self.enabled:
            return
        gc.set_threshold(*gc.get_threshold()[:2], DISABLED_THRESHOLD)
        gc.freeze()
        self._free_at = self._clock() + COLLECT_INTERVAL_S

    def key_pressed(self) -> None:
        self._pressed_at = self._clock()

    def collect_if_due(self) -> bool:
        """Sweep, if it is time; whether it was."""
        if not self.enabled:
            return False
        began, collections = self._clock(), gc.get_stats()[1]["collections"]
        if began < self._free_at or began - self._pressed_at < QUIET_S:
            return False
        if collections - self._collections < MAX_YOUNG_COLLECTIONS:
            return False
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._collections = collections
        took = self._clock() - began
        self._free_at = began + max(COLLECT_INTERVAL_S, took / MAX_SHARE)
        return True


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """What has been loaded stays, and is no longer looked at for garbage; what comes is looked at more rarely."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
