"""The runtime as an MCP server on standard streams, for agents such as Claude Code: a client of the link, with no port.

Loaded by the verb `mcp` alone: it needs the extra `mcp`.

Imports `orbiter`, `runtime.operations.requests`, `runtime.operations`, `runtime.link.client`, `runtime.link.wire`,
`runtime.record.workspace_lock`, `runtime.worker.run_mark`, `screens.render`, `anyio`, `mcp`, `mcp_types`, `msgspec` and
`pydantic`.
"""
