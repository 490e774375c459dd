"""The event bus."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from orbiter.events import EventBus


async def test_a_failing_handler_is_logged_and_the_next_one_is_called(caplog: pytest.LogCaptureFixture) -> None:
    # D18: emit let the error propagate.
    bus = EventBus()
    heard: list[Any] = []

    async def broken(**data: Any) -> None:
        raise ValueError("broken")

    async def hears(n: int) -> None:
        heard.append(n)

    bus.on("tick", broken)
    bus.on("tick", hears)
    with caplog.at_level(logging.ERROR, "orbiter"):
        await bus.emit("tick", n=1)
    assert heard == [1]
    assert "A handler of event 'tick' failed" in caplog.text


async def test_handlers_come_and_go() -> None:
    bus = EventBus()
    heard: list[str] = []

    def plain(name: str) -> None:
        heard.append(name)

    bus.on("a", plain)
    bus.on("a", plain)
    bus.off("a", plain)
    bus.off("b", plain)
    await bus.emit("a", name="one")
    await bus.emit("b", name="nobody")
    assert heard == ["one"]
    assert bus.has_handlers("a")
    bus.clear("a")
    assert not bus.has_handlers("a")
    bus.on("a", plain)
    bus.clear()
    assert not bus.has_handlers("a")
