"""`mcp-login` as a user runs it, and what `doctor` says of servers that want a login."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from console.checks.finding import CheckContext
from console.checks.mcp_servers import check_mcp_servers
from console.workspace import Workspace
from orbiter.mcp.approvals import ApprovalFile
from orbiter.mcp.definition import parse_server
from orbiter.mcp.table import APPROVALS_FILE
from tests.console.program import PROGRAM, environment
from tests.mcp_server import PeerServer, visit_address


def test_a_login_on_the_command_line_and_doctor_before_and_after(
    tmp_path: Path, mcp_peer: PeerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = {
        "open": {"type": "http", "url": mcp_peer.url()},
        "closed": {"type": "http", "url": mcp_peer.url("login")},
        "new": {"command": "true"},
    }
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    homes = {f"XDG_{each}_HOME": str(tmp_path / each) for each in ("STATE", "CONFIG")}
    kept = tmp_path / "STATE" / "orbiter"
    approvals = ApprovalFile(kept / APPROVALS_FILE)
    for name in ("open", "closed"):
        approvals.approve(str(tmp_path), parse_server(name, servers[name], ".mcp.json"))
    for name, value in homes.items():
        monkeypatch.setenv(name, value)

    def findings() -> dict[str, tuple[str, str]]:
        found = check_mcp_servers(CheckContext(dict(os.environ), Workspace(tmp_path, tmp_path / ".orbiter")))
        return {each.id: (each.state, each.advice) for each in found}

    assert findings() == {
        "mcp open": ("ok", ""),
        "mcp closed": ("warn", "orbiter-console mcp-login closed"),
        "mcp new": ("warn", "orbiter-console mcp-approve new, if you trust it"),
    }
    with subprocess.Popen(
        [*PROGRAM, "mcp-login", "closed", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**environment(), **homes},
    ) as process:
        assert process.stderr is not None
        address = next(line.strip() for line in process.stderr if "/authorize?" in line)
        out, err = process.communicate(visit_address(address) + "\n", timeout=50)
    assert process.returncode == 0, err
    assert json.loads(out) == {"server": "closed", "state": "logged in"}
    tokens = json.loads((kept / "mcp-tokens.json").read_text())[mcp_peer.url("login")]["tokens"]
    assert not any(each in out + err for each in (tokens["access_token"], tokens["refresh_token"]))
    assert findings()["mcp closed"] == ("ok", "")
