"""Imports users' swarms with a time limit, in daemon threads.

A thread cannot be ended from outside. An import that does not come back within its limit is given up: who waited for it
gets an `ImportTimeoutError` that names the file, everything else goes on, and its result is dropped if it comes later.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from orbiter._internal.worker_threads import ThreadPool
from runtime.record.state.events import utc_now
from runtime.swarms import loader
from runtime.swarms.load_errors import SwarmLoadError

log = logging.getLogger("runtime.imports")

IMPORT_LIMIT_S = 60.0
SLOW_IMPORT_S = 3.0
"""After how long, in seconds, it is said of an import that it is under way."""
LATE_IMPORT_S = 20.0
"""After how long, in seconds, it is said that it does not come back: on a busy machine many take longer than they do
alone, and nothing is wrong.
"""

R = TypeVar("R")
LOADS_AT_ONCE = 8
"""Loads of a loop that are in threads at once. They go one after the other anyway, so that more threads only wait."""
_pool = ThreadPool(limit=128, abandoned_limit=512)
_under_way: set[SwarmImport] = set()


class ImportTimeoutError(SwarmLoadError):
    """The import of a swarm's file did not come back within its limit."""


@dataclass(slots=True, eq=False)
class SwarmImport:
    """An import under way. `run_id` is empty where it is only checked whether the swarm can be run."""

    ref: str
    root: Path
    run_id: str = ""
    since: datetime = field(default_factory=utc_now)
    given_up: bool = False
    thread: int = 0

    @property
    def seconds(self) -> float:
        return (utc_now() - self.since).total_seconds()

    @property
    def late(self) -> bool:
        """Whether it takes so long that something may be wrong."""
        return self.given_up or self.seconds >= LATE_IMPORT_S

    @property
    def place(self) -> str:
        """Where in the user's files it stands now, as ``FILE, line N``; the swarm's file if that cannot be told."""
        frame = sys._current_frames().get(self.thread)
        while frame is not None:
            if self._is_users(frame):
                return f"{frame.f_code.co_filename}, line {frame.f_lineno}"
            frame = frame.f_back
        return self.ref.rpartition(":")[0]

    def _is_users(self, frame: FrameType) -> bool:
        path = Path(frame.f_code.co_filename)
        target = Path(self.ref.rpartition(":")[0])
        inside = path.is_relative_to(self.root.resolve()) or path.is_relative_to(self.root) or path == target
        return inside and not {"site-packages", "dist-packages"} & set(path.parts)

    def __str__(self) -> str:
        since = f"{self.since.astimezone():%H:%M:%S}"
        if not self.late:
            return f"still importing {self.ref}, since {since}: it stands at {self.place}"
        given_up = "; it was given up, and its thread still runs" if self.given_up else ""
        return f"the import of {self.ref} has not come back since {since}: it stands at {self.place}{given_up}"


class _Admission:
    """Admits loads to threads, in the order in which they came; for one event loop."""

    def __init__(self) -> None:
        self._admitted = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> _Place:
        """Wait for a place."""
        if self._admitted < LOADS_AT_ONCE:
            self._admitted += 1
            return _Place(self)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it had its turn already
                self.leave()
            raise
        return _Place(self)

    def leave(self) -> None:
        """Give a place to the next that waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._admitted -= 1


class _Place:
    """The place of one load, which is free when the load ends, or after `loader.IMPORT_TURN_S`: it may never end."""

    __slots__ = ("_admission", "_timer")

    def __init__(self, admission: _Admission) -> None:
        self._admission: _Admission | None = admission
        loop = asyncio.get_running_loop()
        # In an empty context: the loop keeps a timer, with its context, until its time, also one that is cancelled.
        self._timer = loop.call_later(loader.IMPORT_TURN_S, self.free, context=Context())

    def free(self) -> None:
        """Let another load have it. Does nothing the second time."""
        admission, self._admission = self._admission, None
        if admission is not None:
            self._timer.cancel()
            admission.leave()


class _Limit:
    """The time limit of a load, which counts from when the load really begins: its thread notes that, and the loop,
    which would take longer to be told of it than to look, looks when the limit may be over.
    """

    __slots__ = ("_began", "_loop", "_seconds", "_timer", "timeout")

    def __init__(self, seconds: float) -> None:
        self.timeout = asyncio.timeout(None)
        self._seconds = seconds
        self._began: float | None = None
        self._loop = asyncio.get_running_loop()
        self._timer = self._look_in(seconds)

    def begin(self) -> None:
        """It begins now. For the load's thread."""
        self._began = self._loop.time()

    def cancel(self) -> None:
        self._timer.cancel()

    def _look_in(self, seconds: float) -> asyncio.TimerHandle:
        # In an empty context, as the timer of a place.
        return self._loop.call_later(seconds, self._look, context=Context())

    def _look(self) -> None:
        began = self._began
        left = self._seconds if began is None else began + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._look_in(left)
        else:
            self.timeout.reschedule(0.0)


_admissions: WeakKeyDictionary[asyncio.AbstractEventLoop, _Admission] = WeakKeyDictionary()


async def load(ref: str, root: Path, *, limit_s: float = IMPORT_LIMIT_S, run_id: str = "") -> Any:
    """`runtime.swarms.loader.load_swarm` with a limit.

    Raises:
        SwarmLoadError: the reference does not lead to a swarm, or its import takes longer than `limit_s` seconds.
    """
    return await load_within_limit(partial(loader.load_swarm, ref, root), SwarmImport(ref, root, run_id), limit_s)


async def load_within_limit(work: Callable[[Callable[[], None]], R], importing: SwarmImport, limit_s: float) -> R:
    """What `work` returns, which runs user code on behalf of `importing`. It calls its argument when it really begins:
    the limit holds from there.

    Raises:
        ImportTimeoutError: it takes longer than `limit_s` seconds.
    """
    place = await _admissions.setdefault(asyncio.get_running_loop(), _Admission()).enter()
    limit = _Limit(limit_s)

    def begun() -> None:
        importing.since = utc_now()
        limit.begin()

    def worked() -> R:
        importing.thread = threading.get_ident()
        try:
            return work(begun)
        finally:
            _under_way.discard(importing)

    def late(_result: Any, _error: BaseException | None) -> None:
        took = f"{importing.seconds:.0f} s"
        log.warning("the import of %s ended after %s, too late: dropped; a retry loads it", importing.ref, took)

    _under_way.add(importing)
    try:
        async with limit.timeout:
            return await _pool.run(worked, on_late=late)
    except TimeoutError as exc:
        if not limit.timeout.expired():
            raise
        raise ImportTimeoutError(
            f"{importing.place}: the import of {importing.ref} did not come back within {limit_s:g} s and was given up",
            hint="Correct the file and retry. If it hangs in another module that it imports, stop the runtime first"
            " (orbiter-console stop): Python imports a module once. If it only needs longer, raise"
            " [runtime] import_limit_s in orbiter.toml.",
        ) from exc
    finally:
        limit.cancel()
        place.free()
        importing.given_up = True  # if it has not come back: its run was aborted, say
        if not importing.thread:  # it never began
            _under_way.discard(importing)


def hanging_imports() -> list[SwarmImport]:
    """Imports that are under way for longer than `SLOW_S`, given up or not, oldest first. For any thread."""
    return sorted((each for each in _under_way.copy() if each.seconds >= SLOW_IMPORT_S), key=lambda each: each.since)
