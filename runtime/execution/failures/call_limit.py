"""The time-out of a tool's call: it holds also against code that catches its cancellation, and goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from orbiter import errors

if TYPE_CHECKING:
    from runtime.execution.step_execution import StepExecution

R = TypeVar("R")

CANCEL_S = 5.0
"""Seconds that a cancelled call gets to come to its end, before it is left behind."""

_left_behind: set[asyncio.Task[Any]] = set()
"""Held here: the event loop holds its tasks only weakly."""


class CallOverdue(TimeoutError):
    """The call did not come back within its time-out."""


async def within_own_limit(execution: StepExecution, call: Coroutine[Any, Any, R]) -> R:
    """What a call gives within the step's own limit of time, if it has one.

    Raises:
        orbiter.errors.TimeoutError: It did not come back in time.
    """
    step = execution.step
    if (seconds := step.traits.timeout) is None:
        return await call
    try:
        return await call_within(seconds, call, execution.scope.late)
    except CallOverdue as exc:
        unknown = "" if execution.repeatable else "; whether it took effect is not known"
        raise errors.TimeoutError(
            f"{step.name} did not come back within {seconds:g} s{unknown}",
            operation=step.name,
            timeout_seconds=seconds,
        ) from exc


async def call_within(
    seconds: float, call: Coroutine[Any, Any, R], late: Callable[[Any, BaseException | None], None]
) -> R:
    """What a call gives. Code that catches its cancellation, and comes back soon, is taken at its word.

    A call that does not end when it is cancelled is left behind: what it does is not waited for, and `late` is told
    what it brings at last.

    Raises:
        CallOverdue: It took more than `seconds`.
    """
    task = asyncio.ensure_future(call)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if done:
            return task.result()
    except asyncio.CancelledError:
        if await _came_to_an_end(task, late):
            return task.result()
        raise
    if await _came_to_an_end(task, late) and not task.cancelled():
        return task.result()
    raise CallOverdue


async def _came_to_an_end(task: asyncio.Task[Any], late: Callable[[Any, BaseException | None], None]) -> bool:
    """Cancel a call, and wait a while for it; false: it is left behind."""

    def ended(task: asyncio.Task[Any]) -> None:
        _left_behind.discard(task)
        if not task.cancelled():
            exc = task.exception()
            late(None if exc is not None else task.result(), exc)

    task.cancel()
    try:
        await asyncio.wait({task}, timeout=CANCEL_S)
    finally:
        if not task.done():
            _left_behind.add(task)
            task.add_done_callback(ended)
    return task.done()
