"""Loads and checks the settings, and says where each value comes from.

There are two files: the user's (``$XDG_CONFIG_HOME/orbiter/orbiter.toml``) and the workspace's (``orbiter.toml`` in
it). The workspace's goes over the user's, key by key; variables go over both, and what the command line says over all.
What is wrong is named with file, line and key, and with the nearest key or word that would be right.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orbiter.errors import ConfigurationError
from orbiter.parsing.near_names import did_you_mean
from orbiter.parsing.toml_text import KeyPath as Key
from orbiter.redaction import BadPattern, Redactor
from runtime.config.configuration import Configuration
from runtime.config.environment import InvalidEnvironment, config_files, read_env_file, variable_value
from runtime.config.layer import SettingsLayer, dotted_key, place_prefix
from runtime.config.schema import McpSettings, NoticeSettings, Settings
from runtime.config.schema_keys import own_file_keys, unknown_key, variables
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.judgement.reports.notices import NoticeRules


class InvalidConfiguration(ConfigurationError):
    """A file that cannot be used. The message names it, the line, the key, and what would be right."""


def load_configuration(
    workspace: Path, environ: Mapping[str, str] | None = None, over: Mapping[str, Any] | None = None
) -> Configuration:
    """What is configured for a workspace: both files, the variables, and `over`, checked.

    Args:
        workspace: its directory.
        environ: the environment; None: this process's.
        over: what the command line says, in the form of the file.

    Raises:
        InvalidConfiguration: a file cannot be read, or something is unknown or wrong.
    """
    env = os.environ if environ is None else environ
    merged: dict[str, Any] = {}
    sources: dict[Key, str] = {}
    own = _own_file(workspace, env)
    for layer in _layers(workspace, env, over or {}):
        _refuse_unknown(layer)
        if layer.place != str(own):
            _refuse_own_file_keys(layer, config_files(workspace, env)[0])
        layer.lay_over(merged, sources)
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as exc:
        raise InvalidConfiguration(_error_text(exc, sources)) from exc
    try:
        policy = PermissionPolicy.from_mapping(settings.permissions.model_dump(), root=str(workspace))
    except ValueError as exc:
        raise InvalidConfiguration(f"{place_prefix(sources, ('permissions',))}{exc}") from exc
    notices = _notice_rules(settings.notices, sources)
    try:
        Redactor(settings.redaction.patterns)
    except BadPattern as exc:
        raise InvalidConfiguration(f"{place_prefix(sources, ('redaction', 'patterns'))}{exc}") from exc
    env_file = settings.runtime.env_file
    if env_file:
        try:
            read_env_file(_resolve_path(env_file, workspace))
        except InvalidEnvironment as exc:
            raise InvalidConfiguration(f"{place_prefix(sources, ('runtime', 'env_file'))}{exc}") from exc
    return Configuration(workspace, settings, policy, notices, sources, _own_servers(workspace, env), env)


def _layers(workspace: Path, environ: Mapping[str, str], over: Mapping[str, Any]) -> Iterator[SettingsLayer]:
    """Where settings are said, each over the ones before it."""
    files = (path for path in config_files(workspace, environ) if path.exists())
    yield from (SettingsLayer.from_file(path, InvalidConfiguration) for path in files)
    for name, (path, is_text) in variables().items():
        if text := environ.get(name, ""):
            value: Any = text if is_text else variable_value(text)
            for key in reversed(path):
                value = {key: value}
            yield SettingsLayer(f"${name}", value)
    yield SettingsLayer("command line", dict(over))


def _own_servers(workspace: Path, environ: Mapping[str, str]) -> McpSettings:
    """The MCP servers of the user's own file: what the workspace's file changes of one is not the user's word."""
    own = _own_file(workspace, environ)
    if own is None:
        return McpSettings()
    return McpSettings.model_validate(SettingsLayer.from_file(own, InvalidConfiguration).data.get("mcp", {}))


def _own_file(workspace: Path, environ: Mapping[str, str]) -> Path | None:
    """The user's own file; None where it is missing, or where it lies in the workspace, which brings it along."""
    own, _ = config_files(workspace, environ)
    return own if own.is_file() and not own.resolve().is_relative_to(workspace.resolve()) else None


def _notice_rules(given: NoticeSettings, sources: Mapping[Key, str]) -> NoticeRules | None:
    named = {name: each for name, each in given.model_dump(mode="json").items() if each not in (None, "")}
    if named.keys() <= {"quiet_seconds", "webhook_url"}:
        return None
    try:
        return NoticeRules.from_mapping(named)
    except ValueError as exc:
        raise InvalidConfiguration(f"{place_prefix(sources, ('notices',))}{exc}") from exc


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


def _refuse_unknown(layer: SettingsLayer) -> None:
    """Raise for the first key that is not one of ours, with the nearest that is."""
    at, valid = unknown_key(layer.data)
    if not at:
        return
    hint = did_you_mean(at[-1], valid)
    what, which = ("section", "sections") if len(at) == 1 else ("key", "here")
    raise InvalidConfiguration(
        f"{layer.location(at)}: unknown {what} '{dotted_key(at)}': {hint}valid {which} are: {', '.join(valid)}"
    )


def _refuse_own_file_keys(layer: SettingsLayer, own: Path) -> None:
    """Raise for a key that counts only in the user's own file, `own`."""
    for at in own_file_keys():
        found: Any = layer.data
        for part in at:
            found = found.get(part) if isinstance(found, Mapping) else None
        if found is not None:
            raise InvalidConfiguration(
                f"{layer.location(at)}: '{dotted_key(at)}' must stand in a file of your own, outside of the"
                f" workspace: put it into {own}"
            )


def _error_text(exc: ValidationError, sources: Mapping[Key, str]) -> str:
    """Every mistake on a line of its own."""
    found: list[str] = []
    for error in exc.errors(include_url=False):
        path = tuple(each for each in error["loc"] if not (isinstance(each, str) and each.startswith("function-")))
        message = str(error["msg"]).removeprefix("Value error, ")
        if error["type"] == "enum" or error["type"] == "literal_error":
            message = _with_nearest_key(error, message)
        found.append(f"{place_prefix(sources, path)}{dotted_key(path)}: {message}")
    return "\n".join(found)


def _with_nearest_key(error: Any, message: str) -> str:
    words = [
        each.strip(" '") for each in str(error.get("ctx", {}).get("expected", "")).replace(" or ", ", ").split(",")
    ]
    hint = did_you_mean(error.get("input"), words)
    return f"{error.get('input')!r} is unknown; {hint}{message[:1].lower()}{message[1:]}"
