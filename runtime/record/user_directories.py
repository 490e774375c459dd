"""The user's own directories, as the XDG Base Directory Specification has them.

The environment is an argument, since it may be another process's. The package `platformdirs` reads only this process's,
and takes 20 ms to load. Standard library only: `dial-stdio` must start fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def config_home(environ: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME`, for what a person writes; ``~/.config`` where it is unset or relative.

    Raises:
        RuntimeError: There is no home directory.
    """
    return _base(environ, "XDG_CONFIG_HOME", Path(".config"))


def state_home(environ: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME`, for what a program keeps by itself; ``~/.local/state`` where it is unset or relative.

    Raises:
        RuntimeError: There is no home directory.
    """
    return _base(environ, "XDG_STATE_HOME", Path(".local", "state"))


def shared_state() -> Path:
    """Our directory for locks, sockets and rescued journals, which every login of the user must find in the same place:
    no variable moves it.

    Raises:
        RuntimeError: There is no home directory.
    """
    return Path.home() / ".local" / "state" / "orbiter"


def _base(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    given = Path(environ.get(variable) or "")
    return given if given.is_absolute() else Path(environ.get("HOME") or Path.home()) / default
