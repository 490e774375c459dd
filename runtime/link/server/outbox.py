"""The outbox of one console: back-pressure, and when a slow console gets a fresh snapshot instead of changes.

Replies, pongs and refusals have a lane of their own and are never dropped. The stream (what is shown) is bounded: not
more than `window` messages go out unacknowledged, not more than `capacity` wait, and of more than a snapshot has rows
none waits longer than a second. Beyond that they are dropped, and once the console has taken in all that was sent it
gets one fresh snapshot. Back-pressure of the socket alone does not bound how old a picture is: ssh, pipes and readers
swallow seconds of it (`facts/remote.md` section 2).

A picture of the workspace may take minutes to go out. Its first part goes alone: a console shows that before it is busy
with the next, which follows as soon as it has acknowledged anything. Changes wait behind the picture; that a decision
was answered is told before that as well. What is told of the runs that a console watches does not wait: a run that is
opened meanwhile is shown at once, and its events go between the parts of the picture.

A run at work moves many times a second, and each message that comes alone wakes a console for little: the stream goes
out ten times a second then. What was asked for does not wait for that.

The lane of replies has no bound of its own: the connection reads no more commands while it is `full`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from runtime.link.wire.protocol import Delta, DeltaKind

MAX_QUEUE_AGE_S = 1.0
"""How old the picture of a slow console may get before it is given up for a fresh one, if that is shorter."""
MIN_QUEUE_FOR_SNAPSHOT = 100
"""So many messages that wait are never given up for their age."""

MAX_REPLIES = 64
"""Replies, pongs and refusals that may wait for a console before nothing more is read from it."""
MAX_REPLY_BYTES = 1024 * 1024
"""The same in bytes."""
MAX_QUEUE_BYTES = 8 * 1024 * 1024
"""Of the messages that wait for a console, before it counts as slow."""
MAX_QUEUE_MESSAGES = 2000
"""The same in messages."""
MAX_PICTURE_UNDER_WAY = 128 * 1024
"""Bytes of a picture that were sent and are not acknowledged: on a slow line what is asked for meanwhile waits behind
them.
"""
EVENTS_PER_PART = 50
"""Events of watched runs that go out before the next part of a picture, if so many wait."""

GATHER_S = 0.1
"""Seconds from one write of the stream to the next where it goes on and on: screens are drawn no more often."""
AT_ONCE = 5
"""Writes that follow each other at once before that, as after an answer; each quiet `GATHER_S` allows one more."""
MAX_GATHERED = 250
"""So many messages do not wait for others: half of what may be under way."""
MAX_GATHERED_BYTES = 256 * 1024
"""The same in bytes."""

DeltaKey = tuple[str, str, int, DeltaKind]
"""Run, node, attempt, kind."""


class ClientOutbox:
    """Lines for one console, in the order in which they go out. `refill` makes the lines of a fresh snapshot, which has
    about `snapshot_rows` nodes and runs: it is worth as many messages that wait, and costs a console more than them.
    """

    def __init__(
        self,
        refill: Callable[[], list[bytes]],
        *,
        window: int,
        capacity: int,
        snapshot_rows: Callable[[], int] = int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._refill = refill
        self._snapshot_rows = snapshot_rows
        self._window = window
        self._capacity = capacity
        self._replies: deque[bytes] = deque()
        self._reply_bytes = 0
        self._bulk: deque[bytes] = deque()
        self._parts_sent: deque[tuple[int, int]] = deque()
        """Parts of a picture that are not acknowledged: the number of each in the stream, and its bytes."""
        self._parts_bytes = 0
        self._run: deque[bytes] = deque()
        """What is left of the run that is being shown."""
        self._shows: dict[str, Callable[[], Iterable[bytes]]] = {}
        self._clock = clock
        self._queue: deque[tuple[float, bytes]] = deque()
        self._held: deque[tuple[float, bytes]] = deque()
        """Changes that wait behind the picture; they go into the queue when it is out."""
        self._ahead: deque[bytes] = deque()
        """What is told of some of them before."""
        self._queue_bytes = 0
        self._events_between = 0
        """Events that went out since the last part of the picture."""
        self._deltas: dict[DeltaKey, tuple[int, str]] = {}
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        """Set when what waits must go out before its time."""
        self._due = 0.0
        """When the next write of the stream is due, if it goes on and on."""
        self._sent = 0
        self._taken = 0
        self._closed = False
        self.stale = False
        self.snapshots = 0
        """Snapshots sent because the console had fallen behind."""

    @property
    def in_flight(self) -> int:
        """Messages of the stream that were sent and are not acknowledged."""
        return self._sent - self._taken

    @property
    def full(self) -> bool:
        """Whether so many replies wait for the console that it must read before it may ask for more."""
        return len(self._replies) >= MAX_REPLIES or self._reply_bytes >= MAX_REPLY_BYTES

    def reply(self, line: bytes) -> None:
        """Send apart from the stream, next."""
        self._replies.append(line)
        self._reply_bytes += len(line)
        self._go()

    def send_bulk(self, lines: Iterable[bytes]) -> None:
        """Send a picture, or what was missed of it, however long it is. What changes from now on goes behind it."""
        self._bulk.extend(lines)
        self._go()

    def show(self, run_id: str, lines: Callable[[], Iterable[bytes]]) -> None:
        """Send what `lines` gives when it is this run's turn, however long it is. Asked for twice it is sent once."""
        self._shows[run_id] = lines
        self._go()

    def hide(self, run_id: str) -> None:
        """The run is of no interest any more."""
        self._shows.pop(run_id, None)

    def offer(self, line: bytes, *, of_run: bool = False, ahead: bytes = b"") -> None:
        """Send with the stream, or drop it if the console is too far behind. `of_run`: an event of a watched run.
        `ahead`: what is sent at once where the line waits behind a picture.
        """
        if self.stale:
            return
        now = self._clock()
        waiting = len(self._queue) + len(self._held)
        full = waiting >= self._capacity or (waiting and self._queue_bytes + len(line) > MAX_QUEUE_BYTES)
        if full or self._is_old(now):
            self._queue.clear()
            self._held.clear()
            self._ahead.clear()
            self._queue_bytes = 0
            self._deltas.clear()
            self.stale = True
        else:
            held = self._bulk and not of_run
            (self._held if held else self._queue).append((now, line))
            self._queue_bytes += len(line)
            if held and ahead:
                self._ahead.append(ahead)
        if self.stale or len(self._queue) >= MAX_GATHERED or self._queue_bytes >= MAX_GATHERED_BYTES:
            self._hurry.set()
        self._wake.set()

    def _is_old(self, now: float) -> bool:
        """Whether the console is late, and a snapshot tells it what is now with less than what waits for it."""
        waiting = len(self._queue) + len(self._held)
        late = waiting >= MIN_QUEUE_FOR_SNAPSHOT and now - self._waits_since() > MAX_QUEUE_AGE_S
        return late and waiting >= self._snapshot_rows()

    def _waits_since(self) -> float:
        return min(lane[0][0] for lane in (self._queue, self._held) if lane)

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
        while self._parts_sent and self._parts_sent[0][0] <= self._taken:
            self._parts_bytes -= self._parts_sent.popleft()[1]
        self._wake.set()

    def close(self) -> None:
        """Send what is in the lane of replies, and changes that gather, then end: no picture goes on, or begins."""
        self._closed = True
        self._go()

    def _go(self) -> None:
        self._hurry.set()
        self._wake.set()

    async def gather(self) -> None:
        """After a write that left nothing: let what comes gather until the next one is due."""
        now = self._clock()
        self._due = min(max(self._due, now - AT_ONCE * GATHER_S), now) + GATHER_S
        waits = self._replies or self._bulk or self._run or self._shows or self._queue or self._ahead or self.stale
        if self._due <= now or waits or self._closed:
            return
        self._hurry.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._due - now):
                await self._hurry.wait()

    async def next_line(self) -> bytes | None:
        """The next line to send, waiting for one; None when the lane was closed."""
        while (line := self.ready_line()) is None and not self._closed:
            self._wake.clear()
            await self._wake.wait()
        return line

    def ready_line(self) -> bytes | None:
        """The next line that may go out now, None if there is none."""
        if self._replies:
            line = self._replies.popleft()
            self._reply_bytes -= len(line)
            return line
        of_stream = self._of_stream()
        if of_stream is not None:
            self._sent += 1
        return of_stream

    def _of_stream(self) -> bytes | None:
        picture = self._bulk or self._run or self._shows
        if self.in_flight >= self._window or (self._closed and (picture or self.stale)):
            return None
        if not picture and self.stale:
            if self.in_flight:
                return None
            self.stale = False
            self.snapshots += 1
            self._bulk.extend(self._refill())
        if self._ahead:
            return self._ahead.popleft()
        while self._shows and not self._run:
            self._run.extend(self._shows.pop(next(iter(self._shows)))())
        if self._run:
            return self._run.popleft()
        part_may_go = self._bulk and self._parts_bytes < (MAX_PICTURE_UNDER_WAY if self._taken else 1)
        if self._queue and not (part_may_go and self._events_between >= EVENTS_PER_PART):
            self._events_between += 1
            line = self._queue.popleft()[1]
            self._queue_bytes -= len(line)
            return line
        if part_may_go:
            return self._next_part()
        if self._deltas:
            (run_id, node_id, attempt, kind), (offset, text) = self._deltas.popitem()
            delta = Delta(
                run_id=run_id, node_id=node_id, attempt=attempt, kind=kind, offset=offset, text=text
            )  # fmt: skip
            return delta.line()
        return None

    def _next_part(self) -> bytes:
        """The next part of the picture; behind the last one go its changes."""
        self._events_between = 0
        line = self._bulk.popleft()
        self._parts_sent.append((self._sent + 1, len(line)))
        self._parts_bytes += len(line)
        if not self._bulk:
            self._queue.extendleft(reversed(self._held))
            self._held.clear()
            self._ahead.clear()
        return line
