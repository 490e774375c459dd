"""SDK clients, shared: one per event loop and setting, closed when their loop ends.

An SDK's client is bound to the loop in which it first connects, and a pool of connections is worth sharing: a thousand
runs of one model need one pool, not a thousand. `asyncio.run` and `asyncio.Runner` close asynchronous generators
before they close their loop, and that is where the clients of a loop are closed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class _SharedClient:
    client: Any
    users: int = 0
    retired: bool = False


@dataclass(slots=True)
class _LoopClients:
    held: dict[Hashable, _SharedClient] = field(default_factory=dict)
    keeper: AsyncGenerator[None, None] | None = None


_loops: dict[asyncio.AbstractEventLoop, _LoopClients] = {}
_lock = threading.Lock()


@asynccontextmanager
async def shared_client(setting: Hashable, build: Callable[[], Any]) -> AsyncIterator[Any]:
    """The running loop's client for a setting, built at first use. It is not closed while a call uses it."""
    loop = asyncio.get_running_loop()
    mine = _loops.get(loop)
    if mine is None:
        mine = await _keep(loop)
    held = mine.held.get(setting)
    if held is None:
        held = mine.held[setting] = _SharedClient(build())
    held.users += 1
    try:
        yield held.client
    finally:
        held.users -= 1
        if held.retired and not held.users:
            await held.client.close()


async def retire_client(setting: Hashable) -> None:
    """Close the running loop's client for a setting: now, or when the last call that uses it ends."""
    mine = _loops.get(asyncio.get_running_loop())
    held = mine.held.pop(setting, None) if mine is not None else None
    if held is None:
        return
    held.retired = True
    if not held.users:
        await held.client.close()


async def _keep(loop: asyncio.AbstractEventLoop) -> _LoopClients:
    mine = _LoopClients()
    with _lock:
        # A loop that was closed without shutting its generators down left its clients behind; they cannot be closed.
        for gone in [each for each in _loops if each.is_closed()]:
            del _loops[gone]
        _loops[loop] = mine
    mine.keeper = _until_the_loop_ends(loop, mine)
    await anext(mine.keeper)
    return mine


async def _until_the_loop_ends(loop: asyncio.AbstractEventLoop, mine: _LoopClients) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        with _lock:
            _loops.pop(loop, None)
        for held in mine.held.values():
            await held.client.close()
        mine.held.clear()
