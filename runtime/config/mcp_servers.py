"""The MCP servers of a workspace, from the settings: which there are, and which of them are the user's own word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from orbiter.mcp.approvals import ApprovalFile
from orbiter.mcp.definition import Server, parse_server
from orbiter.mcp.table import APPROVALS_FILE, TOKENS_FILE, ServerTable
from orbiter.mcp.tokens import TokenFile
from runtime.config.environment import CONFIG_FILE
from runtime.config.schema import McpSettings, ServerSettings
from runtime.record.user_directories import state_home

_ABOUT_A_SERVER = {"timeout_s", "connect_timeout_s", "tools"}
"""Settings that do not say what is started or reached."""


def server_table(workspace: Path, settings: McpSettings, own: McpSettings, environ: Mapping[str, str]) -> ServerTable:
    """The servers. Those of `own` (the user's own file) are trusted as they stand there; where the workspace's file
    changes one, it is another.

    Raises:
        InvalidServer: A server of the settings cannot be used.
    """
    configured = _servers(settings)
    trusted = frozenset((name, each.fingerprint) for name, each in _servers(own).items())
    kept = state_home(environ) / "orbiter"
    approvals, tokens = ApprovalFile(kept / APPROVALS_FILE), TokenFile(kept / TOKENS_FILE)
    declared = {name: _declared(each) for name, each in settings.servers.items() if _only_declares(each)}
    return ServerTable(str(workspace), approvals, configured, trusted, tokens, declared)


def _only_declares(settings: ServerSettings) -> bool:
    """Whether the table says something of a server that `.mcp.json` describes, and is not one of its own."""
    said = settings.model_fields_set
    return bool(said) and said <= _ABOUT_A_SERVER


def _declared(settings: ServerSettings) -> dict[str, Any]:
    return {
        "timeout_s": settings.timeout_s,
        "connect_timeout_s": settings.connect_timeout_s,
        "tools": dict(settings.tools),
    }


def _servers(settings: McpSettings) -> dict[str, Server]:
    found = {}
    for name, each in settings.servers.items():
        if _only_declares(each):
            continue
        written = each.model_dump(exclude=_ABOUT_A_SERVER) | {"args": list(each.args)}
        found[name] = replace(parse_server(name, written, CONFIG_FILE), **_declared(each))
    return found
