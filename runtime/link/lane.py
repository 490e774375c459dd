"""What is on its way to one console: two lanes, a window, and what happens when the console falls behind.

Replies, pongs and refusals have a lane of their own and are never dropped. The stream (what is shown) is bounded: not
more than `window` messages go out unacknowledged, not more than `capacity` wait, and of more than a few none waits
longer than a second. Beyond that they are dropped, and once the console has taken in all that was sent it gets one
fresh snapshot. Back-pressure of the socket alone does not bound
how old a picture is: ssh, pipes and readers swallow seconds of it (`facts/remote.md` section 2).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable

from runtime.link.protocol import Delta, DeltaKind

OLD_S = 1.0
"""How old the picture of a slow console may get before it is given up for a fresh one."""
FEW = 100
"""So many messages that wait are fewer than a snapshot is long, however old they are."""

DeltaKey = tuple[str, str, int, DeltaKind]
"""Run, node, attempt, kind."""


class Lane:
    """Lines for one console, in the order in which they go out. `refill` makes the lines of a fresh snapshot."""

    def __init__(
        self,
        refill: Callable[[], list[bytes]],
        *,
        window: int,
        capacity: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._refill = refill
        self._window = window
        self._capacity = capacity
        self._ways: deque[bytes] = deque()
        self._bulk: deque[bytes] = deque()
        self._clock = clock
        self._queue: deque[tuple[float, bytes]] = deque()
        self._deltas: dict[DeltaKey, tuple[int, str]] = {}
        self._wake = asyncio.Event()
        self._sent = 0
        self._taken = 0
        self._closed = False
        self.stale = False
        self.snapshots = 0
        """Snapshots sent because the console had fallen behind."""

    @property
    def under_way(self) -> int:
        """Messages of the stream that were sent and are not acknowledged."""
        return self._sent - self._taken

    def reply(self, line: bytes) -> None:
        """Send apart from the stream, next."""
        self._ways.append(line)
        self._wake.set()

    def bulk(self, lines: Iterable[bytes]) -> None:
        """Send a snapshot or a replay: however long it is, and before what waits in the stream."""
        self._bulk.extend(lines)
        self._wake.set()

    def offer(self, line: bytes) -> None:
        """Send with the stream, or drop it if the console is too far behind."""
        if self.stale:
            return
        now = self._clock()
        waiting = len(self._queue)
        if waiting >= self._capacity or (waiting >= FEW and now - self._queue[0][0] > OLD_S):
            self._queue.clear()
            self._deltas.clear()
            self.stale = True
        else:
            self._queue.append((now, line))
        self._wake.set()

    def delta(self, key: DeltaKey, offset: int, text: str) -> None:
        """Send a piece of a streamed reply; pieces that wait are joined."""
        if self.stale:
            return
        waiting = self._deltas.get(key)
        if waiting is not None and waiting[0] + len(waiting[1]) == offset:
            offset, text = waiting[0], waiting[1] + text
        self._deltas[key] = (offset, text)
        self._wake.set()

    def forget(self, run_id: str, node_id: str) -> None:
        """The node's reply is complete: pieces of it that still wait are of no interest."""
        for key in [key for key in self._deltas if key[0] == run_id and key[1] == node_id]:
            del self._deltas[key]

    def acknowledge(self, taken: int) -> None:
        """The console has taken in `taken` messages since the connection began."""
        self._taken = max(self._taken, min(taken, self._sent))
        self._wake.set()

    def close(self) -> None:
        """Send what is in the lane of replies, then end."""
        self._closed = True
        self._wake.set()

    async def next(self) -> bytes | None:
        """The next line to send, waiting for one; None when the lane was closed."""
        while (line := self.ready()) is None and not self._closed:
            self._wake.clear()
            await self._wake.wait()
        return line

    def ready(self) -> bytes | None:
        """The next line that may go out now, None if there is none."""
        if self._ways:
            return self._ways.popleft()
        line = None if self._closed else self._of_stream()
        if line is not None:
            self._sent += 1
        return line

    def _of_stream(self) -> bytes | None:
        if self.under_way >= self._window:
            return None
        if not self._bulk and self.stale:
            if self.under_way:
                return None
            self.stale = False
            self.snapshots += 1
            self._bulk.extend(self._refill())
        if self._bulk:
            return self._bulk.popleft()
        if self._queue:
            return self._queue.popleft()[1]
        if self._deltas:
            (run_id, node_id, attempt, kind), (offset, text) = self._deltas.popitem()
            delta = Delta(
                run_id=run_id, node_id=node_id, attempt=attempt, kind=kind, offset=offset, text=text
            )  # fmt: skip
            return delta.line()
        return None
