"""The way to a server over HTTP, with limits that the SDK lacks, and with what became of a call where it failed.

The SDK makes one error of every response with an error status, and keeps a session that the server has forgotten. Here
the answer to a call says whether the call reached the server: `failed_call` reads that from the SDK's error.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR

from orbiter.mcp.definition import Server
from orbiter.mcp.sdk.watch import Watch, status_words

MAX_RESPONSE_BYTES = 32 * 1024 * 1024
"""Bytes of one HTTP response, or of one event of a stream. `program` has the limit of a program's messages."""
_CONNECT_S = 30.0
"""Seconds for the network alone: it is within the server's `connect_timeout_s`."""
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
"""As W3C's Trace Context has it."""
_SESSION = "mcp-session-id"
_NOT_TAKEN = frozenset({429, 503})
"""Statuses with which a request is turned away, and not carried out."""
_FIRST_SERVER_ERROR = 500

Outcome = Literal["not_sent", "unknown", "refused"]
"""What became of a call: it was not carried out, that is not known, or the server refused it."""

_OUTCOME = f"orbiter-{secrets.token_hex(8)}"
"""The key of the outcome in an error's data. No server knows it, so none can say it of itself."""


def failed_call(error: MCPError) -> tuple[Outcome, str] | None:
    """What became of a call whose HTTP request failed, and in words why; None for an error of the server's own."""
    found = error.data.get(_OUTCOME) if isinstance(error.data, Mapping) else None
    return (found, error.message) if found is not None else None


@asynccontextmanager
async def open_http(server: Server, watch: Watch, auth: httpx2.Auth | None) -> AsyncIterator[Any]:
    """The streams to an address, as the SDK's client takes them."""
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
        if request.url != self._url:  # of a login
            return _bounded(await super().handle_async_request(request))
        body = await request.aread()
        for name, value in trace_headers(body).items():
            request.headers.setdefault(name, value)
        is_call = _is_call(body)
        try:
            response = _bounded(await super().handle_async_request(request))
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as exc:
            if not is_call:
                raise
            return _failure(request, 503, "not_sent", f"{type(exc).__name__}: {exc}")
        self._watch.login_wanted = response.status_code == 401
        self._watch.status = response.status_code if _is_problem(response.status_code) else 0
        if request.method == "POST" and _SESSION in request.headers and await _is_session_over(response):
            self._watch.session_over = True
            if is_call:
                return _failure(request, response.status_code, "not_sent", "it does not know the session any more")
        if is_call and self._watch.status and not await _is_own_error(response):
            return _failure(request, response.status_code, _outcome(response.status_code), response=response)
        return response


def _is_problem(status: int) -> bool:
    return status >= 400 and status != 401


def _outcome(status: int) -> Outcome:
    if status in _NOT_TAKEN:
        return "not_sent"
    return "unknown" if status >= _FIRST_SERVER_ERROR else "refused"


def _is_call(body: bytes) -> bool:
    return b'"tools/call"' in body and json.loads(body).get("method") == "tools/call"


async def _is_session_over(response: httpx2.Response) -> bool:
    """Whether the server does not know the session of the request: 404 by the protocol, 400 as many servers say it."""
    if response.status_code == 400:
        return b"session" in (await response.aread()).lower()
    return response.status_code == 404


async def _is_own_error(response: httpx2.Response) -> bool:
    """Whether the body is an error of the protocol, in the server's own words."""
    if not response.headers.get("content-type", "").lower().startswith("application/json"):
        return False
    try:
        found = json.loads(await response.aread())
    except ValueError:
        return False
    return isinstance(found, Mapping) and isinstance(found.get("error"), Mapping) and "jsonrpc" in found


def _failure(
    request: httpx2.Request, status: int, outcome: Outcome, said: str = "", response: httpx2.Response | None = None
) -> httpx2.Response:
    """A response by which the SDK tells the call what became of it; of `response` a login needs what it asks for."""
    error = {"code": INTERNAL_ERROR, "message": said or status_words(status), "data": {_OUTCOME: outcome}}
    wanted = response.headers.get("www-authenticate") if response is not None else None
    headers = {"content-type": "application/json", **({"www-authenticate": wanted} if wanted else {})}
    content = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    return httpx2.Response(status, headers=headers, content=content, request=request)


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


def _bounded(response: httpx2.Response) -> httpx2.Response:
    """The response with a limit to its body; the events of a stream have one in the SDK."""
    if isinstance(response.stream, httpx2.AsyncByteStream) and not _is_event_stream(response.headers):
        response.stream = _BoundedStream(response.stream)
    return response


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
