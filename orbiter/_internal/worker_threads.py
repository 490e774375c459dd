"""Worker threads: blocking calls of user code in bounded daemon threads.

asyncio's default executor will not do: its threads are joined at exit, so one hung tool keeps the process alive, and
a cancelled call keeps its place in the pool for as long as it hangs. Here threads are daemons, their number is bounded,
and a call that its caller has left no longer counts: another thread may start in its place, up to a second bound.
So it is with a call that was set aside, because it takes long.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from os import cpu_count
from typing import Any, TypeVar

from orbiter import steps
from orbiter.errors import PoolExhaustedError

R = TypeVar("R")
LateCallback = Callable[[Any, BaseException | None], None]

_IDLE_SECONDS = 30.0
_current_job = threading.local()


def awaiting_loop() -> asyncio.AbstractEventLoop | None:
    """In a thread of a pool: the event loop whose task waits for this thread; elsewhere None."""
    found: asyncio.AbstractEventLoop | None = getattr(_current_job, "loop", None)
    return found


@dataclass(slots=True, eq=False)
class _Job:
    call: Callable[[], Any]
    context: Context
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    on_late: LateCallback | None
    began: float | None = None
    """When its thread took it up, in seconds (`time.monotonic`)."""
    left: bool = field(default=False)
    aside: bool = field(default=False)
    handed_over: Future[Any] | None = None
    """What the call waits for in the event loop: withdrawn when the call is left."""


class ThreadPool:
    """Daemon threads for blocking calls.

    Args:
        limit: How many calls run at once; more wait their turn.
        abandoned_limit: How many abandoned calls may still run beside them.
        nested_limit: How many calls may wait for runs of their own beside them (`run.sync` in a tool), or are set
            aside: these hold a thread each, and hardly a processor.
    """

    def __init__(self, limit: int, abandoned_limit: int = 64, nested_limit: int = 1000) -> None:
        self.limit = limit
        self.abandoned_limit = abandoned_limit
        self.nested_limit = nested_limit
        self._changed = threading.Condition()
        self._queue: deque[_Job] = deque()
        self._threads = 0
        self._idle = 0  # threads without a call, those that are only starting included
        self._abandoned = 0  # threads whose call was left
        self._nested = 0  # threads whose call waits for other calls, or is set aside
        self._running: set[_Job] = set()

    async def run(self, call: Callable[[], R], *, on_late: LateCallback | None = None) -> R:
        """Run `call` in a thread, in a copy of the current context, and return what it returns.

        When the awaiting task is cancelled it goes on at once; a call that has begun runs to its end unseen, and
        `on_late` gets its result or exception then, in the event loop if that still runs.

        Raises:
            PoolExhaustedError: Too many abandoned calls never came back, or too many wait for runs of their own.
        """
        loop = asyncio.get_running_loop()
        job = _Job(call, copy_context(), loop, loop.create_future(), on_late)
        with self._changed:
            if self._exhausted():
                raise self._exhaustion()
            self._queue.append(job)
            self._start_threads()
        try:
            result: R = await job.future
        except asyncio.CancelledError:
            self._remove_thread(job)
            raise
        except PoolExhaustedError as exc:
            exc.begun = job.began is not None  # what the call itself raised, of whatever pool, it raised in its midst
            raise
        return result

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """In a call that blocks on work which itself may need threads: its thread does not count meanwhile."""
        counted = getattr(_current_job, "pool", None) is self
        if counted:
            with self._changed:
                self._nested += 1
                self._replace()
        try:
            yield
        finally:
            if counted:
                with self._changed:
                    self._nested -= 1

    def set_aside(self, after_s: float) -> None:
        """Count no call any more that has been running for `after_s` seconds: another may run beside it."""
        since = time.monotonic() - after_s
        with self._changed:
            for job in self._running:
                if job.began is not None and job.began <= since and not (job.left or job.aside):
                    job.aside = True
                    self._nested += 1
            self._replace()

    # All that follows, `_work` apart, runs with the lock held.

    def _thread_limit(self) -> int:
        return self.limit + min(self._abandoned, self.abandoned_limit) + min(self._nested, self.nested_limit)

    def _exhausted(self) -> bool:
        return self._threads >= self._thread_limit() and self._threads <= self._abandoned + self._nested

    def _exhaustion(self) -> PoolExhaustedError:
        if self._nested > self.nested_limit:
            what = f"{self._nested} calls wait for runs of their own (run.sync in a tool)"
            hint = "Make the tools that call run.sync 'async def' and await run() there: that needs no thread"
        else:
            what = f"{self._abandoned} calls that were given up still run"
            hint = "Give the blocking tools time-outs of their own, or restart the process"
        message = f"No thread is left for a blocking call: {what}"
        error = PoolExhaustedError(message, total=self._threads, abandoned=self._abandoned, hint=hint)
        error.begun = False
        return error

    def _start_threads(self) -> None:
        """Wake or start a thread for each call that waits, as far as the bound allows."""
        self._changed.notify(len(self._queue))
        for _ in range(min(len(self._queue) - self._idle, self._thread_limit() - self._threads)):
            self._threads += 1
            self._idle += 1
            threading.Thread(target=self._work, name="orbiter-tool", daemon=True).start()

    def _replace(self) -> None:
        """One more thread cannot be counted on: another may take its place, or the waiting calls fail."""
        if not self._queue:
            return
        self._start_threads()
        while self._queue and self._exhausted():
            _deliver(self._queue.popleft(), None, self._exhaustion())

    def _remove_thread(self, job: _Job) -> None:
        with self._changed:
            if job.left:
                return
            job.left = True
            if job.began is not None:
                self._abandoned += 1
                self._nested -= job.aside
                self._replace()
            elif job in self._queue:
                self._queue.remove(job)
            handed_over = job.handed_over
        if handed_over is not None:
            handed_over.cancel()

    def run_on_loop(self, work: Coroutine[Any, Any, R]) -> R:
        """In a thread of this pool: let the event loop that waits for the thread do `work`, and wait for it.

        It runs as part of what the thread serves, in a copy of its context, and is cancelled when that is left.

        Raises:
            RuntimeError: Called elsewhere.
        """
        job: _Job | None = getattr(_current_job, "job", None)
        if job is None:
            work.close()
            raise RuntimeError("run_on_loop() is for threads of a pool")
        future = asyncio.run_coroutine_threadsafe(work, job.loop)
        with self._changed:
            job.handed_over = future
            left = job.left
        if left:
            future.cancel()
        with self.waiting():
            return future.result()

    def _work(self) -> None:
        _current_job.pool = self
        while (job := self._next()) is not None:
            _current_job.loop, _current_job.job = job.loop, job
            result, error = None, None
            try:
                result = job.context.run(job.call)
            except BaseException as exc:  # it belongs to the awaiting task, whatever it is
                error = exc
            _current_job.loop = _current_job.job = None
            with self._changed:
                self._idle += 1
                self._running.discard(job)
                if job.left:
                    self._abandoned -= 1
                else:
                    self._nested -= job.aside
                job.left = True
            _deliver(job, result, error)
            del job, result, error

    def _next(self) -> _Job | None:
        with self._changed:
            surplus = self._threads > self._thread_limit()
            if surplus or not self._changed.wait_for(lambda: bool(self._queue), timeout=_IDLE_SECONDS):
                self._threads -= 1
                self._idle -= 1
                return None
            job = self._queue.popleft()
            job.began = time.monotonic()
            self._running.add(job)
            self._idle -= 1
            return job


def _deliver(job: _Job, result: Any, error: BaseException | None) -> None:
    try:
        job.loop.call_soon_threadsafe(_settle, job, result, error)
    except RuntimeError:  # the loop is closed, and with it what waited for this call
        if job.on_late is not None:
            job.on_late(result, error)


_MEANT_OTHERWISE = (StopIteration, GeneratorExit, KeyboardInterrupt, asyncio.CancelledError)
"""To a future, to the coroutine that waits for it, or to the loop these mean something else than a call that failed."""


def _settle(job: _Job, result: Any, error: BaseException | None) -> None:
    if job.future.done():
        if job.on_late is not None:
            job.on_late(result, error)
    elif error is None:
        job.future.set_result(result)
    elif isinstance(error, _MEANT_OTHERWISE):
        failure = RuntimeError(f"a blocking call raised {error!r}")
        failure.__cause__ = error
        job.future.set_exception(failure)
    else:
        job.future.set_exception(error)


pool = ThreadPool(limit=min(32, (cpu_count() or 1) + 4))
"""The threads of sync tools."""


async def run_in_thread(call: Callable[[], R], *, on_late: LateCallback | None = None) -> R:
    """`ThreadPool.run` of the pool of sync tools. The node that the call belongs to hears of a late end, too."""
    scope = steps.current()
    if scope is steps.DIRECT:
        return await pool.run(call, on_late=on_late)

    def late(result: Any, error: BaseException | None) -> None:
        scope.late(result, error)
        if on_late is not None:
            on_late(result, error)

    return await pool.run(call, on_late=late)
