"""The way to a server: a program over its standard streams, or an address over HTTP, with limits that the SDK lacks."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client

from orbiter.mcp.definition import Server
from orbiter.mcp.foreign_text import clean_line
from orbiter.mcp.sdk.program import open_program

log = logging.getLogger("orbiter.mcp")

MAX_RESPONSE_BYTES = 32 * 1024 * 1024
"""Bytes of one HTTP response, or of one event of a stream. `program` has the limit of a program's messages."""
MAX_LOG_LINE_CHARS = 2_000
_MOST_ITEMS = {"content": 1_000, "tools": 2_000}
"""Items of a list of a result that are read."""
_CONNECT_S = 30.0
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
"""As W3C's Trace Context has it."""


class Watch:
    """What was seen on the way to a server: whether it wanted a login, whether it was reached, whether it hung up, and
    why it is not listened to any more.
    """

    def __init__(self) -> None:
        self.login_wanted = False
        self.problem = ""
        self.unreached: Exception | None = None
        self.ended = asyncio.Event()


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
    made = _http(server, watch, auth) if server.url else _program(server, workspace, watch)
    async with made as (reading, writing):
        yield _WatchedStream(reading, watch), writing


@asynccontextmanager
async def _program(server: Server, workspace: str, watch: Watch) -> AsyncIterator[Any]:
    def on_problem(said: str) -> None:
        watch.problem = said

    reading, writing = os.pipe()
    threading.Thread(target=_log_lines, args=(server.name, reading), name=f"mcp {server.name}", daemon=True).start()
    with os.fdopen(writing, "w", encoding="utf-8") as errlog:
        async with open_program(server, workspace, errlog, on_problem) as streams:
            yield streams


def _log_lines(name: str, reading: int) -> None:
    """What a server writes to its standard error, line by line in the log; a line without an end is cut."""
    with os.fdopen(reading, "rb") as file:
        while line := file.readline(MAX_LOG_LINE_CHARS):
            if text := clean_line(line.decode("utf-8", "replace"), MAX_LOG_LINE_CHARS):
                log.info("MCP server %s: %s", name, text)


@asynccontextmanager
async def _http(server: Server, watch: Watch, auth: httpx2.Auth | None) -> AsyncIterator[Any]:
    transport = _WatchedTransport(watch, httpx2.URL(server.url))
    # A call may wait for a person for as long as it takes: its time is limited where it is made.
    timeout = httpx2.Timeout(_CONNECT_S, read=None)
    async with (
        httpx2.AsyncClient(
            headers=dict(server.headers), timeout=timeout, transport=transport, auth=auth, follow_redirects=False
        ) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_RESPONSE_BYTES) as streams,
    ):
        yield streams


class _WatchedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, watch: Watch, url: httpx2.URL) -> None:
        super().__init__()
        self._watch = watch
        self._url = url

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url == self._url:
            for name, value in trace_headers(await request.aread()).items():
                request.headers.setdefault(name, value)
        try:
            response = await super().handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as exc:
            self._watch.unreached = exc
            raise
        self._watch.unreached = None
        if request.url == self._url:  # and not of a login
            self._watch.login_wanted = response.status_code == 401
        if isinstance(response.stream, httpx2.AsyncByteStream) and not _is_event_stream(response.headers):
            response.stream = _BoundedStream(response.stream)
        return response


def trace_headers(body: bytes) -> dict[str, str]:
    """The trace context that a message has in its `_meta`, as headers: for what stands before a server and reads no
    message, such as a gateway or the instrumentation of its HTTP framework. Nothing where it has none.

    Args:
        body: The body of a request, as the SDK wrote it.
    """
    if b'"traceparent"' not in body:
        return {}
    params = json.loads(body).get("params") or {}
    meta = params.get("_meta") or {}
    found = {name: meta.get(name) for name in ("traceparent", "tracestate")}
    if not isinstance(found["traceparent"], str) or not _TRACE_PARENT.fullmatch(found["traceparent"]):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str) and _is_header(value)}


def _is_header(value: str) -> bool:
    return bool(value) and value.isascii() and value.isprintable()


def _is_event_stream(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").lower().startswith("text/event-stream")


class _BoundedStream(httpx2.AsyncByteStream):
    """A response's body that ends with an error where it is too large."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_RESPONSE_BYTES
        async for chunk in self._inner:
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError(f"the response is larger than {MAX_RESPONSE_BYTES} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
