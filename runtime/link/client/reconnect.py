"""Reconnection with back-off: when a cut connection is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

STABLE_CONNECTION_S = 5.0
"""A connection that stood for so long counts as one that works. A first word alone does not: what says hello and drops
would be dialled as fast as it drops, each time with a whole login."""
STABLE_AFTER_REPLY_S = 1.0
"""The longest wait after a connection that was cut sooner, and on which the runtime did answer: a link that flaps."""


class ReconnectBackoff:
    """`backoff`: seconds to wait after each failure in a row; the last goes on."""

    def __init__(self, backoff: Sequence[float]) -> None:
        self._backoff = backoff
        self._failures = 0
        self._asked = asyncio.Event()

    def connection_ended(self, stood: float, *, answered: bool) -> None:
        """A connection on which the runtime said hello ended after so many seconds; whether it said more than that."""
        if stood >= STABLE_CONNECTION_S:
            self._failures = 0
        elif answered:
            within = sum(pause <= STABLE_AFTER_REPLY_S for pause in self._backoff)
            self._failures = min(self._failures, max(0, within - 1))

    def reconnect_now(self) -> None:
        """A person did something about it: the wait that is on is over, or, where an attempt is under way that does
        not know of it, the next one; and what failed before counts no more.
        """
        self._failures = 0
        self._asked.set()

    async def wait(self) -> None:
        """Until the next attempt."""
        if not await self._asked_within(self._backoff[min(self._failures, len(self._backoff) - 1)]):
            self._failures += 1

    async def _asked_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._asked.wait()
        except TimeoutError:
            return False
        self._asked.clear()
        return True
