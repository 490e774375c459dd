"""The way to a server: a program over its standard streams, or an address over HTTP."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import anyio
import httpx2

from orbiter.mcp.definition import Server
from orbiter.mcp.foreign_text import clean_line
from orbiter.mcp.sdk.http_transport import open_http
from orbiter.mcp.sdk.program import open_program
from orbiter.mcp.sdk.watch import Watch

log = logging.getLogger("orbiter.mcp")

MAX_LOG_LINE_CHARS = 2_000
_MOST_ITEMS = {"content": 1_000, "tools": 2_000}
"""Items of a list of a result that are read."""
_DRAIN_S = 0.5
"""Seconds for the rest of what a program wrote to its standard error, which its children may hold open."""


class _WatchedStream:
    """The stream from the server, which says when it is over. The SDK asks for `last_context` by name."""

    def __init__(self, inner: Any, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Any:
        try:
            return _bounded(await self._inner.receive())
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._watch.ended.set()
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream as exc:
            raise StopAsyncIteration from exc

    async def aclose(self) -> None:
        self._watch.ended.set()
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> bool | None:
        self._watch.ended.set()
        found: bool | None = await self._inner.__aexit__(*error)
        return found


def _bounded(received: Any) -> Any:
    """A message whose lists are not too long: the SDK checks each item, on the loop, and that takes a while."""
    result = getattr(getattr(received, "message", None), "result", None)
    if isinstance(result, dict):
        for name, most in _MOST_ITEMS.items():
            if isinstance(given := result.get(name), list) and len(given) > most:
                log.warning("an MCP server sent %d items of %r; %d are read", len(given), name, most)
                del given[most:]
    return received


@asynccontextmanager
async def open_transport(
    server: Server, workspace: str, watch: Watch, auth: httpx2.Auth | None = None
) -> AsyncIterator[Any]:
    """The streams to a server whose variables are expanded; a program is started, and ended with the context.

    Raises:
        OSError: The program cannot be started.
    """
    made = open_http(server, watch, auth) if server.url else _program(server, workspace, watch)
    try:
        async with made as (reading, writing):
            yield _WatchedStream(reading, watch), writing
    finally:
        watch.settled.set()


@asynccontextmanager
async def _program(server: Server, workspace: str, watch: Watch) -> AsyncIterator[Any]:
    reading, writing = os.pipe()
    logged = threading.Thread(
        target=_log_lines, args=(server.name, reading, watch), name=f"mcp {server.name}", daemon=True
    )
    logged.start()
    try:
        with os.fdopen(writing, "w", encoding="utf-8") as errlog:
            async with open_program(server, workspace, errlog, watch) as streams:
                yield streams
    finally:
        await asyncio.to_thread(logged.join, _DRAIN_S)


def _log_lines(name: str, reading: int, watch: Watch) -> None:
    """What a server writes to its standard error, line by line in the log; a line without an end is cut."""
    with os.fdopen(reading, "rb") as file:
        while line := file.readline(MAX_LOG_LINE_CHARS):
            if text := clean_line(line.decode("utf-8", "replace"), MAX_LOG_LINE_CHARS):
                watch.last_words.append(text)
                log.info("MCP server %s: %s", name, text)
