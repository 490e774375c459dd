"""Notices what other processes, or other journal objects of this one, write to a journal's file.

One look is one query on the loop's own thread: the position of the newest event. Looks are frequent while something
happens or while a run is driven, and rare (`IDLE_POLL_S`) in a journal at rest. At rest one watch of a process looks
for all of them (the leader), and wakes the others, which look by themselves every `FOLLOWER_POLL_S` only: a wake-up is
a hint that may get lost. No file notification is used: the looks are the same on every platform.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from runtime.record.rules.batch import WrittenEvent

POLL_S = 0.03
"""Seconds between two looks while something happens."""
IDLE_POLL_S = 0.25
"""Seconds between two looks in a journal at rest: the longest time until another process's write is noticed."""
FOLLOWER_POLL_S = 1.0
"""The same where another watch of this process looks for us, in case that its loop is blocked."""
_POLL_BACKOFF_FACTOR = 1.25
"""Each look that finds nothing makes the next pause longer by this factor: at rest after about a second."""

_watches: dict[Path, list[ChangeWatch]] = {}
"""Those that look, by file; the first is the leader."""
_lock = threading.Lock()


class ChangeWatch:
    """The tails' `Waker`: notices events in the file that were not written through this journal object.

    Args:
        path: The journal's file.
        position: The position of the newest event; None if it cannot be read now.
        writing: Whether this object has a transaction under way, so that the file may be ahead of `wrote`.
        poll_s: Seconds between two looks while something happens.
    """

    def __init__(
        self,
        path: Path,
        position: Callable[[], int | None],
        writing: Callable[[], bool],
        poll_s: float = POLL_S,
    ) -> None:
        self.eager = False
        """Whether a run is followed: then the watch is never at rest."""
        self._path = path
        self._position = position
        self._writing = writing
        self._changed: Callable[[], None] = _nothing
        self._poll_s = poll_s
        self._idle_s = max(poll_s, IDLE_POLL_S)
        self._pause = poll_s
        self._known: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self, changed: Callable[[], None]) -> None:
        """Begin to look, and call `changed` on this loop's thread. Does nothing if it has begun."""
        if self._loop is not None:
            return
        self._loop, self._known, self._changed = asyncio.get_running_loop(), None, changed
        with _lock:
            _watches.setdefault(self._path, []).append(self)
        self._poll()

    def stop(self) -> None:
        """Look no more, until `start`."""
        if self._loop is None:
            return
        with _lock:
            _watches[self._path].remove(self)
            if not _watches[self._path]:
                del _watches[self._path]
        if self._timer is not None:
            self._timer.cancel()
        self._loop = self._timer = None

    def notify_written(self, written: Sequence[WrittenEvent]) -> None:
        """This object has committed these events."""
        if self._known is not None and written[0].pos != self._known + 1:
            self._changed()  # events of others lie between
        self._known = written[-1].pos
        self.poll_faster()
        self._wake_others()

    @property
    def is_resting(self) -> bool:
        """Whether it looks less often than it may."""
        return self._pause > self._poll_s and not self.eager

    def poll_faster(self) -> None:
        """Something happens: look often again."""
        resting, self._pause = self.is_resting, self._poll_s
        if resting and self._loop is not None:
            self._wait()

    def wake(self) -> None:
        """There is news: look soon. From any thread; a watch that is not at rest looks soon anyway."""
        loop = self._loop
        if loop is not None and self.is_resting:
            with suppress(RuntimeError):  # the loop has been closed at this moment
                loop.call_soon_threadsafe(self.poll_faster)

    def _poll(self) -> None:
        if not self._writing():  # else `wrote` follows, and finds the same
            found = self._position()
            if found is None:
                self._changed()  # what is wrong with the file shows where the tails read it
            elif found != self._known:
                self._known, self._pause = found, self._poll_s
                self._changed()
                self._wake_others()
            else:
                self._pause = min(self._pause * _POLL_BACKOFF_FACTOR, self._idle_s)
        self._wait()

    def _wake_others(self) -> None:
        with _lock:
            others = [found for found in _watches.get(self._path, ()) if found is not self]
        for other in others:
            other.wake()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._loop is None:
            return
        pause = self._poll_s if self.eager else self._pause
        if pause == self._idle_s and _watches[self._path][0] is not self:
            pause = max(pause, FOLLOWER_POLL_S)
        self._timer = self._loop.call_later(pause, self._poll)


def _nothing() -> None:
    """What a watch calls that was never started."""
