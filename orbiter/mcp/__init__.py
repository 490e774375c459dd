"""MCP as a client: tools of MCP servers, for our agents.

`mcp_tools` names a server; nothing is started or connected before an agent with its tools runs. `definition` is a
server as a file describes it, `table` all servers of a workspace, `approvals` what the user approved. `connection`
keeps one connection for each server and event loop; `sdk` loads the SDK, at the first connection.
`listing` and `call` are the two steps, `exchange` is a call with the questions that the server asks.

`tokens` is the file in which logins are kept, `login` the one thing of them that a person does.

Imports `orbiter`, `orbiter._internal.tools`, `orbiter.guests`, `orbiter.mcp.sdk`, `orbiter.models`, `orbiter.parsing`,
`orbiter.redaction`, `mcp`, `mcp_types`, `pydantic` and `pydantic_core`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbiter.mcp.tools import mcp_tools

__all__ = ["mcp_tools"]


def __getattr__(name: str) -> Any:
    if name != "mcp_tools":
        raise AttributeError(f"module 'orbiter.mcp' has no attribute {name!r}")
    # When it is first asked for: a configuration reads the table of servers, and needs nothing of what calls them.
    from orbiter.mcp.tools import mcp_tools

    globals()[name] = mcp_tools
    return mcp_tools
