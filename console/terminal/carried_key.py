"""A key that goes up through every parent in one turn of the event loop.

In Textual 8.2.8 a key waits in the queue of the widget that has the focus, and then in that of each parent up to the
app, which does what is bound to it: four turns of the loop, with all that other tasks do in them. Where such a queue is
empty and its task waits for something to do, that task would do nothing but pass the key on: it is not asked. What a
handler of the key puts off (`call_later`, a message) comes after the key's action then, and not before it.
"""

from __future__ import annotations

from typing import Any

from textual import events
from textual._queue import Queue
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump
from textual.messages import Prompt


class CarriedKey(events.Key):
    """A key that `carry` takes up. Where a parent is at work, it waits there as any other key."""

    __slots__ = ["_above", "_is_carried"]

    def __init__(self, key: events.Key) -> None:
        super().__init__(key.key, key.character)
        self._prevent = key._prevent
        self._is_carried = False
        self._above: MessagePump | None = None

    async def carry(self, app: App[Any], first: MessagePump) -> None:
        """Go up from `first`, in whose queue this is the only message, and whose task is woken for it: that finds a
        message without a meaning, and does what it does when all messages are done.
        """
        waiting = _queue_of(first).values
        if len(waiting) != 1 or waiting[0] is not self:
            return
        waiting[0] = Prompt()
        self._is_carried = True
        self._above = first
        while (node := self._above) is not None:
            self._above = None
            with node._context():
                try:
                    await node._dispatch_message(self)
                except Exception as error:
                    app._handle_exception(error)

    def _bubble_to(self, widget: MessagePump) -> None:
        if self._is_carried and waits(widget):
            self._no_default_action = False
            self._above = widget
        else:
            self._is_carried = False
            super()._bubble_to(widget)


CarriedKey.handler_name = events.Key.handler_name  # Textual makes it from the name of the class


def waits(node: MessagePump) -> bool:
    """Whether nothing is to be done by the task of a node. That of an app is at the key that came in."""
    if node.message_queue_size:
        return False
    if isinstance(node, App):
        return node._pending_message is None
    return bool(_queue_of(node).ready_event._waiters)


def _queue_of(node: MessagePump) -> Queue[Message | None]:
    queue: Any = node._message_queue
    assert isinstance(queue, Queue)
    return queue
