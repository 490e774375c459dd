"""An MCP server with two tools: it reads notes, and adds one. Which page it is for is asked of a person.

It is started by orbiter-console, as `.mcp.json` says. Any server that speaks MCP can stand there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

NOTES = Path("notes.txt")
PAGE = {"type": "object", "properties": {"page": {"type": "integer", "minimum": 1}}, "required": ["page"]}

server = MCPServer("notes")


@server.tool()
def read_notes() -> str:
    """All notes."""
    return NOTES.read_text() if NOTES.exists() else ""


@server.tool()
async def add_note(ctx: Context, text: str) -> Any:
    """Add a note. A person is asked for its page."""
    answer = (ctx.input_responses or {}).get("page")
    if not isinstance(answer, ElicitResult):
        asked = ElicitRequestFormParams(message=f"On which page shall this stand: {text}?", requested_schema=PAGE)
        return InputRequiredResult(input_requests={"page": ElicitRequest(params=asked)}, request_state="page")
    if answer.action != "accept" or answer.content is None:
        return "not added: the person did not say on which page"
    write_note(f"{answer.content['page']}: {text}\n")
    return f"added on page {answer.content['page']}"


def write_note(line: str) -> None:
    with NOTES.open("a") as file:
        file.write(line)


if __name__ == "__main__":
    server.run("stdio")
