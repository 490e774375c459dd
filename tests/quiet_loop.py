"""When a pilot goes on to its next key: once the event loop has nothing left to do.

Textual's own `wait_for_idle` takes a process that uses little CPU for one that is done. On a loaded machine a process
uses little CPU because others have it, and keys overtake what the key before them does: the first letters of a filter
went to the list.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

from textual._wait import SLEEP_GRANULARITY

QUIET_TURNS: Final = 3
"""How many turns in a row nothing may be ready: a turn also asks what has come from sockets, pipes and threads."""


async def wait_for_quiet_loop(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait for a frame, and until only this task is ready; in place of `textual._wait.wait_for_idle`.

    Args:
        min_sleep: seconds that it waits at least.
        max_sleep: seconds after which it goes on though the loop is still busy.
    """
    began = monotonic()
    await asyncio.sleep(max(min_sleep, SLEEP_GRANULARITY))
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # asyncio's own, as in each BaseEventLoop
    quiet = 0
    while quiet < QUIET_TURNS and monotonic() - began < max_sleep:
        await asyncio.sleep(0)
        quiet = 0 if ready else quiet + 1
