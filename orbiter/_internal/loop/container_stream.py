"""The events of a run whose agents work in tasks of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from orbiter._internal.loop.event_sink import EventSink, current_sink
from orbiter._internal.loop.run_results import StreamNotFinishedError
from orbiter._internal.loop.stream_run import failure_events
from orbiter.types import RunResult, StreamEvent


class ContainerStream:
    """The events of agents that run in tasks of their own, in the order in which they happen.

    Args:
        name: The agent of a failure that names none.
        wanted: The event types to show.
        detailed: Whether to show who works for another agent, too.
        max_steps: In place of the agents' own.
        work: Carries the run out.
    """

    def __init__(
        self,
        name: str,
        wanted: frozenset[str],
        *,
        detailed: bool,
        max_steps: int | None,
        work: Callable[[], Awaitable[RunResult]],
    ) -> None:
        self._name = name
        self._wanted = wanted
        self._queue: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        self._sink = EventSink(self._queue.put_nowait, wanted, detailed, max_steps)
        self._work = work
        self._result: RunResult | None = None

    def result(self) -> RunResult:
        """What the run came to; see `EventStream.result`."""
        if self._result is None:
            raise StreamNotFinishedError("The stream has no result: it did not come to its end")
        return self._result

    async def events(self) -> AsyncGenerator[StreamEvent, None]:
        """The events. Closing the generator cancels the run and waits until it has ended."""
        task = asyncio.create_task(self._run())
        try:
            while (event := await self._queue.get()) is not None:
                yield event
            self._result = await task
        except Exception as exc:
            for event in failure_events(exc, self._name, 0, self._wanted):
                yield event
            raise
        finally:
            task.cancel()
            # Also retrieves an error that was raised while the stream was closed, which has no reader any more.
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> RunResult:
        # In the task's own context: the generator's belongs to its caller.
        current_sink.set(self._sink)
        try:
            return await self._work()
        finally:
            self._queue.put_nowait(None)
