"""What works beside one life of a run: it hears what others write, renews the lease, and lets go of a run in which
everything waits, or whose runtime stops.

Each is begun when there is something for it to do: most lives are short, and wait for nothing.
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
from runtime.record.journal import Fenced, JournalError, Unwritable
from runtime.worker.stop_signal import StopSignal, release_run

log = logging.getLogger("runtime.drive")


class RunAttendants:
    """The attendants of one life, from its beginning until `end`."""

    def __init__(self, session: RunSession, stopping: StopSignal | None, trial: AsyncExitStack | None) -> None:
        self._session = session
        self._stopping = stopping
        self._loop = asyncio.get_running_loop()
        self._tasks: list[asyncio.Task[None]] = []
        self._ended = False
        self._begin(partial(_listen, session))
        # In an empty context: the loop keeps a timer, with its context, until its time, also one that is cancelled.
        self._renewal = self._loop.call_later(
            session.lease.ttl_s / 3, self._begin, partial(renew_lease, session), context=Context()
        )
        session.tracker.call_at_first_wait(partial(self._begin, partial(_park, session)))
        if session.config.stall_s is not None:
            self._begin(partial(watch_progress, session, session.config.stall_s))
        if session.state.deaths:
            self._begin(partial(until_progress, session, trial))
        if stopping is not None:
            stopping.call_when_set(self._release)

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if not self._ended:
            self._tasks.append(self._loop.create_task(work(), context=Context()))

    def _release(self) -> None:
        if self._stopping is not None:
            self._begin(partial(release_run, self._session, self._stopping))

    async def end(self) -> None:
        """Stop them all."""
        self._ended = True
        self._renewal.cancel()
        if self._stopping is not None:
            self._stopping.forget(self._release)
        for task in self._tasks:
            task.cancel()
        for result in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(result, Exception):
                log.error("run %s: %r", self._session.state.id, result)


async def _park(session: RunSession) -> None:
    session.park(await session.tracker.watch_idleness())


async def _listen(session: RunSession) -> None:
    try:
        await session.listen()
    except JournalError:
        log.exception("run %s: what others write to it cannot be read; it is let go of", session.state.id)
        session.end("broken")


async def renew_lease(session: RunSession) -> None:
    """Renew the run's lease, now and three times in its length."""
    while True:
        try:
            await session.journal.renew(session.lease)
        except Fenced:
            session.end("fenced")
            return
        except Unwritable:
            pass  # no process can take the run over where nothing can be written; what it writes is fenced
        except JournalError:
            session.end("broken")
            return
        await asyncio.sleep(session.lease.ttl_s / 3)
