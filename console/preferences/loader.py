"""Loads the console's part of `orbiter.toml` before the first frame, without pydantic.

The runtime checks the rest of the files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from console.preferences.schema import (
    CONSOLE_SETTINGS,
    SECTIONS,
    InvalidPreferences,
    Preferences,
    preferences,
    unknown_section,
)
from console.workspace import workspace
from orbiter.parsing.toml_text import KeyPath as Key
from runtime.config.environment import config_files, variable_value
from runtime.config.layer import SettingsLayer

if TYPE_CHECKING:
    from console.preferences.keymap import Keymap


def read_preferences(root: Path, environ: Mapping[str, str] | None = None) -> Preferences:
    """The user's file, the workspace's over it, key by key, and the variables over both.

    Raises:
        InvalidPreferences: a file cannot be read, or a key or value of the console's is unknown.
    """
    merged: dict[str, Any] = {}
    sources: dict[Key, str] = {}
    unknown: list[str] = []
    for path in config_files(root, environ):
        if path.exists():
            layer = SettingsLayer.from_file(path, InvalidPreferences)
            unknown += filter(None, (unknown_section(name, layer.location((name,))) for name in layer.data))
            ours = {section: layer.data[section] for section in SECTIONS if section in layer.data}
            layer.lay_over(merged, sources, ours, tables=True)
    given = os.environ if environ is None else environ
    for setting in CONSOLE_SETTINGS if isinstance(merged.get("console", {}), Mapping) else ():
        if text := given.get(setting.variable, ""):
            value = variable_value(text) if setting.values else text
            merged.setdefault("console", {})[setting.name] = value
            sources["console", setting.name] = f"${setting.variable}"
    return replace(preferences(merged, sources), unknown=tuple(unknown))


def redacted_views(root: Path) -> tuple[str, ...] | None:
    """The operator's patterns where secrets are to be masked in what is shown (`redaction.redact_views`), else None.

    Raises:
        InvalidPreferences: a file cannot be read.
    """
    merged: dict[str, Any] = {}
    for path in config_files(root):
        said = SettingsLayer.from_file(path, InvalidPreferences).data if path.exists() else {}
        if isinstance(section := said.get("redaction"), Mapping):
            merged.update(section)
    if merged.get("redact_views") is not True:
        return None
    patterns = merged.get("patterns")
    return tuple(map(str, patterns)) if isinstance(patterns, list) else ()


def preference_files() -> tuple[Path, Path]:
    """The user's file and that of the current directory, whether or not they are there."""
    return config_files(workspace().root, os.environ)


def keys_in_force(found: Preferences, *, preset: str = "") -> Keymap:
    """The map of keys that these preferences make. Imports every screen.

    Raises:
        InvalidKeys: an unknown action, an unknown key, two actions on one key.
    """
    from console.preferences.keymap import build_keymap
    from screens.shell.key_actions import actions

    return build_keymap(actions(), found.keys, found.sources, preset=preset)


def workspace_preferences() -> Preferences:
    """Those of the current directory, with its keys checked. Where none are configured no screen is imported.

    Raises:
        InvalidPreferences: as `read_preferences`.
        InvalidKeys: as `keys_in_force`.
    """
    found = read_preferences(workspace().root, os.environ)
    return replace(found, keymap=keys_in_force(found)) if found.keys else found
