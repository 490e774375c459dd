"""Loads and checks `orbiter.toml`, and says where each value comes from.

There are two files: the user's (``$XDG_CONFIG_HOME/orbiter/orbiter.toml``) and the workspace's (``orbiter.toml`` in
it). The workspace's goes over the user's, key by key. What is wrong is named with file, line and key, and with the
nearest key or word that would be right.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from orbiter.errors import ConfigurationError
from orbiter.redaction import BadPattern, Redactor
from orbiter.text_input import UnreadableText, read_text
from runtime.config.environment import InvalidEnvironment, config_files, read_env_file
from runtime.config.schema import NoticeSettings, Settings, unknown_key
from runtime.config.toml_lines import KeyPath as Key
from runtime.config.toml_lines import key_lines, line_of_key
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.view_redaction import ViewRedactor
from runtime.judgement.error_config import ErrorHandlingConfig
from runtime.judgement.faults.rules.rule import Rule
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.judgement.reports.notices import NoticeRules
from runtime.judgement.reports.prices import PriceTable, builtin_prices

DEFAULT_SOURCE = "default"


class InvalidConfiguration(ConfigurationError):
    """A file that cannot be used. The message names it, the line, the key, and what would be right."""


@dataclass(slots=True, frozen=True)
class SettingValue:
    """A setting as it is in force, and where it comes from: ``default``, or ``FILE:LINE``."""

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

    @property
    def errors(self) -> ErrorHandlingConfig:
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
        """The price table, with the operator's own prices over it."""
        return builtin_prices().overridden(self.settings.prices)

    def execution_config(self, **over: Any) -> ExecutionConfig:
        """What drives are given; `over` goes over it, with the names of `ExecutionConfig`."""
        runtime, errors = self.settings.runtime, self.errors
        given: dict[str, Any] = {
            "workspace": str(self.workspace),
            "grace_s": runtime.grace_s,
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
            "stall_s": runtime.stall_s,
            "handoff_rounds": runtime.handoff_rounds,
            "fallbacks": runtime.fallbacks,
            "import_limit_s": runtime.import_limit_s,
        }
        return ExecutionConfig(**{**given, **over})

    def values(self) -> list[SettingValue]:
        """Every setting in force, in the file's order of sections."""
        return [
            SettingValue(dotted_key(path), value, self._source_of(path)) for path, value in _leaf_values(self.settings)
        ]

    def _source_of(self, path: Key) -> str:
        for end in range(len(path), 0, -1):
            if path[:end] in self.sources:
                return self.sources[path[:end]]
        return DEFAULT_SOURCE


def load_configuration(workspace: Path, environ: Mapping[str, str] | None = None) -> Configuration:
    """What is configured for a workspace: both files, checked.

    Raises:
        InvalidConfiguration: a file cannot be read, or something in it is unknown or wrong.
    """
    merged: dict[str, Any] = {}
    sources: dict[Key, str] = {}
    for path in config_files(workspace, environ):
        if not path.is_file():
            continue
        file = _read(path)
        file.refuse_unknown()
        file.overlay(merged, sources, file.data)
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as exc:
        raise InvalidConfiguration(_error_text(exc, sources)) from exc
    try:
        policy = PermissionPolicy.from_mapping(settings.permissions.model_dump(), root=str(workspace))
    except ValueError as exc:
        raise InvalidConfiguration(f"{_source_of_path(sources, ('permissions',))}{exc}") from exc
    notices = _notice_rules(settings.notices, sources)
    try:
        Redactor(settings.redaction.patterns)
    except BadPattern as exc:
        raise InvalidConfiguration(f"{_source_of_path(sources, ('redaction', 'patterns'))}{exc}") from exc
    env_file = settings.runtime.env_file
    if env_file:
        try:
            read_env_file(_resolve_path(env_file, workspace))
        except InvalidEnvironment as exc:
            raise InvalidConfiguration(f"{_source_of_path(sources, ('runtime', 'env_file'))}{exc}") from exc
    return Configuration(workspace, settings, policy, notices, sources)


def _notice_rules(given: NoticeSettings, sources: Mapping[Key, str]) -> NoticeRules | None:
    named = {name: each for name, each in given.model_dump(mode="json").items() if each not in (None, "")}
    if named.keys() <= {"quiet_seconds", "webhook_url"}:
        return None
    try:
        return NoticeRules.from_mapping(named)
    except ValueError as exc:
        raise InvalidConfiguration(f"{_source_of_path(sources, ('notices',))}{exc}") from exc


def _resolve_path(name: str, workspace: Path) -> Path:
    path = Path(name).expanduser()
    return path if path.is_absolute() else workspace / path


def load_env_file(configuration: Configuration) -> None:
    """Set the variables of the configured `env_file` in this process, but for those that are set already.

    Raises:
        InvalidEnvironment: it cannot be read any more.
    """
    name = configuration.settings.runtime.env_file
    if name:
        for variable, value in read_env_file(_resolve_path(name, configuration.workspace)).items():
            os.environ.setdefault(variable, value)


def _read(path: Path) -> _ConfigFile:
    try:
        text = read_text(path)
        return _ConfigFile(path, tomllib.loads(text), key_lines(text))
    except tomllib.TOMLDecodeError as exc:
        raise InvalidConfiguration(f"{path}: no TOML: {exc}") from exc
    except RecursionError as exc:
        raise InvalidConfiguration(f"{path}: cannot be read: it is nested too deeply") from exc
    except UnreadableText as exc:
        raise InvalidConfiguration(str(exc)) from exc


@dataclass(slots=True, frozen=True)
class _ConfigFile:
    """A file as it was read."""

    path: Path
    data: dict[str, Any]
    lines: dict[Key, int]

    def location(self, at: Key) -> str:
        line = line_of_key(at, self.lines)
        return f"{self.path}:{line}" if line is not None else str(self.path)

    def refuse_unknown(self) -> None:
        """Raise for the first key that is none of ours, with the nearest that is."""
        at, valid = unknown_key(self.data)
        if not at:
            return
        near = get_close_matches(str(at[-1]).lower(), valid, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'? " if near else ""
        what, which = ("section", "sections") if len(at) == 1 else ("key", "here")
        raise InvalidConfiguration(
            f"{self.location(at)}: unknown {what} '{dotted_key(at)}': {hint}valid {which} are: {', '.join(valid)}"
        )

    def overlay(self, onto: dict[str, Any], sources: dict[Key, str], data: Mapping[str, Any], path: Key = ()) -> None:
        """Put `data` over what is there, key by key, and note where each value stands."""
        for key, value in data.items():
            at = (*path, key)
            if isinstance(value, Mapping):
                if not isinstance(onto.get(key), dict):
                    onto[key] = {}
                self.overlay(onto[key], sources, value, at)
                continue
            onto[key] = value
            for old in [each for each in sources if each[: len(at)] == at]:
                del sources[old]
            sources[at] = self.location(at)
            for below in self.lines:
                if len(below) > len(at) and below[: len(at)] == at:  # what stands in an array of tables
                    sources[below] = self.location(below)


def _source_of_path(sources: Mapping[Key, str], path: Key) -> str:
    """The place of a path: its own, that of what is above it, or of the first thing below it."""
    for end in range(len(path), 0, -1):
        if path[:end] in sources:
            return f"{sources[path[:end]]}: "
    below = next((place for each, place in sources.items() if each[: len(path)] == path), "")
    return f"{below}: " if below else ""


def _error_text(exc: ValidationError, sources: Mapping[Key, str]) -> str:
    """Every mistake on a line of its own."""
    found: list[str] = []
    for error in exc.errors(include_url=False):
        path = tuple(each for each in error["loc"] if not (isinstance(each, str) and each.startswith("function-")))
        message = str(error["msg"]).removeprefix("Value error, ")
        if error["type"] == "enum" or error["type"] == "literal_error":
            message = _with_nearest_key(error, message)
        found.append(f"{_source_of_path(sources, path)}{dotted_key(path)}: {message}")
    return "\n".join(found)


def _with_nearest_key(error: Any, message: str) -> str:
    words = [
        each.strip(" '") for each in str(error.get("ctx", {}).get("expected", "")).replace(" or ", ", ").split(",")
    ]
    near = get_close_matches(str(error.get("input")).lower(), words, n=1, cutoff=0.5)
    hint = f"did you mean '{near[0]}'? " if near else ""
    return f"{error.get('input')!r} is unknown; {hint}{message[:1].lower()}{message[1:]}"


def dotted_key(path: Key) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if part.replace("-", "_").isidentifier() else f'"{part}"'
            text += f".{name}" if text else name
    return text


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


__all__ = [
    "Configuration",
    "InvalidConfiguration",
    "SettingValue",
    "Settings",
    "config_files",
    "load_configuration",
    "load_env_file",
]
