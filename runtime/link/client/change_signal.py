"""The change signal of a link: something changed, look again. At most once per turn of the loop, however much came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class ChangeSignal:
    """Tells its listeners, on the loop of the caller that marks."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []
        self._told = False

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when anything changed; the result ends it."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def mark(self) -> None:
        """Something changed."""
        if not self._told:
            self._told = True
            asyncio.get_running_loop().call_soon(self._notify)

    async def wait_until(self, true: Callable[[], bool]) -> None:
        """Wait until `true()` holds."""
        changed = asyncio.Event()
        end = self.subscribe(changed.set)
        try:
            while not true():
                changed.clear()
                await changed.wait()
        finally:
            end()

    def _notify(self) -> None:
        self._told = False
        for listener in list(self._listeners):
            listener()
