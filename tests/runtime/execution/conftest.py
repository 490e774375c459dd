"""An MCP server in a workspace, for tests of its tools."""

from __future__ import annotations

import pytest

from tests.mcp_server import PeerServer
from tests.runtime.bench import Bench
from tests.runtime.execution.mcp_bench import McpBench


@pytest.fixture
def mcp(
    bench: Bench, mcp_peer: PeerServer, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> McpBench:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    mcp_peer.mark()
    return McpBench(bench, home, mcp_peer)
