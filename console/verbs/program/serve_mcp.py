"""`mcp`: this workspace's runtime, or one on another machine, as an MCP server on standard streams."""

from __future__ import annotations

import os

import click

from console.open import make_client
from console.verbs.base import BadInput, verb
from console.verbs.program.hosts import host_transports
from console.workspace import workspace
from runtime.config.loader import load_configuration
from runtime.link.transports.ssh_host import InvalidHost
from runtime.link.transports.transport import Transport, UnixTransport, local_transport
from screens.render.sanitize import sanitize_line
from screens.shell import streams


@verb(json=False)
@click.option("--viewer", is_flag=True, help="Look only, without acts.")
@click.option("--host", metavar="HOST", help="[user@]host[:path], or a name in orbiter.toml.")
@click.option("--directory", metavar="DIR", help="The workspace, where the client starts this elsewhere.")
async def mcp(*, viewer: bool, host: str | None, directory: str | None) -> int:
    """Run an MCP server on stdin and stdout, so that agents can ask about runs and incidents.

    It opens no port. An agent may look, and propose answers; what else it may do is set in your own orbiter.toml. For
    example: claude mcp add orbiter -- orbiter-console mcp
    """
    try:
        from console.mcp.runtime_access import RuntimeAccess
        from console.mcp.server import RuntimeServer
    except ModuleNotFoundError as exc:
        if exc.name not in ("mcp", "mcp_types"):
            raise
        raise BadInput("this needs an extra: pip install 'orbiter-console[mcp]'") from exc
    if streams.stdin().isatty():
        raise BadInput("an MCP client starts this program: claude mcp add orbiter -- orbiter-console mcp")
    if directory is not None:
        _enter(directory)
    client = make_client(_transport(host, viewer=viewer))
    access = RuntimeAccess(client, remote=host is not None, state_dir=workspace().state if host is None else None)
    await RuntimeServer(access, viewer=viewer).serve()
    return 0


def _enter(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as exc:
        raise BadInput(
            f"--directory {sanitize_line(directory, limit=200)} cannot be used: {exc.strerror or exc}; give the"
            " directory of a workspace, for example --directory ~/project"
        ) from exc


def _transport(host: str | None, *, viewer: bool) -> Transport:
    place = workspace()
    if host is None:
        if viewer:
            return UnixTransport(place.state, role="viewer")
        return local_transport(place.state, workspace=place.root)
    try:
        ((way, _),) = host_transports([host], load_configuration(place.root), viewer=viewer).values()
    except InvalidHost as exc:
        raise BadInput(str(exc)) from exc
    return way
