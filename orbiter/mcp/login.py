"""A login at a server, with a person: the one thing of OAuth that no run does by itself."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

from orbiter.mcp.connection import load_sdk
from orbiter.mcp.definition import InvalidServer
from orbiter.mcp.failures import LoginNeeded, PastedAddressError, ServerUnreachable, leaf_error, said_by
from orbiter.mcp.table import ServerTable


async def log_in(
    table: ServerTable, name: str, show: Callable[[str], Awaitable[None]], paste: Callable[[], Awaitable[str]]
) -> bool:
    """Log in at a server and keep its tokens; whether it wanted a login at all.

    Args:
        table: The servers of the workspace.
        name: The server.
        show: Is given the address that the person opens.
        paste: Gives the address to which the browser was sent.

    Raises:
        ServerNotApproved: The server may not be used: nothing was sent.
        InvalidServer: It is a program, or its definition cannot be used.
        ServerUnreachable: It cannot be reached, or refuses the login.
        PastedAddressError: What was pasted is not the address.
        ExtraMissing: The SDK is not installed.
    """
    server = table.approved(name).expanded(os.environ)
    if not server.url or table.tokens is None:
        raise InvalidServer(f"the MCP server {name!r} is a program: only servers with a 'url' have logins")
    sessions, logins = load_sdk()
    kept = logins.login_of(server, table.tokens) if not server.is_login_by_person else None
    auth = kept or logins.interactive_login(server, table.tokens, show, paste)
    try:
        async with sessions.open_session(server, table.workspace, auth) as session:
            await session.tools()
    except Exception as exc:
        leaf = leaf_error(exc)
        if isinstance(leaf, PastedAddressError | LoginNeeded):
            raise leaf from exc
        said = str(leaf) if isinstance(leaf, ServerUnreachable) else said_by(leaf)
        raise ServerUnreachable(f"the login at the MCP server {name!r} failed: {said}") from exc
    return bool(table.tokens.read(server.login_key).get("tokens"))
