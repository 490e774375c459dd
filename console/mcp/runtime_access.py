"""The way to the runtime that an MCP server speaks for: connected with the first call, and again after a loss."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from console.mcp.lineage import is_in_run
from runtime.link.client.client import LinkClient, LinkError, LinkLost
from runtime.link.wire.protocol import AgentCaller
from runtime.operations.rate_limit import RateLimit
from runtime.operations.requests.struct import Request
from runtime.record.workspace_lock import holder

R = TypeVar("R")

ANSWER_S: Final = 60.0
"""Seconds within which a runtime must have answered; a swarm's file may have to be loaded for it."""
ASKED_PER_MINUTE: Final = 240
"""How often one client may ask, looks included: an agent that polls in a loop leaves room for people."""
REDIAL_S: Final = 2.0
"""Seconds in which a runtime that was started by hand is found."""


class RuntimeAccess:
    """One runtime. Nothing is connected, or started, before something is asked.

    Args:
        client: The client of the link, not started yet. What it starts where no runtime works is its transport's.
        remote: The runtime is on another machine: its process is not one of those that started this one.
        state_dir: Where the lock of the workspace is, on this machine.
        rate: How often it may be asked.
    """

    def __init__(
        self,
        client: LinkClient,
        *,
        remote: bool = False,
        state_dir: Path | None = None,
        rate: RateLimit | None = None,
    ) -> None:
        self.client = client
        self._remote = remote
        self._state_dir = state_dir
        self._rate = rate or RateLimit(ASKED_PER_MINUTE, 60.0)
        self._opening = asyncio.Lock()
        self._started = False

    async def ask(self, request: Request[R], *, client: str = "") -> R:
        """The runtime's result.

        Args:
            request: What is asked.
            client: What the agent's client calls itself.

        Raises:
            CommandRefused: it said no.
            LinkError: it cannot be reached, does not answer, or is of another version; or it is asked too often.
        """
        if wait := self._rate.take():
            raise LinkError(
                f"asked too often: at most {ASKED_PER_MINUTE} times a minute; wait {math.ceil(wait)} seconds"
            )
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._connect()
                self.client.agent = AgentCaller(client[:100] or "an agent", in_run=await self._is_in_run(request))
                return await self._answered(request)
        except TimeoutError as exc:
            where = self.client.transport.where
            raise LinkLost(f"the runtime of {where} gave no answer within {ANSWER_S:g} seconds") from exc

    async def _answered(self, request: Request[R]) -> R:
        """The answer. A runtime that goes away meanwhile is started again, and gets the request as it was."""
        client = self.client
        asked = asyncio.ensure_future(client.ask(request))
        try:
            while True:
                lost = asyncio.ensure_future(client.wait_until(lambda: client.status.phase == "lost"))
                try:
                    await asyncio.wait({asked, lost}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    lost.cancel()
                if asked.done():
                    return asked.result()
                await self._connect()
        finally:
            asked.cancel()

    async def follow(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever the picture of the workspace changes. Raises `LinkError`."""
        await self._connect()
        self.client.subscribe(listener)

    async def _is_in_run(self, request: Request[Any]) -> bool:
        """Whether an act comes from inside a run; what only looks is not asked about."""
        if not request.acts:
            return False
        drivers = set()
        if not self._remote and self.client.hello is not None:
            drivers.add(self.client.hello.pid)
        if self._state_dir is not None and (held := await asyncio.to_thread(holder, self._state_dir)) is not None:
            drivers.add(held.pid)
        return await asyncio.to_thread(is_in_run, os.environ, drivers)

    async def close(self) -> None:
        """End the connection."""
        if self._started:
            await self.client.close()

    async def _connect(self) -> None:
        """Connect, or wait until the link stands again; start a runtime where none works and we may.

        Raises:
            LinkLost: the runtime cannot be reached; the text says what to do.
        """
        client = self.client
        async with self._opening:
            if not self._started:
                self._started = True
                client.start()
                await client.wait_until(lambda: client.status.phase != "connecting")
            if client.status.phase != "lost":
                return
            if client.status.mismatch:
                raise LinkLost(client.status.reason)
            try:
                await client.revive()
                await client.wait_until(lambda: client.status.phase == "connected" or client.status.mismatch)
            except LinkLost:  # we may start none: a person may have
                client.connection.reconnect_now()
                if not await self._is_back():
                    raise

    async def _is_back(self) -> bool:
        try:
            async with asyncio.timeout(REDIAL_S):
                await self.client.wait_until(lambda: self.client.status.phase == "connected")
        except TimeoutError:
            return False
        return True
