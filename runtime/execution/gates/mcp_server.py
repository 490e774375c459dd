"""The gate before an MCP server: a server that the workspace brings along runs only after a person approved it.

An approval stands in the user's own file and nowhere else. Neither the workspace's configuration, nor a grant, nor an
answer in the journal is one: all of these lie in the workspace, and a cloned repository could bring them along.
"""

from __future__ import annotations

import asyncio
import shlex

from msgspec.structs import replace

from orbiter.errors import ConfigurationError
from runtime.execution.failures.incident_drafts import config_fault
from runtime.execution.gates.blocked import Blocked
from runtime.execution.gates.permission import PermissionDenied
from runtime.execution.run_session import RunSession
from runtime.judgement.permissions.permission import Need
from runtime.judgement.recovery.options import SERVER_APPROVAL_RULE_ID
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Origin,
    Persistence,
)

SERVER_VERB = "mcp.server"
"""The verb of the permission that is asked for: ``mcp.server:NAME``."""


class ServerApprovalNeeded(Exception):
    """An MCP server that no person has approved as it is."""


async def check_server(session: RunSession, agent: str, name: str) -> Blocked | None:
    """What is in the way of using the MCP server `name`; None where it may be used.

    Args:
        session: The run's session.
        agent: Who wants to use it.
        name: The server.
    """
    table = session.config.mcp
    if table is None:
        return None  # the call itself says that it is not known
    run_id = session.state.id
    try:
        server = await asyncio.to_thread(table.server, name)
        if await asyncio.to_thread(table.is_approved, server, run_id):
            return None
    except ConfigurationError as exc:
        # Once its file is mended the same may be done again.
        return Blocked(replace(config_fault(exc), recoverable=True), exc)
    need, shown = Need(SERVER_VERB, name), server.describe()
    what = f"start {shlex.join(shown['command'])}" if server.command else f"connect to {shown['url']}"
    if given := [f"{name}={value}" for name, value in shown.get("env", {}).items()]:
        what += f" with {', '.join(given)}"
    if given := [f"{name}: {value}" for name, value in shown.get("headers", {}).items()]:
        what += f" and send {', '.join(given)}"
    text = f"agent '{agent}' needs the MCP server '{name}' of {server.source}, which is not approved: it would {what}"
    if shown["variables"]:
        text += f"; it gets the values of your variables {', '.join(shown['variables'])}"
    error = ServerApprovalNeeded(text)
    fault = Classification(
        origin=Origin.TOOL,
        cause=Cause.PERMISSION_DENIED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        user_message=text,
        suggestions=("Look at the command or the address. Approve it always only if you trust where it comes from.",),
        rule_id=SERVER_APPROVAL_RULE_ID,
    )
    if not session.config.enable_error_routing:
        return Blocked(fault, PermissionDenied(f"Denied: {text}"), refused=True)
    return Blocked(fault, error, need=str(need), action={"mcp_server": shown, "agent": agent})
