"""The schema of `orbiter.toml`: sections, keys, types and defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from runtime.config.toml_lines import KeyPath
from runtime.judgement.error_config import ErrorHandlingConfig, ProviderErrorSettings
from runtime.judgement.faults.rules.rule import Rule
from runtime.judgement.permissions.patterns import Kind
from runtime.judgement.recovery.budget import Budget
from runtime.judgement.reports.prices import Price
from runtime.record.state.fault_taxonomy import Severity


class AnalysisSettings(BaseModel):
    """`model`: who is asked about incidents: model strings with commas, ``auto`` (whose key is there), or ``off``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    model: str = "auto"


class RuntimeSettings(BaseModel):
    """How runs are driven. Times in seconds.

    `grace_s`: how long everything must have been waiting before a run leaves memory. `stall_s`: after how long without
    progress somebody is told; not set: never. `handoff_rounds`: how often agents may hand on in the same circle before
    somebody is asked; 0: never asked. `fallbacks`: models for every agent, tried after its own. `import_limit_s`: how
    long the import of a swarm's file may take before it is given up.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    grace_s: float = Field(default=60.0, ge=0, allow_inf_nan=False)
    env_file: str = ""
    python: str = ""
    stall_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    handoff_rounds: int = Field(default=3, ge=0)
    fallbacks: tuple[str, ...] = ()
    import_limit_s: float = Field(default=60.0, gt=0, allow_inf_nan=False)


class PermissionSettings(BaseModel):
    """See `runtime.judgement.permissions.policy`. `verbs`: the class of a verb's objects, where it is not known."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    default: Literal["allow", "ask", "deny"] = "ask"
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    verbs: dict[str, Kind] = Field(default_factory=dict)


class NoticeSettings(BaseModel):
    """From which severity on each channel is told of incidents (see `runtime.judgement.reports.notices`).

    A channel that is not set is silent. Where no channel is set, `errors.notification_channels` says which ones get
    critical incidents.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    bell: Severity | None = None
    terminal: Severity | None = None
    log: Severity | None = None
    webhook: Severity | None = None
    webhook_url: str = ""
    quiet_seconds: float = Field(default=10.0, ge=0, le=86_400, allow_inf_nan=False)


class RedactionSettings(BaseModel):
    """`patterns`: regular expressions of what must leave the workspace in no analysis, notice or export.
    `redact_views`: secrets are masked in consoles and in what verbs print, too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    patterns: tuple[str, ...] = ()
    redact_views: bool = False


class HostSettings(BaseModel):
    """A runtime on another machine, for `--host` with its name. Only the user's own file may name hosts: what a
    workspace brings along must not choose where somebody logs in, nor what runs there.

    `address`: ``[user@]host[:path]``. `command`: the program there. `viewer`: only look. `start`: start a runtime there
    if none works.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    address: str = Field(min_length=1)
    command: str = Field(default="orbiter-console", min_length=1)
    viewer: bool = False
    start: bool = False


class Settings(BaseModel):
    """All that can stand in the file, by section."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    errors: ErrorHandlingConfig = Field(default_factory=ErrorHandlingConfig)
    budgets: Budget = Field(default_factory=Budget)
    permissions: PermissionSettings = Field(default_factory=PermissionSettings)
    analysis: AnalysisSettings = Field(default_factory=AnalysisSettings)
    notices: NoticeSettings = Field(default_factory=NoticeSettings)
    redaction: RedactionSettings = Field(default_factory=RedactionSettings)
    runtime: RuntimeSettings = Field(default_factory=RuntimeSettings)
    hosts: dict[str, HostSettings] = Field(default_factory=dict)
    prices: dict[str, Price] = Field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    console: dict[str, Any] = Field(default_factory=dict)
    """The console's own, and `keys` too.

    It checks them when it opens (`console.preferences.schema`, `console.preferences.keymap`).
    """
    keys: dict[str, Any] = Field(default_factory=dict)


_TABLE_MODELS: dict[tuple[type[BaseModel], str], type[BaseModel]] = {
    (Settings, "errors"): ErrorHandlingConfig,
    (Settings, "budgets"): Budget,
    (Settings, "permissions"): PermissionSettings,
    (Settings, "analysis"): AnalysisSettings,
    (Settings, "notices"): NoticeSettings,
    (Settings, "redaction"): RedactionSettings,
    (Settings, "runtime"): RuntimeSettings,
}
_MAP_MODELS: dict[tuple[type[BaseModel], str], type[BaseModel]] = {
    (Settings, "prices"): Price,
    (Settings, "hosts"): HostSettings,
    (ErrorHandlingConfig, "provider_settings"): ProviderErrorSettings,
}
_LIST_MODELS: dict[tuple[type[BaseModel], str], type[BaseModel]] = {
    (Settings, "rules"): Rule,
    (ErrorHandlingConfig, "rules"): Rule,
}


def unknown_key(
    data: Mapping[str, Any], model: type[BaseModel] = Settings, path: KeyPath = ()
) -> tuple[KeyPath, list[str]]:
    """The first key that is none of ours, with those that are valid there; an empty path where all are known."""
    valid = list(model.model_fields)
    for key, value in data.items():
        if key not in valid:
            return (*path, key), valid
        for inner, each, at in _nested_tables(model, key, value, (*path, key)):
            found = unknown_key(each, inner, at)
            if found[0]:
                return found
    return (), []


def _nested_tables(
    model: type[BaseModel], key: str, value: Any, at: KeyPath
) -> Iterator[tuple[type[BaseModel], Mapping[str, Any], KeyPath]]:
    """The tables that a value holds, each with its model and path."""
    if isinstance(value, Mapping):
        if (model, key) in _TABLE_MODELS:
            yield _TABLE_MODELS[model, key], value, at
        elif (model, key) in _MAP_MODELS:
            yield from (
                (_MAP_MODELS[model, key], each, (*at, name))
                for name, each in value.items()
                if isinstance(each, Mapping)
            )
    elif isinstance(value, list) and (model, key) in _LIST_MODELS:
        for number, each in enumerate(value):
            if isinstance(each, Mapping):
                yield _LIST_MODELS[model, key], each, (*at, number)
