"""The time-out of a step's call: it holds also against code that catches its cancellation, and goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

R = TypeVar("R")

CANCEL_S = 5.0
"""Seconds that a cancelled call gets to come to its end, before it is left behind."""

_left_behind: set[asyncio.Task[Any]] = set()
"""Held here: the event loop holds its tasks only weakly."""


class CallOverdue(TimeoutError):
    """The call did not come back within its time-out."""


async def call_within(
    seconds: float | None, call: Coroutine[Any, Any, R], late: Callable[[Any, BaseException | None], None]
) -> R:
    """What a call gives. Code that catches its cancellation, and comes back soon, is taken at its word.

    A call that does not end when it is cancelled is left behind: what it does is not waited for, and `late` is told
    what it brings at last.

    Args:
        seconds: Its time-out; None: it has none.
        call: The call.
        late: Takes the result, or the error, of a call that was left behind.

    Raises:
        CallOverdue: It took more than `seconds`; from the cancellation that says where it was.
    """
    if seconds is None:
        return await call
    task = asyncio.ensure_future(call)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if done:
            return task.result()
    except asyncio.CancelledError:
        if not task.done() and await _came_to_an_end(task, late):
            return task.result()
        raise  # also where the call had ended in the same turn: a cancellation is not to be lost
    if not await _came_to_an_end(task, late):
        raise CallOverdue
    try:
        return task.result()
    except asyncio.CancelledError as exc:
        raise CallOverdue from exc


async def _came_to_an_end(task: asyncio.Task[Any], late: Callable[[Any, BaseException | None], None]) -> bool:
    """Cancel a call, and wait a while for it; false: it is left behind."""

    def ended(task: asyncio.Task[Any]) -> None:
        _left_behind.discard(task)
        if not task.cancelled():
            exc = task.exception()
            late(None if exc is not None else task.result(), exc)

    task.cancel()
    came = False
    try:
        done, _ = await asyncio.wait({task}, timeout=CANCEL_S)
        came = bool(done)
    finally:
        if not came:  # also where this wait is cancelled in the turn in which the call ends: its value is late
            _left_behind.add(task)
            task.add_done_callback(ended)
    return came
