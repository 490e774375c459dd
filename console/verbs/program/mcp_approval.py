"""`mcp-approve` and `mcp-login`: which MCP servers of the workspace may be started, and logins at them."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys

import click

from console.exit_codes import FAILED
from console.output import print_json, print_line, print_note
from console.verbs.base import BadInput, verb
from console.workspace import workspace
from orbiter.mcp.definition import Server
from orbiter.mcp.failures import LoginNeeded, PastedAddressError, ServerUnreachable
from orbiter.mcp.login import log_in
from orbiter.mcp.table import ServerTable
from runtime.config.loader import load_configuration


@verb()
@click.argument("name", required=False)
@click.option("--withdraw", is_flag=True, help="Revoke the approvals of the server and of its tools.")
async def mcp_approve(name: str | None, *, withdraw: bool, as_json: bool) -> int:
    """Approve an MCP server of this workspace, so that it may be started; without NAME, list them.

    Its command, arguments, address, headers and variables are shown and approved as they are now; after a change you
    must approve again. Approvals are kept in a file of your own, not in the workspace. For example: orbiter-console
    mcp-approve files
    """
    table = load_configuration(workspace().root).mcp_servers
    if name is None:
        if withdraw:
            raise BadInput("say which server: orbiter-console mcp-approve NAME --withdraw")
        servers = await asyncio.to_thread(table.servers)
        if not servers:
            print_note("no MCP server is described: put one into .mcp.json, or into orbiter.toml as [mcp.servers.NAME]")
        for key, each in servers.items():
            if isinstance(each, Server):
                _print_server(each, _state(table, each), as_json=as_json)
            else:
                _print_invalid(key, str(each), as_json=as_json)
        return 0
    if withdraw:
        if not await asyncio.to_thread(table.approvals.withdraw, table.workspace, name):
            raise BadInput(f"the MCP server {name!r} was not approved here: 'orbiter-console mcp-approve' lists them")
        print_json({"server": name, "state": "withdrawn"}) if as_json else print_line(
            f"{name} is not approved any more"
        )
        return 0
    server = table.server(name)
    if not table.is_trusted(server):
        await asyncio.to_thread(table.approvals.approve, table.workspace, server)
    _print_server(server, _state(table, server), as_json=as_json)
    if missing := server.missing(os.environ):
        print_note(f"not set here: {', '.join(missing)}; the runtime needs them, for example from an env_file")
    return 0


@verb()
@click.argument("name")
@click.option("--forget", is_flag=True, help="Forget the login instead.")
async def mcp_login(name: str, *, forget: bool, as_json: bool) -> int:
    """Log in to an MCP server over HTTP that requires a login (OAuth).

    An address is printed: open it in a browser, on any machine, and log in. The browser is then sent to an address of
    localhost that shows no page: copy that address from the browser and paste it here. Tokens are kept in a file of
    your own (mode 0600) and refreshed by runs. For example: orbiter-console mcp-login tracker
    """
    table = load_configuration(workspace().root).mcp_servers
    if forget:
        server = table.server(name).expanded(os.environ)
        if table.tokens is None or not await asyncio.to_thread(table.tokens.forget, server.login_key):
            raise BadInput(f"no login is stored for {name!r}; to log in: orbiter-console mcp-login {name}")
        _say_login(name, "the login is forgotten", as_json=as_json)
        return 0
    try:
        wanted = await log_in(table, name, _show_address, _read_address)
    except (ServerUnreachable, LoginNeeded) as exc:
        raise BadInput(str(exc), code=FAILED) from exc
    except PastedAddressError as exc:
        raise BadInput(str(exc)) from exc
    _say_login(name, "logged in" if wanted else "answers without a login", as_json=as_json)
    return 0


def _say_login(name: str, state: str, *, as_json: bool) -> None:
    print_json({"server": name, "state": state}) if as_json else print_line(f"{name}: {state}")


async def _show_address(address: str) -> None:
    print_note(f"open this address and log in:\n{address}\nthen paste the address to which the browser was sent:")


async def _read_address() -> str:
    """The next line of standard input, read on a thread."""
    return await asyncio.to_thread(sys.stdin.readline)


def _state(table: ServerTable, server: Server) -> str:
    if table.is_trusted(server):
        return "yours"
    return "approved" if table.is_approved(server) else "not approved"


def _print_invalid(name: str, said: str, *, as_json: bool) -> None:
    state = "cannot be used"
    if as_json:
        print_json({"server": name, "state": state, "error": said})
    else:
        print_line(f"{name}  {state}: {said}")


def _print_server(server: Server, state: str, *, as_json: bool) -> None:
    shown = server.describe()
    if as_json:
        print_json({**shown, "state": state})
        return
    what = shlex.join(shown["command"]) if server.command else shown["url"]
    print_line(f"{server.name}  {state}  {what}")
    for given, between in ((shown.get("env", {}), "="), (shown.get("headers", {}), ": ")):
        for name, value in given.items():
            print_line(f"  {name}{between}{value}")
    if shown["variables"]:
        print_line(f"  variables: {', '.join(shown['variables'])}")
    print_line(f"  {server.source}")
