"""The settings in force for a workspace, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from orbiter.mcp.table import ServerTable
from orbiter.parsing.toml_text import KeyPath as Key
from runtime.config.environment import config_files
from runtime.config.layer import dotted_key, source_of
from runtime.config.mcp_servers import server_table
from runtime.config.schema import McpSettings, RuntimeSettings, Settings
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.view_redaction import ViewRedactor
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.faults.rules.rule import Rule
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.judgement.reports.notices import NoticeRules
from runtime.judgement.reports.prices import PriceTable
from runtime.judgement.traces.span import TraceSettings

DEFAULT_SOURCE = "default"


@dataclass(slots=True, frozen=True)
class SettingValue:
    """A setting as it is in force, and where it comes from: ``default``, ``FILE:LINE``, or ``$VARIABLE``."""

    key: str
    value: Any
    source: str


@dataclass(slots=True, frozen=True)
class Configuration:
    """What is configured for a workspace."""

    workspace: Path
    settings: Settings
    permissions: PermissionPolicy
    notices: NoticeRules | None = None
    """Who is told of what; None: as `errors` says."""
    sources: Mapping[Key, str] = field(default_factory=dict)
    """Where each value that was given stands."""
    own_servers: McpSettings = field(default_factory=McpSettings)
    """The MCP servers of the user's own file, as they stand there."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """The environment that it was read in."""

    @property
    def errors(self) -> FaultHandling:
        """The error configuration, with the operator's own rules in it."""
        errors = self.settings.errors
        return errors.model_copy(update={"rules": (*errors.rules, *self.settings.rules)})

    @property
    def views(self) -> ViewRedactor:
        """What viewers are shown in place of secrets."""
        redaction = self.settings.redaction
        return ViewRedactor(redaction.patterns, masked=redaction.redact_views)

    @property
    def prices(self) -> PriceTable:
        """The price table with the operator's own prices."""
        return PriceTable().overridden(self.settings.prices)

    def execution_config(self, **over: Any) -> ExecutionConfig:
        """What drives are given; `over` goes over it, with the names of `ExecutionConfig`. What stands in `[runtime]`
        under the name of one of its fields is given as it is.
        """
        runtime, errors, names = self.settings.runtime, self.errors, {each.name for each in fields(ExecutionConfig)}
        given: dict[str, Any] = {
            **{name: getattr(runtime, name) for name in RuntimeSettings.model_fields if name in names},
            "workspace": str(self.workspace),
            "deadline_s": errors.error_recovery_timeout,
            "enable_error_routing": errors.enable_error_routing,
            "permissions": self.permissions,
            "analysis": self.settings.analysis.model,
            "notices": self.notices,
            "redact": self.settings.redaction.patterns,
            "redact_views": self.settings.redaction.redact_views,
            "errors": errors,
            "budget": self.settings.budgets,
            "prices": self.prices,
            "mcp": self.mcp_servers,
            "traces": self.traces,
            "limits": self.settings.limits,
            "queues": runtime.queues or None,
            "swarm_queues": self.swarm_queues,
            "guest_tools": {
                name: each.model_dump(exclude_unset=True) for name, each in self.settings.guests.tools.items()
            },
        }
        return ExecutionConfig(**{**given, **over})

    @property
    def swarm_queues(self) -> dict[str, str]:
        """The queue of each swarm that has one set, by its reference or the end of it."""
        return {ref: each.queue for ref, each in self.settings.swarms.items()}

    @property
    def traces(self) -> TraceSettings | None:
        """What is sent of runs to a receiver of traces; None: nothing."""
        otel = self.settings.otel
        return TraceSettings(otel.flavours, otel.content, self.settings.redaction.patterns) if otel.enabled else None

    @property
    def mcp_servers(self) -> ServerTable:
        """The MCP servers of the workspace."""
        return server_table(self.workspace, self.settings.mcp, self.own_servers, self.environ)

    def refused_hosts(self) -> dict[str, str]:
        """The hosts of which the workspace's own file says anything: `--host` refuses them. Each with why, and where it
        belongs.
        """
        users, workspaces = config_files(self.workspace, self.environ)
        found: dict[str, str] = {}
        for (section, *names), place in self.sources.items():
            if section == "hosts" and names and place.startswith(f"{workspaces}:"):
                found[str(names[0])] = (
                    f"{place}: a workspace's file must not name hosts, because it would then choose where you log in: "
                    f"put [hosts.{names[0]}] into {users}"
                )
        return found

    def values(self) -> list[SettingValue]:
        """Every setting in force, in the file's order of sections."""
        refused = self.refused_hosts()
        return [
            SettingValue(dotted_key(path), value, source_of(self.sources, path) or DEFAULT_SOURCE)
            for path, value in _leaf_values(self.settings)
            if path[0] != "hosts" or path[1] not in refused
        ]


def _leaf_values(value: Any, path: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Every value with its path. A rule is one value: only what was said of it."""
    if isinstance(value, Rule):
        yield path, value.model_dump(mode="json", exclude_defaults=True)
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _leaf_values(getattr(value, name), (*path, name))
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _leaf_values(each, (*path, name))
    elif isinstance(value, tuple) and value and all(isinstance(each, Rule) for each in value):
        for number, each in enumerate(value):
            yield from _leaf_values(each, (*path, number))
    else:
        yield path, list(value) if isinstance(value, tuple) else value
