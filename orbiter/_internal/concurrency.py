"""Several coroutines side by side, without exception groups: the first failure stops the rest and is raised itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

R = TypeVar("R")


async def gather_fail_fast(coroutines: Sequence[Coroutine[Any, Any, R]]) -> list[R]:
    """Their results in the order given.

    When one raises, the others are cancelled and awaited, then its error is raised bare; of several, the first in the
    order given, and the others stand as notes on it. A cancellation from outside is handed on to all of them.
    """
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        await cancel_and_wait(tasks)
    return [task.result() for task in _failed_first(tasks)]


async def cancel_and_wait(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel those that still run and wait until they have ended."""
    left = [task for task in tasks if not task.done()]
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left)


def _failed_first(tasks: list[asyncio.Task[R]]) -> list[asyncio.Task[R]]:
    errors = [error for task in tasks if not task.cancelled() and (error := task.exception()) is not None]
    if errors:
        for other in errors[1:]:
            errors[0].add_note(f"At the same time: {type(other).__name__}: {other}")
        raise errors[0]
    return tasks
