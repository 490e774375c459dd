"""The stream that `run.stream` returns: events, a way to stop, and the result at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from types import TracebackType
from typing import Generic

from orbiter.types import OutputT_co, RunResult, StreamEvent


class EventStream(AsyncGenerator[StreamEvent, None], Generic[OutputT_co]):
    """The events of a run, as an asynchronous generator. `result` is the run's `RunResult` once it has ended."""

    def __init__(self, events: AsyncGenerator[StreamEvent, None], result: Callable[[], RunResult[OutputT_co]]) -> None:
        self._events = events
        self._result = result

    @property
    def result(self) -> RunResult[OutputT_co]:
        """What the run came to.

        Raises:
            StreamNotFinishedError: It has not come to its end, or failed.
        """
        return self._result()

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        # The generator itself, so that a loop over the stream costs nothing more.
        return self._events

    async def asend(self, value: None) -> StreamEvent:
        """As of any asynchronous generator."""
        return await self._events.asend(value)

    async def athrow(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
    ) -> StreamEvent:
        """As of any asynchronous generator."""
        error = typ() if isinstance(typ, type) else typ
        return await self._events.athrow(error)

    async def aclose(self) -> None:
        """Stop: the model's request and running tools are ended before this returns."""
        await self._events.aclose()
