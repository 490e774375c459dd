"""Calls over HTTP that fail on the way, and sessions that a server has forgotten."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from orbiter.mcp.connection import connected
from orbiter.mcp.failures import ServerLost, ServerUnreachable
from orbiter.mcp.sdk.http_transport import failed_call
from orbiter.mcp.sdk.program import open_program
from orbiter.mcp.sdk.watch import Watch
from tests.orbiter.mcp.sdk.test_limits import connect, table
from tests.orbiter.mcp.sdk.test_sessions import ann, text

TOOL = {"name": "read", "inputSchema": {"type": "object"}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "raw", "version": "1"}}


@dataclass
class Raw:
    """A server of the version 2025-11-25, by hand. `status`: with which it answers calls; `lost`: how it says that it
    does not know a session.
    """

    url: str = ""
    status: int = 200
    body: bytes = b"upstream"
    lost: tuple[int, str] = (404, "Session not found")
    session: int = 1
    calls: list[str] = field(default_factory=list)

    def answer(self, method: str, headers: dict[str, str], message: dict[str, Any]) -> tuple[int, bytes, str]:
        """The status, the body, and the session that it gives."""
        if method != "POST":
            return 405, b"", ""
        asked, given = message.get("method"), headers.get("mcp-session-id")
        if asked == "server/discover":
            return 400, b"no", ""
        if asked == "initialize":
            return 200, self.result(message, HELLO), str(self.session)
        if given != str(self.session):
            return self.lost[0], self.lost[1].encode(), ""
        if asked == "tools/list":
            return 200, self.result(message, {"tools": [TOOL]}), ""
        if asked == "tools/call":
            self.calls.append(given)
            done = self.result(message, {"content": [{"type": "text", "text": "done"}]})
            return self.status, done if self.status == 200 else self.body, ""
        return 202, b"", ""

    @staticmethod
    def result(message: dict[str, Any], result: dict[str, Any]) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        said = await reader.readexactly(int(headers.get("content-length", "0")))
        status, body, session = self.answer(head[0].split()[0], headers, json.loads(said or b"{}"))
        kind = "application/json" if body[:1] == b"{" else "text/plain"
        given = f"mcp-session-id: {session}\r\n" if session else ""
        more = f"content-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n{given}"
        writer.write(f"HTTP/1.1 {status} X\r\n{more}\r\n".encode() + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def raw_server() -> AsyncIterator[Raw]:
    raw = Raw()
    async with await asyncio.start_server(raw.serve, "127.0.0.1", 0) as listening:
        raw.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
        yield raw


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (429, ServerUnreachable, "did not take the call: HTTP status 429"),
        (503, ServerUnreachable, "did not take the call: HTTP status 503"),
        (500, ServerLost, "answered 'read' with HTTP status 500 .*: whether it was carried out is not known"),
        (504, ServerLost, "HTTP status 504"),
        (413, MCPError, "HTTP status 413"),
    ],
)
async def test_what_became_of_a_call_is_known_by_its_status(
    tmp_path: Path, status: int, error: type[Exception], said: str
) -> None:
    """A gateway that gives up says nothing of the protocol: the model must not be told that the tool refused."""
    async with raw_server() as raw, connected(table(tmp_path, {"url": raw.url}), "ref", "") as session:
        await session.tools()
        raw.status = status
        with pytest.raises(error, match=said):
            await session.call("read", {}, ask=ann)
        raw.status = 200
        assert text(await session.call("read", {}, ask=ann)) == "done", "the session goes on"


async def test_an_error_in_the_servers_own_words_is_its_answer(tmp_path: Path) -> None:
    async with raw_server() as raw, connected(table(tmp_path, {"url": raw.url}), "ref", "") as session:
        await session.tools()
        error = {"code": -32603, "message": "no such page", "data": {"orbiter": "not_sent"}}
        raw.status, raw.body = 500, json.dumps({"jsonrpc": "2.0", "id": 9, "error": error}).encode()
        with pytest.raises(MCPError, match="no such page") as caught:
            await session.call("read", {}, ask=ann)
        assert failed_call(caught.value) is None


@pytest.mark.parametrize("lost", [(404, "Session not found"), (400, "Bad Request: No valid session ID provided")])
@pytest.mark.parametrize("first", ["tools/list", "tools/call"])
async def test_a_session_that_the_server_forgot_is_begun_again(
    tmp_path: Path, first: str, lost: tuple[int, str]
) -> None:
    """A server of before 2026-07-28 that was restarted knows no session of before."""
    async with raw_server() as raw:
        servers = table(tmp_path, {"url": raw.url})
        async with connected(servers, "ref", "") as session:
            await session.tools()
            raw.session, raw.lost = 2, lost
            with pytest.raises(ServerUnreachable):
                await (session.tools(fresh_s=0.0) if first == "tools/list" else session.call("read", {}, ask=ann))
        async with connected(servers, "ref", "") as session:
            assert text(await session.call("read", {}, ask=ann)) == "done"
        assert raw.calls == ["2"]


async def test_a_call_that_reached_no_server_was_not_sent(tmp_path: Path) -> None:
    async with raw_server() as raw:
        servers = table(tmp_path, {"url": raw.url})
        async with connected(servers, "ref", "") as session:
            await session.tools()
    with pytest.raises(ServerUnreachable, match="did not take the call: ConnectError"):
        await session.call("read", {}, ask=ann)


async def test_an_address_of_something_else_is_said_with_its_status(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/sse"
        with pytest.raises(ServerUnreachable, match=r"HTTP status 405 \(Method Not Allowed\).*often ends with /mcp"):
            await connect(table(tmp_path, {"url": url}))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo 'no module \x1b[31mfoo' >&2; exit 4", r"exit code 4; it wrote last: no module \[31mfoo$"),
        ("kill -SEGV $$", "the program was ended by SIGSEGV"),
    ],
)
async def test_a_program_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(ServerUnreachable, match=f"'ref' cannot be reached: .*{said}"):
        await connect(table(tmp_path, {"command": "sh", "args": ["-c", line]}))


async def test_a_program_that_says_nothing_is_given_up_after_the_time_of_its_own(tmp_path: Path) -> None:
    silent = replace(
        table(tmp_path, {"command": "sh", "args": ["-c", "cat > /dev/null"]}),
        declared={"ref": {"connect_timeout_s": 0.1}},
    )
    with pytest.raises(ServerUnreachable, match=r"within 0\.1 s \(connect_timeout_s in \[mcp\.servers\.ref\]\)"):
        await connect(silent)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("turns", range(1, 6))
async def test_a_program_that_is_given_up_as_it_starts_is_ended(tmp_path: Path, turns: int) -> None:
    """asyncio itself waits for ever where a start is cancelled in its first turns (python/cpython#103847)."""
    server = table(tmp_path, {"command": "sh", "args": ["-c", "cat > /dev/null"]}).server("ref")
    with (tmp_path / "stderr").open("w") as errlog:
        opening = open_program(server, str(tmp_path), errlog, Watch())
        entering = asyncio.ensure_future(opening.__aenter__())
        for _ in range(turns):
            await asyncio.sleep(0)
        assert entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering


async def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServerUnreachable, match="the program 'nosuch' was not found: install it"):
        await connect(table(tmp_path, {"command": "nosuch"}))
