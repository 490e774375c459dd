"""Waiting for a screen that draws itself. No test draws for it: that would hide a screen that forgets to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen

from screens.base.runtime_screen import RuntimeScreen
from tests.patience import PATIENCE_S
from tests.screens.widgets.test_live_widgets import screen_text

QUIET_LOOKS = 2
"""How often in a row nothing must be left to draw: what was drawn may have asked for more."""


async def drawn(pilot: Pilot[Any]) -> None:
    """Wait until everything that the screen was told of is on it."""
    quiet = 0
    async with asyncio.timeout(PATIENCE_S):
        while quiet < QUIET_LOOKS:
            await pilot.pause()
            screen = pilot.app.screen
            if screen.is_mounted and (not isinstance(screen, RuntimeScreen) or screen.pace.idle):
                quiet += 1
            else:
                quiet = 0
                await asyncio.sleep(0.005)
    await pilot.pause()


async def until(pilot: Pilot[Any], true: Callable[[], bool]) -> None:
    """Wait for a fact, not for a time; what the screen shows is said if it does not come about."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not true():
                await pilot.pause(0.01)
    except TimeoutError:
        raise AssertionError("\n".join(screen_text(pilot.app))) from None


async def press(pilot: Pilot[Any], *keys: str, then: str | type[Screen[Any]] | Callable[[], bool]) -> None:
    """Press keys, and wait for what comes of them: words on the screen, a screen of this class, or a fact."""
    await pilot.press(*keys)
    if isinstance(then, str):
        await until(pilot, lambda: any(then in line for line in screen_text(pilot.app)))
    elif isinstance(then, type):
        await until(pilot, lambda: isinstance(pilot.app.screen, then))
    else:
        await until(pilot, then)
