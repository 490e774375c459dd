"""The approval of an MCP server by an answer: written to the user's own file, never to the journal.

A journal lies in the workspace, so nothing that stands there approves a server: an answer that a repository brought
along does nothing. What is approved is the definition that the file has now, if it is the one that was shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from orbiter.errors import ConfigurationError
from runtime.operations.answer_params import InvalidCommand
from runtime.operations.grants import answer_granted
from runtime.record.journal import Journal
from runtime.record.state import events as ev

if TYPE_CHECKING:
    from orbiter.mcp.table import ServerTable


def asks_for_server(opened: ev.IncidentOpened) -> bool:
    """Whether an incident asks for an MCP server."""
    return isinstance(opened.action.get("mcp_server"), Mapping)


async def approve_server(table: ServerTable, opened: ev.IncidentOpened, params: Mapping[str, Any], run_id: str) -> None:
    """Approve the server that an incident asks for: always, or for its run.

    Raises:
        InvalidCommand: The definition is not the one that was shown, or the file cannot be written.
    """
    shown = opened.action["mcp_server"]
    name, run = str(shown.get("server", "")), "" if params.get("for") == "always" else run_id
    try:
        server = await asyncio.to_thread(table.server, name)
        if server.fingerprint != shown.get("hash"):
            raise InvalidCommand(
                f"the MCP server {name!r} has another definition now than incident {opened.incident_id} shows: deny"
                " it and start the run again, or look at the file and run 'orbiter-console mcp-approve'"
            )
        await asyncio.to_thread(table.approvals.approve, table.workspace, server, run)
    except ConfigurationError as exc:
        raise InvalidCommand(str(exc)) from exc


async def answer_waiting_for(journal: Journal, first: ev.IncidentOpened, by: ev.Actor) -> None:
    """A server is approved for always: the other incidents that ask for just that definition are answered, too."""
    shown = first.action["mcp_server"]
    for found in await journal.incidents():
        other = found.opened.action.get("mcp_server")
        if isinstance(other, Mapping) and all(other.get(key) == shown[key] for key in ("server", "hash")):
            await answer_granted(journal, found, {"for": "always"}, f"approved at {first.incident_id}", by)
