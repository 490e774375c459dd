"""The wait tracker: which open nodes of a run are at work and which wait, so that a run in which everything waits can
leave memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.execution.event_writer import WRITE_DELAY_S


@dataclass(slots=True, frozen=True)
class Wait:
    """What an open node waits for: an incident's answer, a thaw, or an instant, for so many seconds at most."""

    incident_id: str = ""
    thaw: bool = False
    until: datetime | None = None
    at_most: float = 0.0


@dataclass(slots=True, eq=False)
class Activity:
    """An open node, as far as waiting is concerned."""

    parent: Activity | None
    children: int = 0
    wait: Wait | None = None
    must_not_repeat: bool = False
    """A call is under way that must not be begun twice: the run stays in memory even if something inside it waits."""


class WaitTracker:
    """The open activities of one run, and what they wait for.

    Args:
        is_answered: Whether an incident, by its id, has its answer: a node that waits for it goes on in a moment.
        grace_s: How long everything must have been waiting, in seconds, before the run may leave memory.
        crowded: Set while other runs wait for room in memory: the grace time ends then. None: it ends by itself alone.
    """

    def __init__(self, is_answered: Callable[[str], bool], grace_s: float, crowded: asyncio.Event | None) -> None:
        self._is_answered = is_answered
        self._grace_s = grace_s
        self._crowded = crowded
        self._activities: set[Activity] = set()
        self._changes = 0
        self._has_waiting = asyncio.Event()
        self._first_wait: Callable[[], None] | None = None
        self._paused = False
        self._thawed: asyncio.Event | None = None
        """Set while the run is not frozen. Most runs never are, and have none."""

    def open_activity(self, parent: Activity | None) -> Activity:
        """A node has opened under `parent`."""
        activity = Activity(parent)
        self._activities.add(activity)
        if parent is not None:
            parent.children += 1
        self._changes += 1
        return activity

    def close_activity(self, activity: Activity) -> None:
        """A node has closed."""
        self._activities.discard(activity)
        if activity.parent is not None:
            activity.parent.children -= 1
        self._changes += 1

    @contextmanager
    def waiting(self, activity: Activity, wait: Wait) -> Iterator[None]:
        """The activity waits for as long as the block lasts."""
        activity.wait = wait
        self._changes += 1
        self._has_waiting.set()
        begin, self._first_wait = self._first_wait, None
        if begin is not None:
            begin()
        try:
            yield
        finally:
            activity.wait = None
            self._changes += 1

    # -- freeze --------------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Let nothing more begin: the drive is about to let go of the run."""
        self._paused = True
        self._freeze()

    def set_frozen(self, frozen: bool) -> None:
        """The run was frozen, or thawed; a paused run stays as it is."""
        if frozen or self._paused:
            self._freeze()
        elif self._thawed is not None:
            self._thawed.set()

    def _freeze(self) -> None:
        if self._thawed is None:
            self._thawed = asyncio.Event()
        self._thawed.clear()

    @property
    def is_frozen(self) -> bool:
        """Whether no step may begin now: the run is frozen, or about to be let go of."""
        return self._thawed is not None and not self._thawed.is_set()

    async def wait_until_thawed(self, activity: Activity) -> None:
        """Wait until the run is not frozen."""
        if self._thawed is None or self._thawed.is_set():
            return
        with self.waiting(activity, Wait(thaw=True)):
            await self._thawed.wait()

    async def wait_while_frozen(self, waiter: asyncio.Future[Any]) -> None:
        """Return when the run is not frozen, or when the waiter is done, whichever comes first."""
        if self._thawed is None:
            return
        thawing = asyncio.ensure_future(self._thawed.wait())
        try:
            await asyncio.wait({waiter, thawing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            thawing.cancel()

    # -- idleness ------------------------------------------------------------------------------------------------

    def call_at_first_wait(self, begin: Callable[[], None]) -> None:
        """Call `begin` when a node waits for the first time: before that there is no idleness to watch for."""
        self._first_wait = begin

    @property
    def has_unrepeatable_call(self) -> bool:
        """Whether a call is under way that must not be begun twice."""
        return any(activity.must_not_repeat for activity in self._activities)

    def idle_waits(self) -> frozenset[Wait]:
        """What all open leaves wait for; empty while one of them is at work, or may go on, or while a call is under way
        that must not be begun twice.
        """
        found: set[Wait] = set()
        for activity in self._activities:
            if activity.must_not_repeat or not (activity.wait or activity.children):
                return frozenset()
            if activity.wait is not None:
                found.add(activity.wait)
        return frozenset() if any(map(self._is_over, found)) else frozenset(found)

    def _is_over(self, wait: Wait) -> bool:
        """Whether what was waited for has been heard, and its node goes on in a moment."""
        if wait.incident_id:
            return self._is_answered(wait.incident_id)
        return wait.thaw and not self.is_frozen

    async def watch_idleness(self) -> frozenset[Wait]:
        """What everything has been waiting for, once it has done so for the grace time."""
        quiet = max(self._grace_s, WRITE_DELAY_S)
        while True:
            await self._has_waiting.wait()
            changes = self._changes
            await self._sleep_grace(quiet)
            if self._changes == changes and (waits := self.idle_waits()):
                return waits
            if all(activity.wait is None for activity in self._activities):
                self._has_waiting.clear()

    async def _sleep_grace(self, seconds: float) -> None:
        """Let so much time pass; less where others wait for the room that this run takes."""
        if self._crowded is None:
            await asyncio.sleep(seconds)
            return
        if seconds > WRITE_DELAY_S:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds - WRITE_DELAY_S):
                    await self._crowded.wait()
        await asyncio.sleep(min(seconds, WRITE_DELAY_S))
