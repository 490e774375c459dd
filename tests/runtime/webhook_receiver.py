"""What receives webhooks on loopback, and keeps what it was posted."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self


class WebhookReceiver:
    """An HTTP server of this loop. `bodies` is what was posted, in order."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/hook"

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lengths = [line for line in head.lower().splitlines() if line.startswith("content-length:")]
            self.bodies.append(json.loads(await reader.readexactly(int(lengths[0].partition(":")[2]))))
            writer.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            await writer.drain()
        finally:
            writer.close()
