"""A provider on loopback for what a mock library cannot do: RST, half chunks, pings, error events, dates as hints."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

Ending = Literal["end", "cut", "reset", "hang", "ping"]


@dataclass(slots=True)
class Answer:
    """One answer: status, headers, a whole body or pieces of a stream, and how the connection goes on after them.

    `end`: properly. `cut`: closed inside the body. `reset`: RST. `hang`: silence. `ping`: keep-alive pings for ever.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    pieces: Sequence[bytes] = ()
    then: Ending = "end"
    ping: bytes = b": keep-alive\n\n"


@dataclass(slots=True)
class Asked:
    """What a client sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    connection: int


class Loopback:
    """Gives the answers that a test put down, one per request; the last again and again."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[Asked] = []
        self.gone = asyncio.Event()
        """Set when a client closed its side while an answer hung."""
        self.pings = 0
        self._connections = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections += 1
        try:
            await self._serve(reader, writer, self._connections)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            self.gone.set()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            request, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.asked.append(Asked(request.split()[1], headers, json.loads(body or b"{}"), connection))
            answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
            await self._answer(answer, reader, writer)

    async def _answer(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        streaming = bool(answer.pieces) or answer.then != "end"
        kind = "text/event-stream" if streaming else "application/json"
        headers = {"content-type": kind, **answer.headers}
        body = answer.body.encode()
        if streaming:
            headers["transfer-encoding"] = "chunked"
        else:
            headers["content-length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{head}\r\n".encode("latin-1"))
        if not streaming:
            writer.write(body)
            await writer.drain()
            return
        for piece in answer.pieces:
            self._chunk(writer, piece)
        await writer.drain()
        await self._finish(answer, reader, writer)

    @staticmethod
    def _chunk(writer: asyncio.StreamWriter, piece: bytes) -> None:
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    async def _finish(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if answer.then == "end":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return
        if answer.then == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        if answer.then in {"cut", "reset"}:
            raise ConnectionAbortedError
        while answer.then == "ping":
            self.pings += 1
            self._chunk(writer, answer.ping)
            await writer.drain()
            await asyncio.sleep(0.02)
        # hang: until the client gives up.
        if not await reader.read(1):
            raise ConnectionAbortedError


# --- what the two APIs say ----------------------------------------------------------------------------------------


def sse(data: Any, event: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {event}\n" if event else ""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{head}data: {text}\n\n".encode()


class AnthropicSays:
    """Messages in Anthropic's form."""

    name = "anthropic"
    model = "claude-sonnet-4-5"
    path = "/v1/messages"
    ping = sse({"type": "ping"}, "ping")

    @staticmethod
    def base(url: str) -> str:
        return url

    @staticmethod
    def error(kind: str, message: str, code: str | None = None) -> dict[str, Any]:
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_body"}

    def whole(self, text: str, calls: Sequence[tuple[str, str, str]] = (), reason: str | None = "end_turn") -> str:
        content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        content += [{"type": "tool_use", "id": i, "name": n, "input": json.loads(a)} for i, n, a in calls]
        usage = {
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 3,
        }
        return json.dumps(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": content,
                "stop_reason": "tool_use" if calls else reason,
                "stop_sequence": None,
                "usage": usage,
            }
        )

    def opening(self) -> list[bytes]:
        message = json.loads(self.whole("")) | {"stop_reason": None}
        message["usage"]["output_tokens"] = 1
        return [sse({"type": "message_start", "message": message}, "message_start"), self.ping]

    @staticmethod
    def text(text: str) -> list[bytes]:
        start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        return [
            sse(start, "content_block_start"),
            *(
                sse(
                    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}},
                    "content_block_delta",
                )
                for word in (text[: len(text) // 2], text[len(text) // 2 :])
            ),
            sse({"type": "content_block_stop", "index": 0}, "content_block_stop"),
        ]

    @staticmethod
    def calls(calls: Sequence[tuple[str, str, str]]) -> list[bytes]:
        found = []
        for index, (call_id, name, arguments) in enumerate(calls, start=1):
            block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
            start = {"type": "content_block_start", "index": index, "content_block": block}
            found.append(sse(start, "content_block_start"))
            for piece in ("", arguments[:3], arguments[3:]) if arguments != "{}" else ("",):
                delta = {"type": "input_json_delta", "partial_json": piece}
                found.append(
                    sse({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
                )
            found.append(sse({"type": "content_block_stop", "index": index}, "content_block_stop"))
        return found

    @staticmethod
    def closing(reason: str = "end_turn") -> list[bytes]:
        end = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}}
        return [sse(end, "message_delta"), sse({"type": "message_stop"}, "message_stop")]

    def stream(self, text: str, calls: Sequence[tuple[str, str, str]] = ()) -> list[bytes]:
        ending = self.closing("tool_use" if calls else "end_turn")
        return [*self.opening(), *(self.text(text) if text else ()), *self.calls(calls), *ending]

    def failing(self, kind: str, message: str, code: str | None = None) -> bytes:
        return sse(self.error(kind, message), "error")


class OpenAISays:
    """Chat completions in OpenAI's form."""

    name = "openai"
    model = "gpt-4o"
    path = "/v1/chat/completions"
    ping = b": OPENROUTER PROCESSING\n\n"
    usage: Mapping[str, Any] = {
        "prompt_tokens": 20,
        "completion_tokens": 5,
        "total_tokens": 25,
        "prompt_tokens_details": {"cached_tokens": 7},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }

    @staticmethod
    def base(url: str) -> str:
        return f"{url}/v1"

    @staticmethod
    def error(kind: str, message: str, code: str | None = None) -> dict[str, Any]:
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def whole(self, text: str, calls: Sequence[tuple[str, str, str]] = (), reason: str | None = "stop") -> str:
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else reason}
        return json.dumps(
            {
                "id": "chatcmpl_1",
                "object": "chat.completion",
                "created": 1,
                "model": self.model,
                "choices": [choice],
                "usage": dict(self.usage),
            }
        )

    def chunk(self, delta: Mapping[str, Any], reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": dict(delta), "finish_reason": reason}
        data = {"id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1, "model": self.model}
        return sse({**data, "choices": [choice], **more})

    def opening(self) -> list[bytes]:
        return [self.chunk({"role": "assistant", "content": ""}), self.ping]

    def text(self, text: str) -> list[bytes]:
        return [self.chunk({"content": word}) for word in (text[: len(text) // 2], text[len(text) // 2 :])]

    def calls(self, calls: Sequence[tuple[str, str, str]]) -> list[bytes]:
        found = []
        for index, (call_id, name, arguments) in enumerate(calls):
            start = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
            found.append(self.chunk({"tool_calls": [start]}))
            found += [
                self.chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
                for piece in (arguments[:3], arguments[3:])
            ]
        return found

    def closing(self, reason: str = "stop") -> list[bytes]:
        last = sse({"id": "chatcmpl_1", "model": self.model, "choices": [], "usage": dict(self.usage)})
        return [self.chunk({}, reason), last, sse("[DONE]")]

    def stream(self, text: str, calls: Sequence[tuple[str, str, str]] = ()) -> list[bytes]:
        ending = self.closing("tool_calls" if calls else "stop")
        return [*self.opening(), *(self.text(text) if text else ()), *self.calls(calls), *ending]

    def failing(self, kind: str, message: str, code: str | None = None) -> bytes:
        return sse(self.error(kind, message, code))


Says = AnthropicSays | OpenAISays
