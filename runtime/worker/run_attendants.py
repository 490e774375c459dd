"""What works beside one life of a run: it watches for a standstill and for progress, and lets go of the run when its
runtime stops.

Each is begun when there is something for it to do: most lives are short, and begin none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from contextvars import Context
from functools import partial
from typing import Any

from runtime.execution.failures.crash_loop import until_progress
from runtime.execution.failures.stall_detector import watch_progress
from runtime.execution.run_session import RunSession
from runtime.worker.stop_signal import StopSignal, release_run

log = logging.getLogger("runtime.drive")


class RunAttendants:
    """The attendants of one life, from its beginning until `end`."""

    def __init__(self, session: RunSession, stopping: StopSignal | None, trial: AsyncExitStack | None) -> None:
        self._session = session
        self._stopping = stopping
        self._tasks: list[asyncio.Task[None]] = []
        if session.config.stall_s is not None:
            self._begin(partial(watch_progress, session, session.config.stall_s))
        if session.state.deaths:
            self._begin(partial(until_progress, session, trial))
        if stopping is not None:
            stopping.call_when_set(self._release)

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(work(), context=Context()))

    def _release(self) -> None:
        if self._stopping is not None:
            self._begin(partial(release_run, self._session, self._stopping))

    async def end(self) -> None:
        """Stop them all."""
        if self._stopping is not None:
            self._stopping.forget(self._release)
        for task in self._tasks:
            task.cancel()
        for result in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(result, Exception):
                log.error("run %s: %r", self._session.state.id, result)
