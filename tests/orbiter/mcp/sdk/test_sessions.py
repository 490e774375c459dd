"""Connections and calls, over both transports and in both eras of the protocol, with the SDK's own server."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
from pathlib import Path
from typing import Any, Self

import pytest
from mcp import Client, MCPError
from mcp_types import METHOD_NOT_FOUND, ElicitResult

from orbiter.mcp.approvals import ApprovalFile
from orbiter.mcp.call import ServerCall, call_tool
from orbiter.mcp.connection import connected
from orbiter.mcp.failures import QuestionRefused, ServerLost, ServerUnreachable
from orbiter.mcp.listing import ListingRequest, list_tools
from orbiter.mcp.sdk import session as sessions
from orbiter.mcp.table import ServerNotApproved, ServerTable
from tests.mcp_server import SERVER, PeerServer, serve_http

STDIO = {"command": sys.executable, "args": [str(SERVER)]}


class Legacy(Client):
    """The SDK's client with the handshake of before 2026-07-28."""

    def __post_init__(self) -> None:
        self.mode = "legacy"
        super().__post_init__()


def table(root: Path, server: dict[str, Any], *, approve: bool = True) -> ServerTable:
    (root / ".mcp.json").write_text(json.dumps({"mcpServers": {"ref": server}}))
    made = ServerTable(str(root), ApprovalFile(root / "own" / "approvals.json"))
    if approve:
        made.approvals.approve(made.workspace, made.server("ref"))
    return made


async def ann(params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ann"})


def text(result: Any) -> str:
    return str(result.content[0].text)


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_a_call_over_each_transport_in_each_era(
    tmp_path: Path,
    mcp_peer: PeerServer,
    *,
    way: str,
    era: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "orbiter.mcp")
    if era == "legacy":
        monkeypatch.setattr(sessions, "Client", Legacy)
    servers = table(tmp_path, {"type": "http", "url": mcp_peer.url()} if way == "http" else STDIO)
    async with connected(servers, "ref", "") as session:
        assert session.legacy == (era == "legacy")
        assert set(await session.tools()) >= {"read", "write", "greet_now"}
        assert text(await session.call("read", {"path": "x"}, ask=ann)) == "content of x"
        if era == "legacy":
            assert text(await session.call("greet_now", {"title": "king"}, ask=ann)) == "hello king Ann"
        async with connected(servers, "ref", "") as again:
            assert again is session, "one connection for each server"
    while way == "stdio" and "MCP server ref: reading x [31mred" not in caplog.text:  # noqa: ASYNC110 - of a thread
        await asyncio.sleep(0.01)


class Newest(Client):
    """The SDK's client, whose server has no handshake of before 2026-07-28."""

    async def __aenter__(self) -> Self:
        if self.mode == "legacy":
            raise MCPError(METHOD_NOT_FOUND, "Method not found")
        await super().__aenter__()
        return self


async def greet_now(servers: ServerTable, *, idempotent: bool = False) -> Any:
    tool = next(each for each in (await list_tools(ListingRequest(servers, "ref"))).tools if each.name == "greet_now")
    call = ServerCall(servers, "ref", tool, "ref_greet_now", "c", {"title": "king"}, idempotent=idempotent)
    return await call_tool(call)


@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_only_what_asks_during_a_call_is_called_in_an_earlier_protocol(
    tmp_path: Path, mcp_peer: PeerServer, way: str
) -> None:
    """Over HTTP that is the tool, of a program it is every tool: they share its state."""
    servers = table(tmp_path, {"type": "http", "url": mcp_peer.url()} if way == "http" else STDIO)
    with pytest.raises(QuestionRefused, match="greet_now of 'ref' asked during the call"):
        await greet_now(servers)
    for tool in ("greet_now", "read"):
        async with connected(servers, "ref", "", tool) as session:
            assert session.legacy == (way == "stdio" or tool == "greet_now"), tool
    servers.approvals.withdraw(servers.workspace, "ref")
    servers.approvals.approve(servers.workspace, servers.server("ref"))
    async with connected(servers, "ref", "", "greet_now") as session:
        assert not session.legacy, "it is forgotten with the approval"


@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_a_server_that_asks_and_has_no_earlier_protocol_is_used_as_before(
    tmp_path: Path, mcp_peer: PeerServer, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(sessions, "Client", Newest)
    servers = table(tmp_path, {"type": "http", "url": mcp_peer.url()} if way == "http" else STDIO)
    with pytest.raises(QuestionRefused, match=r"greet_now of 'ref' asked .* cannot be used: .*Method not found"):
        await greet_now(servers)
    found = await greet_now(servers, idempotent=True)
    assert found.error is not None, "it may be called again: the model is told"
    assert found.error.startswith("ref refused the call: Cannot send 'elicitation/create'")
    async with connected(servers, "ref", "", "greet_now") as session:
        assert text(await session.call("read", {"path": "x"}, ask=ann)) == "content of x"


async def test_a_call_that_asked_is_in_doubt_also_where_that_cannot_be_remembered(
    tmp_path: Path, mcp_peer: PeerServer
) -> None:
    servers = table(tmp_path, {"type": "http", "url": mcp_peer.url()})
    await list_tools(ListingRequest(servers, "ref"))  # they are remembered while that is possible
    lock = tmp_path / "own" / "approvals.lock"
    lock.unlink()
    lock.mkdir()  # it cannot be opened, and the file beside it not be written
    with pytest.raises(QuestionRefused, match=r"cannot be used: .*approvals\.json\) cannot be written"):
        await greet_now(servers)


async def test_a_server_that_was_away_is_connected_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    servers = table(tmp_path, {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"})
    with pytest.raises(ServerUnreachable):
        async with connected(servers, "ref", ""):
            pass
    with serve_http(port):
        async with connected(servers, "ref", "") as session:
            assert text(await session.call("read", {"path": "x"}, ask=ann)) == "content of x"
    with pytest.raises((ServerUnreachable, ServerLost)):
        async with connected(servers, "ref", "") as session:
            await session.call("read", {"path": "x"}, ask=ann)


async def test_no_key_is_sent_to_an_address_that_is_not_approved(tmp_path: Path) -> None:
    asked: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(100))
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        server = {"type": "http", "url": f"http://127.0.0.1:{port}/mcp", "headers": {"Authorization": "${HOME}"}}
        with pytest.raises(ServerNotApproved, match="mcp-approve ref"):
            async with connected(table(tmp_path, server, approve=False), "ref", ""):
                pass
    assert asked == []
