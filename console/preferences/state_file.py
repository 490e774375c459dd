"""The state file of the console: the theme that was chosen last.

It lies in `$XDG_STATE_HOME/orbiter` (`~/.local/state/orbiter`), as the XDG Base Directory Specification has it for what
a program keeps by itself; what a person writes is in `orbiter.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from runtime.record.user_directories import state_home

_MAX_NAME_CHARS: Final = 200


def saved_theme(environment: Mapping[str, str]) -> str:
    """The name of the theme that was chosen last; empty if none was, or it cannot be read."""
    try:
        with _file(environment).open(encoding="utf-8") as file:
            return file.read(_MAX_NAME_CHARS).strip()
    except (OSError, UnicodeDecodeError):
        return ""


def save_theme(environment: Mapping[str, str], name: str) -> Path:
    """Remember a theme; the file in which it stands.

    Raises:
        OSError: it cannot be written.
    """
    path = _file(environment)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(f"{name}\n", encoding="utf-8")
    return path


def _file(environment: Mapping[str, str]) -> Path:
    return state_home(environment) / "orbiter" / "theme"
