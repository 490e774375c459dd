"""Loads the console's part of `orbiter.toml` before the first frame, with the standard library only.

The runtime checks the rest of the files.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from console.preferences.schema import (
    SECTIONS,
    InvalidPreferences,
    Preferences,
    preferences,
    unknown_section,
)
from console.workspace import workspace
from orbiter.text_input import UnreadableText, read_text
from runtime.config.environment import config_files
from runtime.config.toml_lines import KeyPath as Key
from runtime.config.toml_lines import key_lines, line_of_key

if TYPE_CHECKING:
    from console.preferences.keymap import Keymap


def read_preferences(root: Path, environ: Mapping[str, str] | None = None) -> Preferences:
    """The user's file and the workspace's over it, key by key.

    Raises:
        BadPreferences: a file cannot be read, or a key or value of the console's is unknown.
    """
    merged: dict[str, Any] = {}
    sources: dict[Key, str] = {}
    unknown: list[str] = []
    for path in config_files(root, environ):
        if path.is_file():
            data, lines = _read(path)
            unknown += filter(None, (unknown_section(name, _location(path, (name,), lines)) for name in data))
            for section in SECTIONS:
                if section in data:
                    _overlay(merged, (section,), data[section], sources, _File(path, lines))
    return replace(preferences(merged, sources), unknown=tuple(unknown))


def redacted_views(root: Path, environ: Mapping[str, str] | None = None) -> tuple[str, ...] | None:
    """The operator's patterns where secrets are to be masked in what is shown (`redaction.redact_views`), else None.

    Raises:
        BadPreferences: a file cannot be read.
    """
    merged: dict[str, Any] = {}
    for path in config_files(root, environ):
        if path.is_file() and isinstance(section := _read(path)[0].get("redaction"), Mapping):
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
        BadPreferences: as `read_preferences`.
        InvalidKeys: as `keys_in_force`.
    """
    found = read_preferences(workspace().root, os.environ)
    return replace(found, keymap=keys_in_force(found)) if found.keys else found


def _read(path: Path) -> tuple[dict[str, Any], dict[Key, int]]:
    try:
        text = read_text(path)
        return tomllib.loads(text), key_lines(text)
    except tomllib.TOMLDecodeError as exc:
        raise InvalidPreferences(f"{path}: no TOML: {exc}") from exc
    except RecursionError as exc:
        raise InvalidPreferences(f"{path}: cannot be read: it is nested too deeply") from exc
    except UnreadableText as exc:
        raise InvalidPreferences(str(exc)) from exc


class _File(NamedTuple):
    path: Path
    lines: dict[Key, int]


def _overlay(onto: dict[str, Any], at: tuple[str, ...], value: Any, sources: dict[Key, str], file: _File) -> None:
    """Put a value over what is there, key by key, and note where it stands."""
    key = at[-1]
    if isinstance(value, Mapping):
        if not isinstance(onto.get(key), dict):
            onto[key] = {}
        for name, each in value.items():
            _overlay(onto[key], (*at, name), each, sources, file)
    else:
        onto[key] = value
    sources[at] = _location(file.path, at, file.lines)


def _location(path: Path, at: Key, lines: dict[Key, int]) -> str:
    line = line_of_key(at, lines)
    return f"{path}:{line}" if line is not None else str(path)
