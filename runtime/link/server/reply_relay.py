"""`ReplyRelay`: shows the consoles of a server replies that stream on other machines."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection

from runtime.link.server.reply_streams import ReplyStreams
from runtime.record.journal import JournalError
from runtime.record.live_replies import WISH_S, LiveReplies

log = logging.getLogger(__name__)

READ_S = 0.15
"""How often, in seconds, pieces are looked for, while a run is watched."""
IDLE_S = 0.5
"""How often, in seconds, it is looked whether a run is watched."""
ERROR_S = 5.0
"""How long, in seconds, it rests where the store fails."""


class ReplyRelay:
    """Works until cancelled.

    Args:
        replies: Where workers put the pieces.
        streams: Where they go.
        watched: Ids of the runs that consoles of this server watch, and may see replies of.
    """

    def __init__(self, replies: LiveReplies, streams: ReplyStreams, watched: Callable[[], Collection[str]]) -> None:
        self._replies = replies
        self._streams = streams
        self._watched = watched

    async def serve(self) -> None:
        """Say what is watched, and pass on what comes."""
        loop = asyncio.get_running_loop()
        told: frozenset[str] = frozenset()
        tell_at, said = 0.0, ""
        while True:
            runs = frozenset(self._watched())
            if not runs:
                await asyncio.sleep(IDLE_S)
                continue
            try:
                if runs != told or loop.time() >= tell_at:
                    await self._replies.watch(runs)
                    told, tell_at = runs, loop.time() + WISH_S / 3
                for piece in await self._replies.read():
                    if piece.run_id in runs:
                        self._streams.add_remote(piece)
            except JournalError as exc:
                if str(exc) != said:
                    log.info("replies that stream on other machines are not shown: %s", exc)
                said, told = str(exc), frozenset()
                await asyncio.sleep(ERROR_S)
            else:
                said = ""
                await asyncio.sleep(READ_S)
