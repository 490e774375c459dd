"""Tells a client that incidents came, changed or went, in the way of its era of the protocol."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from console.mcp.resources import is_address, uris_of
from console.mcp.runtime_access import RuntimeAccess
from runtime.link.client.client import LinkError

log = logging.getLogger(__name__)

MAX_SUBSCRIBED: Final = 200
"""Addresses that one client of the earlier era may have subscribed to."""


class ChangeNotices:
    """From 2026-07-28 on a client listens, and `bus` has what it hears. Before that it subscribes to an address, and
    what it hears comes over its session.
    """

    def __init__(self, runtime: RuntimeAccess) -> None:
        self.bus = InMemorySubscriptionBus()
        self._runtime = runtime
        self._known: dict[str, Any] = {}
        self._session: ServerSession | None = None
        self._subscribed: set[str] = set()
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()

    def saw(self, session: ServerSession) -> None:
        """A client asks for something of the workspace: from now on it is told what changes, one of the earlier era
        over the session in which it asks.
        """
        self._wanted.set()
        if session.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self._session = session

    def subscribe(self, uri: str) -> bool:
        """Tell of changes of an address; False if there are too many, or it is not one of ours."""
        if len(self._subscribed) >= MAX_SUBSCRIBED or not is_address(uri):
            return False
        self._subscribed.add(uri)
        return True

    def unsubscribe(self, uri: str) -> None:
        """Tell of them no longer."""
        self._subscribed.discard(uri)

    async def run(self) -> None:
        """Follow the workspace for as long as the server is there, from the first time that a client asks: a client
        that only looks which tools there are starts no runtime.
        """
        while True:
            await self._wanted.wait()
            try:
                await self._runtime.follow(self._changed.set)
            except LinkError as exc:
                log.warning("changes are not told before the next question: %s", exc)
                self._wanted.clear()
            else:
                break
        await self._runtime.client.wait_until(lambda: self._runtime.client.whole)
        self._known = self._incidents()
        while True:
            await self._changed.wait()
            self._changed.clear()
            for event in self._news():
                await self._tell(event)

    def _incidents(self) -> dict[str, Any]:
        return {key: row.opened.revision for key, row in self._runtime.client.incidents.items()}

    def _news(self) -> list[ServerEvent]:
        before, self._known = self._known, self._incidents()
        if before == self._known:
            return []
        other = [key for key in before.keys() | self._known.keys() if before.get(key) != self._known.get(key)]
        updated: list[ServerEvent] = [ResourceUpdated(uri) for key in sorted(other) for uri in uris_of(key)]
        return [ResourcesListChanged(), *updated] if before.keys() != self._known.keys() else updated

    async def _tell(self, event: ServerEvent) -> None:
        await self.bus.publish(event)
        if self._session is None:
            return
        if isinstance(event, ResourcesListChanged):
            await self._session.send_resource_list_changed()
        elif isinstance(event, ResourceUpdated) and event.uri in self._subscribed:
            await self._session.send_resource_updated(event.uri)
