"""The MCP servers of the workspace: which are approved, which answer, and which want a login."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from console.checks.finding import CheckContext, Finding
from orbiter.errors import ConfigurationError
from orbiter.mcp.connection import connected
from orbiter.mcp.failures import LoginNeeded
from orbiter.mcp.table import ServerTable
from runtime.config.loader import load_configuration


def check_mcp_servers(world: CheckContext) -> Iterator[Finding]:
    """Each server by itself. One that is not approved is not started; the others are asked for their tools."""
    try:
        table = load_configuration(world.place.root, world.environment).mcp_servers
        servers = table.servers()
    except ConfigurationError as exc:
        yield Finding("mcp", "fail", str(exc), "correct the file")
        return
    for key, server in servers.items():
        name = f"mcp {key}"
        if isinstance(server, ConfigurationError):
            yield Finding(name, "warn", str(server), "correct it, if an agent here is to use it")
            continue
        try:
            if not table.is_approved(server):
                advice = f"orbiter-console mcp-approve {server.name}, if you trust it"
                yield Finding(name, "warn", f"{server.source}: not approved, so it is not started", advice)
                continue
            count = asyncio.run(_count_tools(table, server.name))
        except LoginNeeded as exc:
            yield Finding(name, "warn", str(exc), f"orbiter-console mcp-login {server.name}")
        except ConfigurationError as exc:
            yield Finding(name, "fail", str(exc), "correct what it names")
        except (OSError, TimeoutError) as exc:
            yield Finding(name, "fail", str(exc), "see whether its command or its address is right")
        else:
            yield Finding(name, "ok", f"answers, with {count} tools")


async def _count_tools(table: ServerTable, name: str) -> int:
    async with connected(table, name, "") as session:
        return len(await session.tools())
