"""A callback after a delay that is never lost.

Textual 8.2.8 drops a one-shot `set_timer` when the process loses the CPU for longer than its interval
(`textual.timer.Timer._run`: `skip` with `repeat=0`). A handle of the event loop is called late instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from textual import events
from textual.message_pump import MessagePump

GRACE_S = 2.0
"""Seconds after which an alarm that did not ring counts as overdue and may be set again."""


class Alarm:
    """Calls `ring` once for each `set`, as a message of its owner. One delay is pending at a time."""

    def __init__(self, owner: MessagePump, ring: Callable[[], None], *, clock: Callable[[], float] = monotonic) -> None:
        self._owner = owner
        self._ring = ring
        self._clock = clock
        self._handle: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._number = 0
        self._expired_number: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether it is set and has not rung, overdue or not."""
        return self._handle is not None

    @property
    def pending(self) -> bool:
        """Whether it is set and will ring. One that is overdue is not pending: set it again."""
        return self.is_set and self._clock() <= self._due + GRACE_S

    def set(self, delay: float) -> None:
        """Ring after `delay` seconds, instead of any time that was set before."""
        self.stop()
        self._due = self._clock() + max(0.0, delay)
        self._handle = asyncio.get_running_loop().call_later(max(0.0, delay), self._expired, self._number)

    def stop(self) -> None:
        """Do not ring."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = None
        self._number += 1

    def _expired(self, number: int) -> None:
        self._expired_number = number
        # A method without arguments: of what `call_later` makes, Textual reads the signature each time.
        self._owner.post_message(events.Callback(callback=self._deliver))

    def _deliver(self) -> None:
        """A message that was on its way when the alarm was set again or stopped does nothing."""
        if self._expired_number == self._number:
            self._handle = self._expired_number = None
            self._ring()
