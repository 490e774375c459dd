"""A console's end of a link, for as long as a test needs it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runtime.link.client.client import LinkClient
from runtime.link.transports.transport import Transport
from runtime.link.wire.protocol import AgentCaller


@asynccontextmanager
async def linked(
    transport: Transport, agent: AgentCaller | None = None, *, ready: bool = False
) -> AsyncIterator[LinkClient]:
    """A link that is begun, and closed in the end. `agent`: who says that it asks. `ready`: it has been told the
    picture.
    """
    link = LinkClient(transport)
    link.agent = agent
    link.start()
    try:
        if ready:
            await link.wait_until(lambda: link.ready)
        yield link
    finally:
        await link.close()
