"""The queue of keys: they take effect in the order in which they were typed.

Textual 8.2.8 hands each key to the widget that has the focus at that moment, and does what is bound to it only after it
came back up. Where a link delivers several at once, letters overtake the backspace that was typed before them, and what
follows `tab` lands in the field that was to be left. So one key is on its way at a time: an echo follows it up through
every parent, and the next is let go when that arrives. Where nothing else is to be done on its way, a key goes up at
once (`carried_key`), and what it changed is painted (`frame_at_once`). A handler of a key that waits for something has
the app wait, as an action does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from textual import events
from textual.app import App
from textual.dom import DOMNode

from console.terminal.carried_key import CarriedKey, waits
from console.terminal.frame_at_once import FrameAtOnce

KEY_TIMEOUT_S = 1.0
"""Seconds after which a key that does not come back keeps the others no longer: its handler is at something long."""


class KeyQueue:
    """Keys of an app, and texts that are pasted, which wait for each other.

    Args:
        app: The app.
        take: What the app does with an event; awaited with one key at a time.
    """

    def __init__(self, app: App[Any], take: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app = app
        self._take = take
        self._frames = FrameAtOnce(app)
        self._typed: deque[events.Key | events.Paste] = deque()
        self._on_its_way = 0
        self._sent = 0
        self._overdue: asyncio.TimerHandle | None = None

    async def put(self, event: events.Event) -> None:
        """Hand `event` on; a key or a paste once the one before it is done."""
        if not isinstance(event, (events.Key, events.Paste)) or event.is_forwarded:
            await self._take(event)
        elif self._on_its_way or self._typed:
            self._typed.append(event)
        else:
            await self._let_go(event)

    async def _let_go(self, event: events.Event) -> None:
        self._sent += 1
        number = self._on_its_way = self._sent
        self._overdue = asyncio.get_running_loop().call_later(KEY_TIMEOUT_S, self._arrived, number)
        first: DOMNode = self._app.focused or self._app.screen
        try:
            if isinstance(event, events.Key) and waits(first):
                event = CarriedKey(event)
            await self._take(event)
            if isinstance(event, CarriedKey):
                await event.carry(self._app, first)
                if not self._typed:
                    self._frames.paint(first, asyncio.get_running_loop().time())
        finally:
            _Echo(self._app, first, partial(self._arrived, number)).climb()

    def _arrived(self, number: int) -> None:
        if number != self._on_its_way:
            return
        if self._overdue is not None:
            self._overdue.cancel()
        self._on_its_way = 0
        if self._typed:
            self._app.call_later(self._next)

    async def _next(self) -> None:
        if self._typed and not self._on_its_way:
            await self._let_go(self._typed.popleft())


class _Echo:
    """Follows one key, behind it, up through every parent. A node that is being taken down passes nothing on."""

    def __init__(self, app: App[Any], first: DOMNode, arrived: Callable[[], None]) -> None:
        self._app = app
        self._node: DOMNode | None = first
        self._arrived = arrived

    def climb(self) -> None:
        """Go to the next node that takes messages."""
        while (node := self._node) is not None and node is not self._app:
            self._node = node.parent
            # A method without arguments: of what `call_later` makes, Textual reads the signature each time.
            if node.post_message(events.Callback(callback=self.climb)):
                return
        self._app.call_later(self._app.call_later, self._arrived)  # behind what the key's action has put off
