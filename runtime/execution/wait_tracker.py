"""The wait tracker: which open nodes of a run are at work and which wait, so that a run in which everything waits can
leave memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from runtime.execution.event_writer import WRITE_DELAY_S


@dataclass(slots=True, frozen=True)
class Wait:
    """What an open node waits for: an incident's answer, a thaw, or an instant, for so many seconds at most."""

    incident_id: str = ""
    thaw: bool = False
    until: datetime | None = None
    at_most: float = 0.0


class Activity(msgspec.Struct, eq=False):
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
        room: The grace time ends where more room is wanted in memory. None: it ends by itself alone.
        on_idle: Gets what everything has been waiting for, once it has done so for the grace time.
    """

    def __init__(
        self,
        is_answered: Callable[[str], bool],
        grace_s: float,
        room: Room | None,
        on_idle: Callable[[frozenset[Wait]], object],
    ) -> None:
        self._is_answered = is_answered
        self._grace_s = max(grace_s, WRITE_DELAY_S)
        self._room = room
        self._on_idle = on_idle
        self._activities: dict[Activity, None] = {}
        """A dict, since a set takes three times as much for a few."""
        self._changes = 0
        self._changes_before = 0
        """How many there had been when the grace time began."""
        self._timer: asyncio.TimerHandle | None = None
        """Ends the grace time, while something waits."""
        self._closed = False
        self._paused = False
        self._thawed: asyncio.Event | None = None
        """Set while the run is not frozen. Most runs never are, and have none."""

    def open_activity(self, parent: Activity | None) -> Activity:
        """A node has opened under `parent`."""
        activity = Activity(parent)
        self._activities[activity] = None
        if parent is not None:
            parent.children += 1
        self._changes += 1
        return activity

    def close_activity(self, activity: Activity) -> None:
        """A node has closed."""
        self._activities.pop(activity, None)
        if activity.parent is not None:
            activity.parent.children -= 1
        self._changes += 1

    def waiting(self, activity: Activity, wait: Wait) -> _Waiting:
        """The activity waits for as long as the block lasts."""
        return _Waiting(self, activity, wait)

    def set_wait(self, activity: Activity, wait: Wait | None) -> None:
        """What the activity waits for from now on; None: it is at work."""
        activity.wait = wait
        self._changes += 1
        if wait is not None:
            self._look_later()

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

    def _look_later(self) -> None:
        """Look when the grace time is over whether everything has waited for all of it."""
        if self._timer is None and not self._closed:
            self._changes_before = self._changes
            if self._room is not None:
                self._room.waiting.add(self)
            crowded = self._room is not None and self._room.is_wanted
            self._look_in(WRITE_DELAY_S if crowded else self._grace_s)

    def look_soon(self) -> None:
        """End the grace time: others wait for the room that this run takes."""
        if self._timer is not None:
            self._timer.cancel()
            self._look_in(WRITE_DELAY_S)

    def _look_in(self, seconds: float) -> None:
        # In an empty context: with a run's own, the timer would keep the run in memory.
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look, context=Context())

    def _look(self) -> None:
        self._timer = None
        if self._changes == self._changes_before and (waits := self.idle_waits()):
            self._on_idle(waits)
        elif any(activity.wait is not None for activity in self._activities):
            self._look_later()

    def close(self) -> None:
        """Look no more."""
        self._closed = True
        if self._room is not None:
            self._room.waiting.discard(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Room:
    """The room in memory for runs: whether more of it is wanted than there is. Runs that are idle make room then."""

    def __init__(self) -> None:
        self.is_wanted = False
        self.waiting: set[WaitTracker] = set()
        """Of the runs in which something waits, or did."""

    def set_wanted(self, wanted: bool) -> None:
        """More is wanted from now on, or no more."""
        begins, self.is_wanted = wanted and not self.is_wanted, wanted
        for each in tuple(self.waiting) if begins else ():
            each.look_soon()


class _Waiting:
    """What `WaitTracker.waiting` gives. Without a generator: a run may be in it for days."""

    __slots__ = ("_activity", "_tracker", "_wait")

    def __init__(self, tracker: WaitTracker, activity: Activity, wait: Wait) -> None:
        self._tracker = tracker
        self._activity = activity
        self._wait = wait

    def __enter__(self) -> None:
        self._tracker.set_wait(self._activity, self._wait)

    def __exit__(self, *_: object) -> None:
        self._tracker.set_wait(self._activity, None)
