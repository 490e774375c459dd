"""A workspace with an MCP server of its own, for tests of its tools under a runtime."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from orbiter.mcp.table import ServerTable
from runtime.config.loader import load_configuration
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.record.inbox_row import InboxRow
from runtime.record.places import open_journal
from runtime.record.state.durable_run import DurableRun
from tests.mcp_server import SERVER, PeerServer
from tests.runtime.bench import ME, Bench
from tests.runtime.execution.test_waits import Clock

DATA = Path(__file__).parents[2] / "data"
USERS = DATA / "swarms" / "mcp_users.py"
FREE = PermissionPolicy.from_mapping({"allow": ["mcp.call:ref/**"]}, root="/")

T = TypeVar("T")


class McpBench:
    """A bench with a `.mcp.json` in its workspace, and the user's own directories beside it."""

    def __init__(self, bench: Bench, home: Path, peer: PeerServer) -> None:
        self.bench = bench
        self.home = home
        self.peer = peer
        self.seen = bench.root / "seen"
        self.write_server(self.http())

    def write_server(self, ref: dict[str, Any]) -> None:
        (self.bench.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"ref": ref}}))

    def http(self, name: str = "tools") -> dict[str, Any]:
        """The server that runs already."""
        return {"type": "http", "url": self.peer.url(name)}

    def stdio(self) -> dict[str, Any]:
        """One that is started, for what only a program does: it starts, is started again, and dies."""
        environ = {"MCP_TEST_EFFECTS": str(self.seen)}
        return {"command": sys.executable, "args": [str(SERVER)], "env": environ}

    @property
    def effects(self) -> list[str]:
        started = self.seen.read_text().splitlines() if self.seen.exists() else []
        return [*started, *self.peer.effects]

    def approve(self) -> None:
        table = self.table()
        table.approvals.approve(str(self.bench.root), table.server("ref"))

    def table(self) -> ServerTable:
        return load_configuration(self.bench.root).mcp_servers

    def driving(self, **more: Any) -> Any:
        more.setdefault("permissions", FREE)
        return self.bench.driving(mcp=self.table(), **more)

    async def live(self, life: Callable[[Bench], Coroutine[Any, Any, T]], clock: Clock) -> T:
        """A life in a loop of its own: connections, and the programs behind them, end with it."""

        async def begin() -> T:
            async with await open_journal(self.bench.root, clock=clock) as journal:
                return await life(Bench(self.bench.root, journal))

        return await asyncio.to_thread(asyncio.run, begin())

    async def start(self, name: str) -> str:
        return await self.bench.decisions.start(f"{USERS}:{name}", "go", by=ME)

    async def run(self, name: str, **more: Any) -> DurableRun:
        async with self.driving(**more):
            return await self.bench.ended(await self.start(name))


def options(incident: InboxRow) -> list[str]:
    return [option.id for option in incident.opened.options]
