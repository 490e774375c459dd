"""`ReplyPublisher`: puts down the pieces of replies that stream here, of runs that are watched elsewhere.

It waits for nothing that a step waits for: what comes too fast is dropped, and a reply with a gap is shown no further
until it is whole.
"""

from __future__ import annotations

import asyncio
import logging
import threading

from runtime.execution.execution_config import DeltaSink
from runtime.record.journal import JournalError
from runtime.record.live_replies import LiveReplies, ReplyPiece

log = logging.getLogger("runtime.supervisor")

LOOK_S = 1.0
"""How often, in seconds, it is looked which runs are watched elsewhere."""
SEND_S = 0.1
"""How often, in seconds, pieces are put down, while a run is."""
MAX_WAITING_CHARS = 64 * 1024
"""Characters that wait to be put down, at most."""
_MAX_REPLIES = 4_096
"""Replies whose length is known, at most; more can hardly stream at once."""

_Reply = tuple[str, str, int, str]


class ReplyPublisher:
    """A `DeltaSink`. `serve` puts down what it is given.

    Args:
        replies: Where pieces are put.
        local: Takes the pieces, too: the consoles of this process; None: it has none.
    """

    def __init__(self, replies: LiveReplies, local: DeltaSink | None) -> None:
        self._replies = replies
        self._local = local
        self._watched: frozenset[str] = frozenset()
        self._lengths: dict[_Reply, int] = {}
        self._waiting: dict[_Reply, ReplyPiece] = {}
        self._chars = 0
        self._lock = threading.Lock()

    def wants(self, run_id: str) -> bool:
        """Whether a console may want to see replies of a run while they come. Thread-safe."""
        return run_id in self._watched or (self._local is not None and self._local.wants(run_id))

    def put(self, run_id: str, node_id: str, attempt: int, kind: str, text: str) -> None:
        """The next piece of a reply. Thread-safe, never blocks."""
        if self._local is not None:
            self._local.put(run_id, node_id, attempt, kind, text)
        with self._lock:
            self._add((run_id, node_id, attempt, kind), text, watched=run_id in self._watched)

    async def serve(self) -> None:
        """Look what is watched, and put pieces down, until cancelled."""
        loop = asyncio.get_running_loop()
        look_at, said = 0.0, ""
        while True:
            try:
                if loop.time() >= look_at:
                    look_at = loop.time() + LOOK_S
                    self._watched = await self._replies.watched()
                if pieces := self._taken():
                    await self._replies.publish(pieces)
                said = ""
            except JournalError as exc:
                if str(exc) != said:
                    log.info("replies are not shown while they stream on other machines: %s", exc)
                said = str(exc)
                self._watched = frozenset()
                self._taken()
            await asyncio.sleep(SEND_S if self._watched else LOOK_S)

    def _add(self, reply: _Reply, text: str, *, watched: bool) -> None:
        offset = self._lengths.pop(reply, 0)
        self._lengths[reply] = offset + len(text)  # the newest at the end
        if len(self._lengths) > _MAX_REPLIES:
            del self._lengths[next(iter(self._lengths))]
        waiting = self._waiting.get(reply)
        if not watched or self._chars + len(text) > MAX_WAITING_CHARS:
            return
        if waiting is None:
            self._waiting[reply] = ReplyPiece(*reply, offset, text)
        elif waiting.offset + len(waiting.text) == offset:
            self._waiting[reply] = ReplyPiece(*reply, waiting.offset, waiting.text + text)
        else:
            return  # after a gap nothing more of it is shown
        self._chars += len(text)

    def _taken(self) -> list[ReplyPiece]:
        with self._lock:
            pieces = list(self._waiting.values())
            self._waiting.clear()
            self._chars = 0
        return pieces
