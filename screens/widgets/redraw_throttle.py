"""The throttle of redraws: many changes, few drawings."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from textual.message_pump import MessagePump

from screens.shell.frame_rate import FrameRateGovernor
from screens.shell.timer import Alarm

FRAME_S = 0.1
"""Seconds between two drawings, where the terminal takes them."""
SOON_S = 0.005
"""Seconds that a drawing waits at least: what a key changed by itself, a cursor, is painted and written before it. The
thread that writes does not get far while a drawing computes.
"""
MAX_SHARE = 0.25
"""The part of the time that may go into drawing: a drawing that took long is followed by a longer pause."""


class RedrawThrottle:
    """Calls `draw` soon after `request`, at most ten times a second, and never without a request.

    A `governor` makes it rarer where the terminal is slow, and waits with it while nothing is read there. A drawing
    that is overdue is set again by the next request; screens request one every second.
    """

    def __init__(
        self,
        owner: MessagePump,
        draw: Callable[[], None],
        *,
        clock: Callable[[], float] = monotonic,
        governor: FrameRateGovernor | None = None,
    ) -> None:
        self._draw = draw
        self._clock = clock
        self._governor = governor
        self._free_at = 0.0
        self._alarm = Alarm(owner, self._due, clock=clock)

    @property
    def idle(self) -> bool:
        """Whether all that was requested is drawn."""
        return not self._alarm.is_set

    def request(self) -> None:
        """Something changed. Cheap, and may be called for every event."""
        if not self._alarm.pending:
            self._alarm.set(max(SOON_S, self._free_at - self._clock()))

    def _due(self) -> None:
        if self._governor is not None and self._governor.stuck:
            self._alarm.set(FRAME_S)
            return
        began = self._clock()
        self._draw()
        now = self._clock()
        frame = self._governor.frame_s if self._governor is not None else FRAME_S
        self._free_at = began + max(frame, (now - began) / MAX_SHARE)
