"""What a server says of how far a call has come, a line at a time, for the consoles that watch."""

from __future__ import annotations

import asyncio

from orbiter.mcp.foreign_text import clean_line
from orbiter.steps import Emit

PERIOD_S = 0.5
"""A server may say something as often as it likes; it is passed on so often. What it said last is always passed on."""
MAX_MESSAGE_CHARS = 100


class CallProgress:
    """Takes progress notifications of one call.

    Args:
        emit: Is given a line of text for each that is passed on.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._latest = ""
        self._told = ""
        self._timer: asyncio.TimerHandle | None = None

    async def hear(self, progress: float, total: float | None, message: str | None) -> None:
        """The next notification, as the SDK hands it out."""
        of = f" of {total:g}" if total is not None else ""
        self._latest = f"{progress:g}{of} {clean_line(message, MAX_MESSAGE_CHARS)}".rstrip()
        if self._timer is None:
            self._tell()

    def close(self) -> None:
        """The call is over: nothing more is passed on."""
        if self._timer is not None:
            self._timer.cancel()

    def _tell(self) -> None:
        self._timer = None
        if self._latest != self._told:
            self._told = self._latest
            self._emit("text", f"{self._told}\n")
            self._timer = asyncio.get_running_loop().call_later(PERIOD_S, self._tell)
