"""A thread for work that may block or hang: it never keeps a loop, a run or the end of the process waiting."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

R = TypeVar("R")


class SendingThread:
    """Calls one function after the other. Started with the first; a daemon, so that the process may end without it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self.busy_s = 0.0
        """Seconds of the processor that all calls have taken."""

    async def call(self, work: Callable[..., R], *given: Any) -> R:
        """What `work` gives, or raises. Cancelled, it goes on there, and what it gives is dropped."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[R] = loop.create_future()

        def run() -> None:
            began = time.thread_time()
            try:
                found = work(*given)
                self.busy_s += time.thread_time() - began
            except BaseException as exc:
                _tell(loop, _fail, done, exc)
            else:
                _tell(loop, _succeed, done, found)

        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self._queue.put(run)
        return await done

    def end(self) -> None:
        """Let the thread end after what it has under way."""
        self._queue.put(None)

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            work()


def _tell(loop: asyncio.AbstractEventLoop, say: Callable[..., None], done: asyncio.Future[Any], what: Any) -> None:
    with suppress(RuntimeError):  # the loop is closed: who waited has gone
        loop.call_soon_threadsafe(say, done, what)


def _succeed(done: asyncio.Future[Any], found: Any) -> None:
    if not done.done():
        done.set_result(found)


def _fail(done: asyncio.Future[Any], exc: BaseException) -> None:
    if not done.done():
        done.set_exception(exc if isinstance(exc, Exception) else RuntimeError(f"{type(exc).__name__}: {exc}"))
