"""The startup of the console: fetches the first snapshot and loads the first screen side by side."""

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
    """Begin to connect, and load the module of the first screen meanwhile. Back when there is something to show, so
    that it is drawn once and not twice.
    """
    if not isinstance(link, LinkClient | MultiClient):
        return
    told = asyncio.Event()
    end = link.subscribe(lambda: told.set() if link.ready or link.status.phase == "lost" else None)
    link.start()
    try:
        await asyncio.to_thread(import_module, screen)
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_ATTACH_S):
                await told.wait()
    finally:
        end()
