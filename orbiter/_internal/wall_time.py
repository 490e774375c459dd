"""The time limit of an agent without a runtime: what is under way when it is over is cancelled."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from orbiter.errors import TimeoutError  # noqa: A004 - seed 003 names it so


class WallTimeExceeded(TimeoutError):
    """The time of an agent is over. A `TimeoutError` of seed 003, and of Python."""


@asynccontextmanager
async def wall_time(what: str, seconds: float) -> AsyncIterator[None]:
    """Cancel what runs inside after so many seconds.

    Raises:
        WallTimeExceeded: They are over. The text is seed 004's.
    """
    try:
        async with asyncio.timeout(seconds) as clock:
            yield
    except builtins.TimeoutError as exc:
        if not clock.expired():
            raise
        raise WallTimeExceeded(
            f"{what} exceeded wall time: {seconds:g} s",
            operation=what,
            timeout_seconds=seconds,
            recoverable=False,
            suggestion="Give it a larger max_wall_time_s, or a smaller task.",
        ) from exc
