"""Waiting for a screen that draws itself. No test draws for it: that would hide a screen that forgets to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.pilot import Pilot
from textual.screen import Screen

from screens.base.runtime_screen import RuntimeScreen
from tests.patience import PATIENCE_S
from tests.screens.widgets.test_live_widgets import screen_text

if TYPE_CHECKING:
    from tests.screens.memory_link import MemoryLink

QUIET_LOOKS = 2
"""How often in a row nothing must be left to draw: what was drawn may have asked for more."""


async def drawn(pilot: Pilot[Any]) -> None:
    """Wait until everything that the screen was told of is on it."""
    quiet = 0
    async with asyncio.timeout(PATIENCE_S):
        while quiet < QUIET_LOOKS:
            await pilot.pause()
            shown = pilot.app.screen_stack  # what is below a dialog is seen, too
            if pilot.app.screen.is_mounted and all(each.pace.idle for each in shown if isinstance(each, RuntimeScreen)):
                quiet += 1
            else:
                quiet = 0
                await asyncio.sleep(0.005)
    await pilot.pause()


Fact = str | tuple[str, ...] | type[Screen[Any]] | Callable[[], bool]
"""What is waited for: words on the screen, all of several, a screen of this class, or what a function says."""


async def until(pilot: Pilot[Any], fact: Fact) -> None:
    """Wait for a fact, not for a time; what the screen shows is said if it does not come about."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not _holds(pilot, fact):
                await pilot.pause(0.01)
    except TimeoutError:
        raise AssertionError("\n".join(screen_text(pilot.app))) from None


def _holds(pilot: Pilot[Any], fact: Fact) -> bool:
    if isinstance(fact, str | tuple):
        lines = screen_text(pilot.app)
        return all(any(words in line for line in lines) for words in ((fact,) if isinstance(fact, str) else fact))
    return isinstance(pilot.app.screen, fact) if isinstance(fact, type) else fact()


async def press(pilot: Pilot[Any], *keys: str, then: Fact) -> None:
    """Press keys, and wait for what comes of them."""
    await pilot.press(*keys)
    await until(pilot, then)


async def changed(pilot: Pilot[Any], link: MemoryLink, *, then: Fact) -> None:
    """Say that the link knows more, and wait for what comes of it."""
    link.changed()
    await until(pilot, then)
