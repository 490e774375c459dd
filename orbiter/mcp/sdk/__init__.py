"""What needs the SDK of MCP: loaded when a server is first connected.

`session` is a session with one server, `transport` the way to it, `program` a server that is a program, `oauth` logins.

Imports `orbiter`, `orbiter.mcp`, `orbiter.redaction`, `anyio`, `httpx2`, `mcp`, `mcp_types` and `pydantic`.
"""
