"""The startup of the console: asks for the first snapshot, and loads the first screen meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module

from runtime.link.client.client import LinkClient
from runtime.link.client.multi_client import MultiClient
from screens.shell.context import Link

FIRST_ATTACH_S = 0.25
"""How long the first screen waits for the first picture; then it is shown as it is, and says that it connects."""


async def attach_console(link: Link, screen: str) -> None:
    """Begin to connect, and load the module of the first screen while the runtime makes its picture. Back when there is
    something to show, so that it is drawn once and not twice.
    """
    if not isinstance(link, LinkClient | MultiClient):
        return
    changed = asyncio.Event()
    end = link.subscribe(changed.set)
    link.start()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_ATTACH_S):
                while link.status.phase == "connecting":
                    await _next(changed)
                import_module(screen)
                while not link.ready and link.status.phase != "lost":
                    await _next(changed)
        import_module(screen)
    finally:
        end()


async def _next(changed: asyncio.Event) -> None:
    changed.clear()
    await changed.wait()
