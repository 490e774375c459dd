"""A workspace with a run that waits, its runtime in this process, and the SDK's own client at our server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import mcp_types as types
from mcp import Client

from console.mcp.runtime_access import RuntimeAccess
from console.mcp.server import RuntimeServer
from runtime.config.loader import load_configuration
from runtime.link.client.client import LinkClient
from runtime.service.embedded import EmbeddedRuntime
from tests.console.program import SWARM, Program

Mode = Literal["auto", "legacy"]


class Scene(NamedTuple):
    """A workspace, and what waits in it."""

    program: Program
    run: str
    incident: str

    @property
    def root(self) -> Path:
        return self.program.directory


def parked_scene(root: Path) -> Scene:
    """A run that waits for leave to write a file."""
    (root / "keeper.py").write_text(SWARM)
    program = Program(root)
    assert program("run", "keeper.py:swarm", "tea").returncode == 3
    (incident,) = program.json("incidents")
    return Scene(program, incident["run_id"], incident["id"])


@asynccontextmanager
async def runtime_at(scene: Scene) -> AsyncIterator[EmbeddedRuntime]:
    """A runtime that shows the workspace, and drives nothing."""
    config = load_configuration(scene.root).execution_config()
    with EmbeddedRuntime(scene.root / ".orbiter", config, listening=False, driving=False) as runtime:
        yield runtime


@asynccontextmanager
async def client_of(
    runtime: EmbeddedRuntime, *, viewer: bool = False, mode: Mode = "auto", **options: Any
) -> AsyncIterator[Client]:
    """The SDK's client, connected to a server of ours. It says that it is Claude Code."""
    access = RuntimeAccess(LinkClient(runtime.transport(), hold=False))
    options.setdefault("client_info", types.Implementation(name="claude-code", title="Claude Code", version="2.1"))
    served = RuntimeServer(access, viewer=viewer)
    try:
        async with served.telling_changes(), Client(served.server, mode=mode, **options) as client:
            await client.list_resources()  # from now on it is told what changes
            await access.client.wait_until(lambda: access.client.ready)
            yield client
    finally:
        await access.close()


def text_of(result: types.CallToolResult) -> str:
    """The only text of a result."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def called(client: Client, tool: str, **arguments: Any) -> Any:
    """The JSON of a call that succeeds."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return json.loads(text_of(result))


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The words of a call that does not."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)
