"""An agent of pydantic-ai with the tools of an MCP server, which is a process of its own on standard streams."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

from tests.data.swarms.guests import call, results, scripted

SERVER = Path(__file__).parents[1] / "mcp" / "server.py"
effects = {"MCP_TEST_EFFECTS": os.environ.get("ORBITER_TEST_EFFECTS", os.devnull)}
server = StdioTransport(sys.executable, [str(SERVER)], env={**os.environ, **effects}, keep_alive=False)

clerk = Agent(
    scripted(
        [call("read", "c0", path="a"), call("write", "c1", path="b", text="hello")],
        [call("fail", "c2", how="die")],
        lambda messages: f"the end: {results(messages)}",
    ),
    name="clerk",
    toolsets=[MCPToolset(server, id="files", tool_error_behavior="error", init_timeout=60)],
)
