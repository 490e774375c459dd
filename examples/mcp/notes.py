"""An agent with the tools of an MCP server: it adds a note, and the server asks a person for the page.

    cd examples/mcp
    orbiter-console mcp-approve notes
    orbiter-console run notes.py:writer "Tea is out"

It runs without a key, on the scripted model below. Three things are asked, each an incident that waits for as long as
it takes: whether the server may be started (unless it was approved before), whether the tool may be called, the page.
At a terminal `run` asks you itself. Elsewhere it ends where it waits, with exit code 3; `incidents` shows what it asks:

    orbiter-console answer i-7kq2 grant --for run
    orbiter-console run notes.py:writer "Tea is out" --resume
    orbiter-console answer i-9fd3 input --value '{"page": 3}'
    orbiter-console run notes.py:writer "Tea is out" --resume

The server is started with `python3`, which needs the extra `mcp`; set NOTES_PYTHON where another Python has it.
"""

from __future__ import annotations

from orbiter import Agent
from orbiter.mcp import mcp_tools
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply

script("notes/writer", [Reply(calls=[Call("notes_add_note", {"text": "Tea is out"})]), "The note is ${result}."])

writer = Agent(
    name="writer",
    model="scripted:notes/writer",
    instructions="Keep the notes.",
    tools=mcp_tools("notes", only=["add_note", "read_notes"]),
)
