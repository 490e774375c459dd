"""All servers of a workspace: those that are configured, and those of its `.mcp.json`.

What a workspace brings along starts nothing by itself: such a server needs an approval in the user's own file. Those of
the user's own configuration are the user's word already.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orbiter.errors import ConfigurationError
from orbiter.mcp.approvals import ApprovalFile
from orbiter.mcp.definition import InvalidServer, Server, parse_server
from orbiter.mcp.tokens import TokenFile
from orbiter.parsing.near_names import did_you_mean
from orbiter.parsing.nesting import check_json
from orbiter.text_input import UnreadableText, read_text

WORKSPACE_FILE = ".mcp.json"
APPROVALS_FILE = "mcp-approvals.json"
TOKENS_FILE = "mcp-tokens.json"


class UnknownServer(ConfigurationError):
    """A server that no file names; the message says which there are."""


class ServerNotApproved(ConfigurationError):
    """A server that a workspace brings along and that the user has not approved as it is."""

    def __init__(self, server: Server) -> None:
        super().__init__(
            f"the MCP server {server.name!r} of {server.source} is not approved: look at its definition, then run"
            f" 'orbiter-console mcp-approve {server.name}'"
        )
        self.server = server


@dataclass(frozen=True, slots=True)
class ServerTable:
    """See the module.

    Args:
        workspace: The directory in which programs are started.
        approvals: What the user approved.
        configured: Servers of `orbiter.toml`, by name. They go over those of `.mcp.json`.
        trusted: Those of them that stand so in the user's own file, as pairs of name and fingerprint.
        tokens: The user's logins; None: logins are not kept.
        declared: What `orbiter.toml` says of servers that `.mcp.json` describes, by name: the
            time limits and `tools`.
    """

    workspace: str
    approvals: ApprovalFile
    configured: Mapping[str, Server] = field(default_factory=dict)
    trusted: frozenset[tuple[str, str]] = frozenset()
    tokens: TokenFile | None = None
    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def servers(self) -> dict[str, Server | InvalidServer]:
        """Every server by name; for one whose definition cannot be used, what is wrong with it.

        Raises:
            InvalidServer: `.mcp.json` as a whole cannot be read.
        """
        found = read_workspace_file(Path(self.workspace) / WORKSPACE_FILE)
        for name, each in found.items():
            if isinstance(each, Server):
                found[name] = replace(each, **self.declared.get(name, {}))
        return {**found, **self.configured}

    def server(self, name: str) -> Server:
        """A server by its name, as its file describes it now.

        Raises:
            InvalidServer: Its definition, or `.mcp.json` as a whole, cannot be used.
            UnknownServer: No file names it.
        """
        servers = self.configured if name in self.configured else self.servers()
        found = servers.get(name)
        if isinstance(found, InvalidServer):
            raise found
        if found is not None:
            return found
        known = sorted(servers)
        raise UnknownServer(
            f"unknown MCP server {name!r}: {did_you_mean(name, known)}known: {', '.join(known) or 'none'}."
            f" Describe it in {Path(self.workspace) / WORKSPACE_FILE}, or in orbiter.toml as [mcp.servers.{name}]"
        )

    def is_trusted(self, server: Server) -> bool:
        """Whether the definition is the user's own word: it needs no approval."""
        return (server.name, server.fingerprint) in self.trusted

    def is_approved(self, server: Server, run_id: str = "") -> bool:
        """Whether the server may be started, or be sent a key, now.

        Raises:
            UnusableFile: The user's file cannot be used.
        """
        return self.is_trusted(server) or self.approvals.is_approved(self.workspace, server, run_id)

    def approved(self, name: str, run_id: str = "") -> Server:
        """The server, where it may be used.

        Raises:
            InvalidServer: Its definition, or `.mcp.json` as a whole, cannot be used.
            UnknownServer: No file names it.
            ServerNotApproved: It may not be used.
            UnusableFile: The user's file cannot be used.
        """
        found = self.server(name)
        if not self.is_approved(found, run_id):
            raise ServerNotApproved(found)
        return found


def read_workspace_file(path: Path) -> dict[str, Server | InvalidServer]:
    """The servers of a `.mcp.json`; empty where the file does not exist.

    The file is shared with other clients. A server in it that we cannot use has its error in its place: the others
    work all the same.

    Raises:
        InvalidServer: It cannot be read, or is not of the form.
    """
    if not path.is_file():
        return {}
    try:
        text = read_text(path)
        check_json(text)
        data = json.loads(text)
    except (UnreadableText, ValueError) as exc:
        raise InvalidServer(f"{path}: {exc}") from exc
    servers = data.get("mcpServers") if isinstance(data, Mapping) else None
    if not isinstance(servers, Mapping):
        raise InvalidServer(f'{path} must hold an object with "mcpServers", for example {{"mcpServers": {{}}}}')
    found: dict[str, Server | InvalidServer] = {}
    for name, each in servers.items():
        try:
            found[name] = parse_server(name, each, str(path))
        except InvalidServer as exc:
            found[name] = exc
    return found


def local_table() -> ServerTable:
    """The servers of the current directory, for a plain `run`: there is no configuration, only `.mcp.json`."""
    state = Path(os.environ.get("XDG_STATE_HOME") or "")
    home = state if state.is_absolute() else Path(os.environ.get("HOME") or Path.home()) / ".local" / "state"
    kept = home / "orbiter"
    return ServerTable(str(Path.cwd()), ApprovalFile(kept / APPROVALS_FILE), tokens=TokenFile(kept / TOKENS_FILE))
