"""Clocks that a test steps, and delays that end when it says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from textual import events


@dataclass
class Clock:
    """Seconds since some instant, as `time.monotonic` gives them."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


class Owner:
    """What an alarm wants of its owner: messages are delivered at once."""

    def post_message(self, message: events.Callback) -> bool:
        message.callback()
        return True


def delays(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, Callable[[], None]]]:
    """Delays that the running loop was asked for, each with what ends it; none of them ends by itself."""
    waits: list[tuple[float, Callable[[], None]]] = []
    loop = asyncio.get_running_loop()

    def call_later(delay: float, callback: Callable[..., None], *args: Any) -> asyncio.TimerHandle:
        waits.append((delay, partial(callback, *args)))
        return asyncio.TimerHandle(0.0, callback, args, loop)

    monkeypatch.setattr(loop, "call_later", call_later)
    return waits
