"""One call over a vendor's SDK, with deadlines, and every failure as a `ModelError`.

What the SDKs really raise is a mixture: classes of theirs, raw errors of the network library from inside a stream,
`JSONDecodeError` for a bad piece, `AssertionError`, or nothing at all where a stream just ends.
"""

from __future__ import annotations

import asyncio
import builtins
import inspect
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypeVar

from orbiter.models.model_errors import (
    CallContext,
    Where,
    read_error_body,
    root_cause,
    type_name,
)
from orbiter.models.timeouts import ModelTimeouts
from orbiter.models.types import ModelError, StreamChunk

T = TypeVar("T")

_AFTER_THE_END = 5.0
"""Seconds that a stream gets to close (and to bring its usage) once the model has said why it stopped."""
_UNREADABLE = (ValueError, AssertionError, AttributeError, TypeError, LookupError, RecursionError)
"""What a piece of a reply raises that is not what the API promises."""


class ChunkReader(Protocol):
    """Turns a provider's events into chunks. One per stream."""

    finished: bool
    """Whether the model has said why it stopped."""

    def read(self, event: Any) -> StreamChunk | None:
        """The chunk in an event, if it has one."""


@dataclass(slots=True, frozen=True)
class SdkCall:
    """How one call is carried out. `sdk` is the vendor's module, for its exception classes."""

    call: CallContext
    deadlines: ModelTimeouts
    sdk: Any

    async def complete(self, request: Callable[[], Awaitable[T]], read: Callable[[T], Any]) -> Any:
        """A reply asked for whole, within the total deadline; `read` makes of it what is returned."""
        try:
            async with asyncio.timeout(self.deadlines.total) as limit:
                reply = await request()
            if isinstance(reply, str):
                raise self.call.invalid_reply_error("The answer is not JSON", headers={}, body=reply)
            return read(reply)
        except Exception as exc:
            if isinstance(exc, builtins.TimeoutError) and limit.expired():
                raise self.call.timeout_error("complete reply", self.deadlines.total, where="response") from exc
            raise self.failure(exc, "response") from exc

    async def stream(
        self, request: Callable[[], Awaitable[Any]], reader: ChunkReader
    ) -> AsyncGenerator[StreamChunk, None]:
        """A reply in pieces. Ends after a stop reason, or raises."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self.deadlines.first_token
        opened: Any = None
        headers: Mapping[str, str] = {}
        got = 0
        began = False
        try:
            while True:
                chunk: StreamChunk | None = None
                try:
                    async with asyncio.timeout_at(due) as limit:
                        if opened is None:
                            opened = await request()
                            headers = opened.response.headers
                            await self._require_event_stream(opened.response)
                            events = aiter(opened)
                        event = await anext(events)
                    chunk = reader.read(event)
                except StopAsyncIteration:
                    break
                except Exception as exc:
                    if isinstance(exc, builtins.TimeoutError) and limit.expired():
                        if reader.finished:
                            break
                        raise self._silence(began, headers) from exc
                    raise self.failure(exc, "response" if opened is None else "stream", headers) from exc
                if chunk is None:
                    continue
                if reader.finished:
                    due = loop.time() + _AFTER_THE_END
                elif chunk.delta or chunk.tool_call_deltas or chunk.reasoning_content:
                    began = True
                    got += len(chunk.delta)
                    due = loop.time() + self.deadlines.silence
                yield chunk
        finally:
            if opened is not None:
                await opened.close()
        if not reader.finished:
            raise self.call.truncated_error(headers=headers, got=got)

    def _silence(self, began: bool, headers: Mapping[str, str]) -> ModelError:
        if began:
            return self.call.timeout_error("content", self.deadlines.silence, where="stream", headers=headers)
        return self.call.timeout_error("first token", self.deadlines.first_token, where="first_token", headers=headers)

    async def _require_event_stream(self, response: Any) -> None:
        """Refuse an answer that is not an event stream. Some servers send streams without a content type: those may."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in {"", "text/event-stream"} or not (kind == "application/json" or kind.startswith("text/html")):
            return
        body = (await response.aread()).decode("utf-8", "replace")
        said = read_error_body(body)
        if kind == "application/json" and (said.type or said.code) and '"error"' in body:
            raise self.call.http_error(response.status_code, response.headers, body)
        raise self.call.invalid_reply_error(
            "The answer is not an event stream", status=response.status_code, headers=response.headers, body=body
        )

    def failure(self, exc: Exception, where: Where, headers: Mapping[str, str] | None = None) -> ModelError:
        """What an SDK, or the network library below it, raised, as a `ModelError`. `where`: how far the call was."""
        import httpx2

        sdk = self.sdk
        if isinstance(exc, ModelError):
            return exc
        if isinstance(exc, sdk.APIStatusError):
            inside = where == "stream"
            return self.call.http_error(
                200 if inside else exc.status_code,
                exc.response.headers,
                _json(exc.body) if inside else _body_of(exc),
                where=where,
                request_id=exc.request_id or "",
            )
        if isinstance(exc, sdk.APITimeoutError | httpx2.TimeoutException):
            return self._network_timeout(exc, where, headers)
        if isinstance(exc, sdk.APIConnectionError | httpx2.HTTPError | OSError):
            root = root_cause(exc)
            unmade = isinstance(root, httpx2.ConnectError | httpx2.UnsupportedProtocol)
            return self.call.connection_error(exc, where="connect" if unmade else where, headers=headers)
        if isinstance(exc, sdk.APIResponseValidationError):
            return self.call.invalid_reply_error(
                f"The answer is not a valid reply of this API: {exc}",
                headers=exc.response.headers,
                body=_json(exc.body),
            )
        if isinstance(exc, sdk.APIError):
            # An error event inside a stream that was opened with 200; `body` is the inner error.
            body = _json({"error": exc.body} if isinstance(exc.body, dict) else {"error": {"message": str(exc)}})
            return self.call.http_error(200, headers or {}, body, where="stream")
        unreadable = isinstance(exc, _UNREADABLE)
        what = "A piece of the reply cannot be read" if unreadable else "The call failed"
        return self.call.build_error(
            f"{what}: {type_name(exc)}: {exc}",
            code="bad_response" if unreadable else "",
            type=type_name(exc),
            headers=headers,
            body=getattr(exc, "doc", ""),
            where=where,
        )

    def _network_timeout(self, exc: Exception, where: Where, headers: Mapping[str, str] | None) -> ModelError:
        import httpx2

        root = root_cause(exc)
        if isinstance(root, httpx2.ConnectTimeout):
            return self.call.timeout_error("connection", self.deadlines.connect, where="connect")
        return self.call.timeout_error("data", self.deadlines.silence, where=where, headers=headers)


def _json(body: object) -> str:
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=str)


def _body_of(exc: Any) -> str:
    """The raw text of an error response; the SDK has read it, unless the error came from inside a stream."""
    try:
        text: str = exc.response.text
    except Exception:  # httpx2 raises ResponseNotRead here, the legacy library a class of its own
        return _json(exc.body)
    return text


@cache
def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def supported_keywords(create: Callable[..., Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """A request's fields as keywords of an SDK's method; those that this version of it does not know go into the body.

    SDKs drop parameters (Anthropic's of `temperature`) that models still take, and know none of other endpoints'.
    """
    known = _parameters(getattr(create, "__func__", create))
    direct = {name: value for name, value in request.items() if name in known}
    rest = {name: value for name, value in request.items() if name not in known}
    if rest:
        direct["extra_body"] = {**rest, **(direct.get("extra_body") or {})}
    return direct
