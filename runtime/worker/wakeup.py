"""Wakes the supervisor when the journal has an event after which a run may go on.

It is a hint: the supervisor looks by itself as well, only more rarely. Behind the journal's `tail`, so that a journal
with notifications of its own needs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from runtime.record.journal import Journal
from runtime.record.state import events as ev

WAKING_KINDS = frozenset[type[ev.JournalEvent]](
    (*ev.OPERATOR_EVENTS, ev.RunCreated, ev.RunParked, ev.IncidentAnswered, ev.FreezeLifted)
)
"""What may make a run runnable: what operators and other processes write, and a park that found an answer."""


class Wakeup:
    """Calls `hint` for every batch of such events."""

    def __init__(self, journal: Journal, hint: Callable[[], None]) -> None:
        self._journal = journal
        self._hint = hint

    async def serve(self) -> None:
        """Until cancelled, or until the journal is closed."""
        after = await self._journal.position()
        self._hint()  # for what was written before the tail began
        async for _ in self._journal.tail(None, after, kinds=WAKING_KINDS):
            self._hint()
