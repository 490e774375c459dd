"""Imports users' swarms with a time limit, in daemon threads.

A thread cannot be ended from outside. An import that does not come back within its limit is given up: who waited for it
gets an `ImportTimeoutError` that names the file, everything else goes on, and its result is dropped if it comes later.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

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
_pool = ThreadPool(limit=1, abandoned_limit=512)
"""One thread for all loads, which go one after the other: threads that hand Python's lock to each other take longer. A
load that takes longer than `loader.IMPORT_TURN_S` is set aside: the next goes on beside it.
"""
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


class _Limit:
    """The time limits of a load, which count from when the load really begins: its thread notes that, and the loop,
    which would take longer to be told of it than to look, looks when a limit may be over. The first one is that of its
    turn, after which other loads go on beside it.
    """

    __slots__ = ("_began", "_loop", "_seconds", "_timer", "timeout")

    def __init__(self, seconds: float) -> None:
        self.timeout = asyncio.timeout(None)
        self._seconds = seconds
        self._began: float | None = None
        self._loop = asyncio.get_running_loop()
        self._timer = self._look_in(min(loader.IMPORT_TURN_S, seconds))

    def begin(self) -> None:
        """It begins now, or once more, because another load overtook it. For the load's thread."""
        if self._began is None:
            self._began = self._loop.time()

    def cancel(self) -> None:
        self._timer.cancel()

    def _look_in(self, seconds: float) -> asyncio.TimerHandle:
        # In an empty context: the loop keeps a timer, with its context, until its time, also one that is cancelled.
        return self._loop.call_later(seconds, self._look, context=Context())

    def _look(self) -> None:
        took = 0.0 if self._began is None else self._loop.time() - self._began
        if took >= self._seconds:
            self.timeout.reschedule(0.0)
            return
        _pool.set_aside(loader.IMPORT_TURN_S)  # this load, or the one that it waits for
        turn = loader.IMPORT_TURN_S - took
        self._timer = self._look_in(min(turn if turn > 0 else self._seconds, self._seconds - took))


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
        if not limit.timeout.expired():
            return  # its run was aborted, or the runtime has stopped: nothing went wrong
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
        importing.given_up = True  # if it has not come back: its run was aborted, say
        if not importing.thread:  # it never began
            _under_way.discard(importing)


def hanging_imports() -> list[SwarmImport]:
    """Imports that are under way for longer than `SLOW_IMPORT_S`, given up or not, oldest first. For any thread."""
    return sorted((each for each in _under_way.copy() if each.seconds >= SLOW_IMPORT_S), key=lambda each: each.since)
