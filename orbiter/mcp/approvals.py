"""What the user approved: servers that may be started, and tools as they were then. One file of the user's own.

Beside them it has what is known of a server for every process: its tools that ask during a call.

The file lies outside of every workspace (mode 0600), so that a repository cannot bring an approval along; neither can a
journal, which lies in the workspace. A file that others may write, or that cannot be read, approves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orbiter.mcp.definition import Server
from orbiter.mcp.private_file import PrivateFile

_MAX_RUNS = 200
"""Runs whose approval for once is remembered, for each server."""


class ApprovalFile:
    """See the module.

    Args:
        path: The file. It is made when something is first approved.
    """

    def __init__(self, path: Path) -> None:
        self._file = PrivateFile(path, "the approvals of MCP servers")

    def is_approved(self, workspace: str, server: Server, run_id: str = "") -> bool:
        """Whether this very definition may be used, always or by this run.

        Raises:
            UnusableFile: The file cannot be trusted or read.
        """
        found = self._file.load().get("servers", {}).get(_key(workspace, server.name), {})
        known = found.get(server.fingerprint, {}) if isinstance(found, dict) else {}
        return bool(known.get("always")) or (bool(run_id) and run_id in known.get("runs", ()))

    def approve(self, workspace: str, server: Server, run_id: str = "") -> None:
        """Approve a definition: for one run, or always where `run_id` is empty.

        Raises:
            UnusableFile: The file cannot be trusted, read or written.
        """

        def change(data: dict[str, Any]) -> None:
            known = data.setdefault("servers", {}).setdefault(_key(workspace, server.name), {})
            entry = known.setdefault(server.fingerprint, {"runs": [], "server": server.describe()})
            if run_id:
                entry["runs"] = [*(each for each in entry["runs"] if each != run_id), run_id][-_MAX_RUNS:]
            else:
                entry["always"] = True

        self._file.change(change)

    def withdraw(self, workspace: str, name: str) -> bool:
        """Forget every approval of a server and its tools; whether there was one.

        Raises:
            UnusableFile: The file cannot be trusted, read or written.
        """
        had = False

        def change(data: dict[str, Any]) -> None:
            nonlocal had
            for part in ("servers", "tools", "asking_tools"):
                had |= data.get(part, {}).pop(_key(workspace, name), None) is not None

        self._file.change(change)
        return had

    def tools(self, workspace: str, name: str) -> Mapping[str, Any]:
        """The tools of a server as they were when they were last approved, by name, each as `ToolDefinition` has it.

        Raises:
            UnusableFile: The file cannot be trusted or read.
        """
        found = self._file.load().get("tools", {}).get(_key(workspace, name), {})
        return found if isinstance(found, dict) else {}

    def remember_tools(self, workspace: str, name: str, tools: Mapping[str, Any]) -> None:
        """Remember tools as they are now. Those that are not named stay as they were.

        Raises:
            UnusableFile: The file cannot be trusted, read or written.
        """

        def change(data: dict[str, Any]) -> None:
            data.setdefault("tools", {}).setdefault(_key(workspace, name), {}).update(tools)

        self._file.change(change)

    def asking_tools(self, workspace: str, server: Server) -> frozenset[str]:
        """The tools of a server, defined as it is now, whose questions only an earlier protocol can carry.

        Raises:
            UnusableFile: The file cannot be trusted or read.
        """
        found = self._file.load().get("asking_tools", {}).get(_key(workspace, server.name), {})
        return frozenset(found.get(server.fingerprint, ()) if isinstance(found, dict) else ())

    def remember_asking_tool(self, workspace: str, server: Server, tool: str) -> None:
        """Remember that a tool asks during a call. What was known of an earlier definition of the server is dropped.

        Raises:
            UnusableFile: The file cannot be trusted, read or written.
        """

        def change(data: dict[str, Any]) -> None:
            entries, key = data.setdefault("asking_tools", {}), _key(workspace, server.name)
            known = entries.get(key, {}).get(server.fingerprint, ())
            entries[key] = {server.fingerprint: sorted({*known, tool})}

        self._file.change(change)


def _key(workspace: str, name: str) -> str:
    return f"{os.path.realpath(workspace)}#{name}"
