"""Logins at MCP servers, against the SDK's own authorization server: another server than the one with the tools."""

from __future__ import annotations

import json
import logging
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from orbiter.mcp.approvals import ApprovalFile
from orbiter.mcp.connection import connected
from orbiter.mcp.definition import InvalidServer, parse_server
from orbiter.mcp.failures import LoginNeeded, PastedAddressError, ServerUnreachable
from orbiter.mcp.login import log_in
from orbiter.mcp.table import ServerNotApproved, ServerTable
from orbiter.mcp.tokens import TokenFile
from orbiter.redaction import held_secrets
from tests.data.mcp.http_server import MACHINE_ID, MACHINE_SECRET, REGISTERED, REGISTERED_SECRET
from tests.mcp_server import PeerServer, visit_address


class World:
    """A user with a token file, and workspaces that know the server."""

    def __init__(self, root: Path, peer: PeerServer) -> None:
        self.root = root
        self.peer = peer
        self.file = root / "own" / "tokens.json"
        self.shown: list[str] = []
        peer.mark()

    def table(self, server: dict[str, Any] | None = None, *, approve: bool = True) -> ServerTable:
        """A workspace of its own, so that its connections are its own, too, as those of another process."""
        workspace = self.root / f"work-{len(list(self.root.iterdir()))}"
        workspace.mkdir()
        found = server or {"type": "http", "url": self.peer.url("login")}
        (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"ref": found}}))
        approvals = ApprovalFile(self.root / "own" / "approvals.json")
        made = ServerTable(str(workspace), approvals, tokens=TokenFile(self.file))
        if approve:
            approvals.approve(made.workspace, made.server("ref"))
        return made

    async def log_in(self, table: ServerTable, pasted: str = "") -> bool:
        async def paste() -> str:
            return pasted or visit_address(self.shown[-1])

        async def show(address: str) -> None:
            self.shown.append(address)

        return await log_in(table, "ref", show, paste)

    def kept(self) -> dict[str, Any]:
        """What the file holds for the only server."""
        (found,) = json.loads(self.file.read_text()).values()
        assert isinstance(found, dict)
        return found

    def expire(self) -> None:
        key = self.peer.url("login")
        TokenFile(self.file).write(key, expires_at=1.0)

    def revoke(self, what: str = "") -> None:
        urllib.request.urlopen(f"{self.peer.origin()}/revoke-all{what}", b"").close()


@pytest.fixture
def world(tmp_path: Path, mcp_peer: PeerServer) -> World:
    (tmp_path / "own").mkdir(mode=0o700)
    return World(tmp_path, mcp_peer)


async def read(table: ServerTable) -> str:
    async def none(params: Any) -> Any:
        raise AssertionError(params)

    async with connected(table, "ref", "") as session:
        result: Any = await session.call("read", {"path": "x"}, ask=none)
        return str(result.content[0].text)


async def test_a_login_by_the_pasted_address_is_kept_and_refreshed(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with pytest.raises(LoginNeeded, match="orbiter-console mcp-login ref"):
        await read(world.table())
    assert await world.log_in(world.table())
    assert world.shown[0].startswith(f"{world.peer.origin()}/authorize?")
    assert world.file.stat().st_mode & 0o777 == 0o600
    first = world.kept()["tokens"]
    table = world.table()
    assert await read(table) == "content of x"

    world.expire()
    assert await read(table) == "content of x", "on the same connection"
    second = world.kept()["tokens"]
    world.expire()
    assert await read(world.table()) == "content of x", "in a process that has not seen the authorization server"
    world.revoke()
    assert await read(table) == "content of x", "another process has refreshed it meanwhile, and then it was revoked"
    third = world.kept()["tokens"]
    assert len({each["access_token"] for each in (first, second, third)}) == 3
    assert [each for each in world.peer.effects if each in ("register", "refresh")] == ["register", *["refresh"] * 3]
    tokens = [each[name] for each in (first, second, third) for name in ("access_token", "refresh_token")]
    assert not any(token in caplog.text for token in tokens)
    assert set(tokens) <= set(held_secrets()), "what repeats them is masked"


async def test_a_login_that_is_over_is_asked_for_again_without_a_new_registration(world: World) -> None:
    table = world.table()
    assert await world.log_in(table)
    assert await read(table) == "content of x"
    world.revoke("?refresh=1")
    with pytest.raises(LoginNeeded, match="mcp-login ref"):
        await read(table)  # in the middle of a connection
    with pytest.raises(LoginNeeded, match="mcp-login ref"):
        await read(world.table())
    assert await world.log_in(world.table())
    assert await read(world.table()) == "content of x"
    assert world.peer.effects.count("register") == 1


async def test_a_server_that_is_not_approved_is_sent_nothing(world: World) -> None:
    assert await world.log_in(world.table())
    world.peer.mark()
    table = world.table(approve=False)
    for attempt in (world.log_in(table), read(table)):
        with pytest.raises(ServerNotApproved):
            await attempt
    assert world.peer.effects == []


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("\n", "the whole address"),
        ("http://localhost:8976/callback?code=abc", "the whole address"),
        ("http://localhost:8976/callback?error=access_denied&error_description=No%1b[2J", r"refused: access_denied No"),
    ],
)
async def test_what_is_pasted_must_be_the_address(world: World, pasted: str, said: str) -> None:
    with pytest.raises(PastedAddressError, match=said) as found:
        await world.log_in(world.table(), pasted)
    assert "\x1b" not in str(found.value)
    assert "tokens" not in world.file.read_text()


async def test_an_answer_to_another_login_is_refused(world: World) -> None:
    with pytest.raises(ServerUnreachable, match="the login at the MCP server 'ref' failed"):
        await world.log_in(world.table(), "http://localhost:8976/callback?code=abc&state=of-another")
    assert "tokens" not in world.file.read_text()


async def test_a_server_without_logins_says_so(world: World) -> None:
    assert not await world.log_in(world.table({"type": "http", "url": world.peer.url()}))
    with pytest.raises(InvalidServer, match="only servers with a 'url' have logins"):
        await world.log_in(world.table({"command": "true"}))


async def test_client_credentials_need_no_person(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REF_SECRET", MACHINE_SECRET)
    server = {
        "type": "http",
        "url": world.peer.url("machine"),
        "client_id": MACHINE_ID,
        "client_secret": "${REF_SECRET}",
        "issuer": f"{world.peer.origin()}/machines",
    }
    table = world.table(server)
    assert await read(table) == "content of x"
    assert await read(world.table(server)) == "content of x"
    assert world.peer.effects.count("machine login") == 1
    assert table.server("ref").variables == ("REF_SECRET",)
    world.revoke()
    assert await read(table) == "content of x"

    other = world.table({**server, "issuer": world.peer.origin()})
    world.revoke()
    with pytest.raises(LoginNeeded, match="refused the login"):
        await read(other)
    wrong = world.table({**server, "client_secret": "a-wrong-secret-of-the-tests"})
    with pytest.raises(LoginNeeded, match="refused the login") as refused:
        await read(wrong)
    assert "a-wrong-secret" not in str(refused.value)
    assert "YS13cm9uZy1" not in str(refused.value), "as the server repeats it"


@pytest.mark.parametrize("client", REGISTERED)
async def test_a_person_logs_in_with_a_client_that_was_registered_by_hand(
    world: World, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    monkeypatch.setenv("REF_SECRET", REGISTERED_SECRET)
    server = {
        "type": "http",
        "url": world.peer.url("login"),
        "grant_type": "authorization_code",
        "client_id": client,
        "client_secret": "${REF_SECRET}" if REGISTERED[client] else "",
        "issuer": world.peer.origin(),
    }
    table = world.table(server)
    with pytest.raises(LoginNeeded, match="orbiter-console mcp-login ref"):
        await read(table)
    assert await world.log_in(table)
    assert f"client_id={client}&" in world.shown[0]
    assert await read(world.table(server)) == "content of x"
    TokenFile(world.file).write(table.server("ref").expanded({"REF_SECRET": "x"}).login_key, expires_at=1.0)
    assert await read(world.table(server)) == "content of x"
    assert [each for each in world.peer.effects if each in ("register", "refresh")] == ["refresh"]
    assert REGISTERED_SECRET not in world.file.read_text()

    other = world.table({**server, "issuer": f"{world.peer.origin()}/machines"})
    for attempt in (read(other), world.log_in(other)):
        with pytest.raises(LoginNeeded, match="another authorization server than"):
            await attempt
    assert len(world.shown) == 1
    if REGISTERED[client]:
        wrong = world.table({**server, "client_secret": "a-wrong-secret-of-the-tests"})
        TokenFile(world.file).forget(wrong.server("ref").login_key)
        with pytest.raises(LoginNeeded, match="refused the login") as refused:
            await world.log_in(wrong)
        assert "a-wrong-secret" not in str(refused.value)


def test_client_credentials_are_complete_and_approved_as_they_stand() -> None:
    whole = {"url": "http://a", "client_id": "b", "client_secret": "${C}", "issuer": "http://d"}
    server = parse_server("ref", whole, ".mcp.json")
    assert {"client_id": "b", "issuer": "http://d"}.items() <= server.describe().items()
    assert "client_secret" not in server.describe()
    prints = {parse_server("ref", {**whole, key: "e"}, "x").fingerprint for key in whole if key != "url"}
    assert len({server.fingerprint, *prints}) == 4
    for missing in ("client_id", "client_secret", "issuer", "url"):
        part = {key: value for key, value in whole.items() if key != missing}
        with pytest.raises(InvalidServer, match='needs "url", "client_id"' if missing != "url" else "either"):
            parse_server("ref", part, ".mcp.json")
    by_person = {**whole, "grant_type": "authorization_code"}
    assert parse_server("ref", by_person, "x").fingerprint != server.fingerprint
    assert parse_server("ref", {**by_person, "client_secret": ""}, "x").is_login_by_person
    with pytest.raises(InvalidServer, match='needs "url", "client_id", "issuer"'):
        parse_server("ref", {**by_person, "issuer": ""}, "x")
    with pytest.raises(InvalidServer, match='must be "client_credentials" or "authorization_code"'):
        parse_server("ref", {**whole, "grant_type": "password"}, "x")
