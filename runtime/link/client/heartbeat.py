"""The heartbeat of a link: round-trip time, and how long it has been silent.

Pings are sent at a steady pace while a connection stands; any byte that comes is a sign of life. Counted in beats and
not in seconds: a console whose own loop stood still (a terminal that was not read, a laptop that slept) must not take
that for silence of the far side.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic

from msgspec import Struct, field

HEARTBEAT_S = 1.0
"""Seconds between two looks."""
PING_BEATS = 3
"""A ping is sent every so many beats."""
STALLED_BEATS = 3
"""With a ping under way, so many beats without a byte mean that the link has stalled."""
DEAD_BEATS = 25
"""So many, and the connection is given up. Longer than ssh's own patience, which says more about a dead network."""
AVERAGE_WEIGHT = 0.25
"""Of a new measurement in the average."""
LOOKED_BACK = 3
"""So many measurements are looked at, the shortest of which counts: a link that is slow is slow in each, and one that
waited behind the first picture, or for a busy machine, is not. Before there are so many nothing is shown.
"""
SHOWN_CHANGE = 0.3
"""By which part the average must leave what is shown, before something else is shown: a screen must come to rest."""


class Heartbeat(Struct):
    """Fed by the connection; read by what shows the state of the link."""

    clock: Callable[[], float] = monotonic
    average: float = 0.0
    """Seconds there and back, smoothed; 0.0 while unknown."""
    shown: float = 0.0
    """As `average`, but at rest while that stays near it; 0.0 until there are `LOOKED_BACK` measurements."""
    silent: int = 0
    """Beats since a byte came, while an answer is due."""
    _beats: int = 0
    _sent: dict[int, float] = {}
    _next: int = 0
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=LOOKED_BACK))

    def connected(self) -> None:
        """A connection stands: what an earlier one was waiting for does not come any more."""
        self._sent.clear()
        self.silent = self._beats = 0

    def beat(self) -> int | None:
        """A beat went by; the number of a ping to be sent now, None if none is due."""
        self.silent = self.silent + 1 if self._sent else 0
        due = self._beats % PING_BEATS == 0 and not self._sent
        self._beats += 1
        if not due:
            return None
        self._next += 1
        self._sent[self._next] = self.clock()
        return self._next

    def received(self) -> None:
        """Bytes came, of whatever kind."""
        self.silent = 0

    def pong_received(self, number: int) -> None:
        """The answer to a ping of ours; that to anybody else's is left alone."""
        sent = self._sent.pop(number, None)
        if sent is None:
            return
        self._recent.append(self.clock() - sent)
        took = min(self._recent)
        self.average = self.average + AVERAGE_WEIGHT * (took - self.average) if self.shown else took
        if len(self._recent) == LOOKED_BACK and abs(self.average - self.shown) > SHOWN_CHANGE * self.shown:
            self.shown = self.average

    @property
    def is_stalled(self) -> int:
        """For how many seconds nothing has come though an answer is due; 0 while that need not be shown."""
        return round(self.silent * HEARTBEAT_S) if self.silent >= STALLED_BEATS else 0

    @property
    def is_dead(self) -> bool:
        """Whether the connection is to be given up."""
        return self.silent >= DEAD_BEATS
