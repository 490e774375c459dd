"""The queue of a journal's writer: natural batching, and what waits in memory while the store cannot be written.

While a transaction runs, new operations gather; the next transaction takes them all, and with them what those write
next who were told of the one before. It waits for no timer, which lost in every measurement.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from runtime.record.journal import CommitUnknown, JournalError, Unrecordable, Unwritable
from runtime.record.rules.batch import Write, WrittenEvent

Work = TypeVar("Work")
Publish = Callable[[Sequence[WrittenEvent]], None]

log = logging.getLogger(__name__)

MAX_BATCH = 1024
HELD_RETRY_S = 0.5
"""How often, in seconds, it is tried to write what is held back."""
KILL_AFTER_ENV = "ORBITER_DIE_AFTER_APPENDS"
"""Test hook, for chaos suites only: with this variable set to n, the process kills itself with SIGKILL right after the
transaction with the n-th operation that writes events (create, append, answer, post) is committed, before anybody
learns of it. The n-th operation is then the last of its transaction."""


@dataclass(slots=True)
class _Exclusive(Generic[Work]):
    """What is to have the connection for itself. A class of its own: to ask of an operation whether it is a `Write`,
    which is abstract, takes longer than to queue it.
    """

    work: Work


class WriteQueue(ABC, Generic[Work]):
    """Carries out operations in the order in which they came, in batches. `Work` is what may have the store's
    connection for itself, between two batches.

    Args:
        name: The journal, as errors name it.
        publish: Called with the events of each transaction, once it is committed.
    """

    def __init__(self, name: str, publish: Publish) -> None:
        self.writing = False
        """Whether a transaction is under way, or committed and not published yet."""
        self.commits = 0
        self.operations = 0
        """Operations that wrote events, since this journal was opened."""
        self.held_back = ""
        """Why something waits for the store to be writable, in words."""
        self._name = name
        self._publish = publish
        self._queue: deque[tuple[Write | _Exclusive[Work], asyncio.Future[Any]]] = deque()
        self._arrived = asyncio.Event()
        self._closing = False
        self._holding = False
        self._waiting: list[tuple[Write, asyncio.Future[Any]]] = []
        """What is held in memory, in the order in which it came."""
        self._die_after = int(os.environ.get(KILL_AFTER_ENV, "0") or "0")
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._run(), name=f"journal writer {name}")

    @abstractmethod
    async def transact(self, ops: Sequence[Write]) -> tuple[list[Any], Sequence[WrittenEvent]]:
        """Carry out all operations in one transaction.

        Returns:
            The result of each, or the `JournalError` of one that failed alone; and the events that were written.

        Raises:
            Unrecordable: one of them cannot be written, and nothing was.
            CommitUnknown: all may be written or not.
            JournalError: nothing was written.
        """

    @abstractmethod
    async def carry_out(self, work: Work) -> Any:
        """Let `work` have the connection. It may change any row."""

    def submit(self, op: Write) -> asyncio.Future[Any]:
        """The operation's result, once committed. A caller that is cancelled may find it carried out all the same; one
        with `Write.ended` always is.
        """
        return self._put(op)

    def submit_work(self, work: Work) -> asyncio.Future[Any]:
        """Let `work` have the connection between two batches. It ends the transactions it begins."""
        return self._put(_Exclusive(work))

    def _put(self, work: Write | _Exclusive[Work]) -> asyncio.Future[Any]:
        if self._closing or self._task.done():
            raise JournalError(f"the journal {self._name} is closed")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._queue.append((work, future))
        self._arrived.set()
        return future

    def hold_back(self, hold: bool) -> None:
        """See `Journal.hold_back`."""
        self._holding = hold
        self._arrived.set()

    async def close(self) -> None:
        """Write what is queued, then stop."""
        self._closing = True
        self._arrived.set()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while True:
                await self._arrived.wait()
                self._arrived.clear()
                while self._queue or self._waiting:
                    self.writing = True
                    if self._waiting and self._holding and not self._closing:
                        with suppress(TimeoutError):
                            async with asyncio.timeout(HELD_RETRY_S):
                                await self._arrived.wait()
                        self._arrived.clear()
                    if self._queue and isinstance(self._queue[0][0], _Exclusive):
                        await self._run_exclusive()
                    else:
                        await self._batch(self._take())
                    self.writing = False
                    # Those who were told go on first, for one turn of the loop: what they write next is in the next
                    # transaction, which more of them share, and with it most of what it costs.
                    await asyncio.sleep(0)
                if self._closing:
                    return
        finally:
            self._closing = True
            self._fail(
                [*self._waiting, *self._queue],
                JournalError(f"the journal {self._name} was closed before this was written"),
            )

    def _take(self) -> list[tuple[Write, asyncio.Future[Any]]]:
        """The operations at the head of the queue. One whose caller has gone is dropped, unless it has `ended`."""
        self._queue.extendleft(reversed(self._waiting))
        self._waiting.clear()
        taken: list[tuple[Write, asyncio.Future[Any]]] = []
        counted = 0
        while self._queue and len(taken) < MAX_BATCH:
            work, future = self._queue[0]
            if isinstance(work, _Exclusive):
                break
            self._queue.popleft()
            if future.cancelled() and work.ended is None:
                continue
            taken.append((work, future))
            counted += work.counted
            if self._die_after and self.operations + counted == self._die_after:
                break
        return taken

    async def _run_exclusive(self) -> None:
        work, future = self._queue.popleft()
        if future.cancelled() or not isinstance(work, _Exclusive):
            return
        try:
            result = await self.carry_out(work.work)
        except Exception as exc:
            self._fail([(work, future)], exc)
        except BaseException:
            future.cancel()
            raise
        else:
            if not future.done():
                future.set_result(result)

    async def _batch(self, taken: list[tuple[Write, asyncio.Future[Any]]]) -> None:
        try:
            results, written = await self.transact([op for op, _ in taken])
        except Exception as exc:
            if isinstance(exc, Unrecordable) and len(taken) > 1:
                for each in taken:  # one of them is at fault, and fails alone
                    await self._batch([each])
                return
            if isinstance(exc, Unwritable | CommitUnknown) and self._holding and not self._closing:
                taken = self._held(taken, exc)
            self._fail(taken, exc)
            return
        except BaseException:
            self._fail(taken, JournalError(f"the journal {self._name} was stopped: this may be written or not"))
            raise
        self.commits += 1
        if self.held_back:
            log.warning("the journal can be written again; what was held in memory is written")
            self.held_back = ""
        self.operations += sum(op.counted for op, _ in taken)
        if self._die_after and self.operations >= self._die_after:
            os.kill(os.getpid(), signal.SIGKILL)
        if written:
            self._publish(written)
        for (op, future), result in zip(taken, results, strict=True):
            _tell(future, op.ended, result)

    def _held(
        self, taken: list[tuple[Write, asyncio.Future[Any]]], exc: Exception
    ) -> list[tuple[Write, asyncio.Future[Any]]]:
        """Keep what may wait in memory, to be tried before whatever comes after it; the rest."""
        held = [each for each in taken if each[0].may_wait]
        if held and not self.held_back:
            log.error(
                "the journal cannot be written: what happens is held in memory, and written when it can be: %s", exc
            )
        if held:
            self.held_back = str(exc)
        self._waiting.extend(held)
        return [each for each in taken if not each[0].may_wait]

    def _fail(self, items: Iterable[tuple[Any, asyncio.Future[Any]]], exc: Exception) -> None:
        cause = exc if isinstance(exc, JournalError) else None
        for work, future in items:
            ended = None if isinstance(work, _Exclusive) else work.ended
            if future.done() and ended is None:
                continue
            # Each waiter gets an exception of its own: a shared one would collect all their tracebacks.
            kind = type(cause) if isinstance(cause, Unrecordable | Unwritable | CommitUnknown) else JournalError
            error = kind(str(cause) if cause is not None else f"cannot write in {self._name}: {exc!r}")
            error.__cause__ = cause.__cause__ if cause is not None and cause.__cause__ is not None else exc
            _tell(future, ended, error)


def _tell(future: asyncio.Future[Any], ended: Callable[[Any], None] | None, outcome: Any) -> None:
    """Give an operation's result, or its error, to `Write.ended` and to its caller."""
    if ended is not None:
        ended(outcome)
    if future.done():
        return  # cancelled
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
