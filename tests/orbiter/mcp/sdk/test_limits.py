"""Servers that say too much, or do not end: nothing of theirs grows without end here."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from orbiter.mcp.approvals import ApprovalFile
from orbiter.mcp.connection import connected
from orbiter.mcp.failures import ServerUnreachable
from orbiter.mcp.sdk import http_transport, program
from orbiter.mcp.table import ServerTable

FEW = 64 * 1024
PIECES = 1_000


def table(root: Path, server: dict[str, Any]) -> ServerTable:
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": {"ref": server}}))
    made = ServerTable(str(root), ApprovalFile(root / "own" / "approvals.json"))
    made.approvals.approve(made.workspace, made.server("ref"))
    return made


async def connect(servers: ServerTable) -> None:
    async with connected(servers, "ref", ""):
        raise AssertionError("it is connected")


async def test_a_program_that_writes_an_endless_line_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "MAX_MESSAGE_BYTES", FEW)
    monkeypatch.setattr(program, "_END_S", 0.2)
    endless = "trap '' TERM; sleep 1000 & echo $! > child; yes | tr -d '\\n'"
    with pytest.raises(ServerUnreachable, match=f"a message of more than {FEW} bytes"):
        await connect(table(tmp_path, {"command": "sh", "args": ["-c", endless]}))
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 30
    while is_alive(child):
        assert time.monotonic() < deadline, "what it started goes on"
        await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    """A killed process whose parent is gone may stay a while for init to collect."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_address_that_answers_without_end_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(http_transport, "MAX_RESPONSE_BYTES", FEW)
    written: list[int] = []
    async with endless_answers(kind, written) as url:
        with pytest.raises(ServerUnreachable):
            await connect(table(tmp_path, {"type": "http", "url": url}))
    assert written, "it was asked"
    assert max(written) < PIECES, "it was left before it had said all"


@asynccontextmanager
async def endless_answers(kind: str, written: list[int]) -> AsyncIterator[str]:
    """A server that says much more than is read; `written`: how many pieces each client took."""
    ended = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pieces = 0
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\ndata: ".encode())
            while pieces < PIECES:
                writer.write(b"x" * FEW)
                await writer.drain()
                pieces += 1
        written.append(pieces)
        writer.close()
        ended.set()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
        async with asyncio.timeout(30):
            await ended.wait()


PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("params", "headers"),
    [
        ({"_meta": {"traceparent": PARENT, "tracestate": "a=1"}}, {"traceparent": PARENT, "tracestate": "a=1"}),
        ({"_meta": {"traceparent": PARENT, "tracestate": "a=1\r\nx: y"}}, {"traceparent": PARENT}),
        ({"_meta": {"traceparent": f"{PARENT}\r\nx: y"}}, {}),
        ({"_meta": {"traceparent": 1}}, {}),
        ({"arguments": {"traceparent": PARENT}}, {}),
        (None, {}),
    ],
)
def test_only_a_trace_context_of_a_message_becomes_a_header(params: object, headers: dict[str, str]) -> None:
    body = json.dumps({"method": "tools/call", "params": params, "note": {"traceparent": "x"}}).encode()
    assert http_transport.trace_headers(body) == headers
