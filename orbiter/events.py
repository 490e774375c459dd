"""A small event bus for programs around agents: a listener that fails cannot stop the publisher."""

from __future__ import annotations

import logging
from collections.abc import Callable
from inspect import isawaitable
from typing import Any

__all__ = ["EventBus", "EventHandler"]

logger = logging.getLogger("orbiter")

EventHandler = Callable[..., Any]
"""An ``async def`` that takes the event's data as keywords; a plain function will do too."""


class EventBus:
    """Handlers by event name, called in the order in which they were added."""

    __slots__ = ("_handlers",)

    def __init__(self) -> None:
        self._handlers: dict[str, list[EventHandler]] = {}

    def on(self, event: str, handler: EventHandler) -> None:
        """Call `handler` at each `event`; one that is added twice is called twice."""
        self._handlers.setdefault(event, []).append(handler)

    def off(self, event: str, handler: EventHandler) -> None:
        """Remove the first occurrence of `handler` at `event`; nothing happens if it is not there."""
        handlers = self._handlers.get(event, [])
        if handler in handlers:
            handlers.remove(handler)

    async def emit(self, event: str, **data: Any) -> None:
        """Call the handlers of `event` with `data`. One that fails is logged, and the next one is called."""
        for handler in tuple(self._handlers.get(event, ())):
            try:
                outcome = handler(**data)
                if isawaitable(outcome):
                    await outcome
            except Exception:
                logger.exception("A handler of event '%s' failed: %r", event, handler)

    def has_handlers(self, event: str) -> bool:
        """Whether `event` has handlers."""
        return bool(self._handlers.get(event))

    def clear(self, event: str | None = None) -> None:
        """Forget the handlers of `event`, or all handlers."""
        if event is None:
            self._handlers.clear()
        else:
            self._handlers.pop(event, None)
