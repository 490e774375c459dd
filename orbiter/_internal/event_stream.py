"""What `run.stream` hands out: the events, and the way to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from orbiter._internal.sink import Sink, sink
from orbiter._internal.stream_run import failure_events
from orbiter.types import RunResult, StreamEvent


async def container_events(
    name: str, wanted: frozenset[str], detailed: bool, max_steps: int | None, work: Callable[[], Awaitable[RunResult]]
) -> AsyncGenerator[StreamEvent, None]:
    """The events of agents that run in tasks of their own, in the order in which they happen.

    Closing the stream cancels the run and waits until it has ended.
    """
    queue: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
    target = Sink(queue.put_nowait, wanted, detailed, max_steps)

    async def carry_out() -> RunResult:
        # In the task's own context: the generator's belongs to its caller.
        sink.set(target)
        try:
            return await work()
        finally:
            queue.put_nowait(None)

    task = asyncio.create_task(carry_out())
    try:
        while (event := await queue.get()) is not None:
            yield event
        await task
    except Exception as exc:
        for event in failure_events(exc, name, 0, wanted):
            yield event
        raise
    finally:
        task.cancel()
        await asyncio.wait([task])
