"""The queue of keys: they take effect in the order in which they were typed.

Textual 8.2.8 hands each key to whoever has the focus at that moment, and does what is bound to it only after it came
back up. Where a link delivers several at once, letters overtake the backspace that was typed before them, and what
follows `tab` lands in the field that was to be left. So one key is on its way at a time: an echo follows it up through
every parent, and the next is let go when that arrives.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.message_pump import MessagePump

KEY_TIMEOUT_S = 1.0
"""Seconds after which a key that does not come back keeps the others no longer: its handler is at something long."""


class KeyQueueApp(App[None]):
    """An app whose keys, and texts that are pasted, wait for each other."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self._typed: deque[events.Key | events.Paste] = deque()
        self._on_its_way = 0
        self._sent = 0
        self._overdue: asyncio.TimerHandle | None = None

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, (events.Key, events.Paste)) or event.is_forwarded:
            await super().on_event(event)
        elif self._on_its_way or self._typed:
            self._typed.append(event)
        else:
            await self._let_go(event)

    async def _let_go(self, event: events.Event) -> None:
        self._sent += 1
        number = self._on_its_way = self._sent
        self._overdue = asyncio.get_running_loop().call_later(KEY_TIMEOUT_S, self._arrived, number)
        first: DOMNode = self.focused or self.screen
        await super().on_event(event)
        self._echo(first, number)

    def _echo(self, node: MessagePump | None, number: int) -> None:
        """To `node`, behind the key, and from there to its parent. One that is being taken down passes nothing on."""
        while node is not None and node is not self:
            if node.call_later(partial(self._echo, node._parent, number)):
                return
            node = node._parent
        self.call_later(self.call_later, self._arrived, number)  # behind what the key's action has put off

    def _arrived(self, number: int) -> None:
        if number != self._on_its_way:
            return
        if self._overdue is not None:
            self._overdue.cancel()
        self._on_its_way = 0
        if self._typed:
            self.call_later(self._next)

    async def _next(self) -> None:
        if self._typed and not self._on_its_way:
            await self._let_go(self._typed.popleft())
