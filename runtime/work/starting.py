"""Before a run is asked for: which swarms a workspace has, and whether a reference leads to one that can be run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from orbiter.runner import provider_for
from runtime.work import loader
from runtime.work.definitions import names_in

_FILES: Final = 2_000
_MOST: Final = 200
_LEFT_OUT: Final = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "build", "dist"})


def check(ref: str, root: Path) -> str:
    """The reference made absolute, after the swarm was loaded as whoever drives the run will load it.

    Raises:
        LoadError: the reference does not lead to a swarm.
        AgentError: an agent's model cannot be used, for a reason that is known already.
    """
    ref = loader.absolute(ref, root)
    check_models(loader.load(ref, root))
    return ref


def check_models(swarm: Any) -> None:
    """Say now what would keep every model call of an agent from being made: an unknown provider, a missing key.

    Raises:
        AgentError: naming the agent and, for a key, the variable.
    """
    members = getattr(swarm, "agents", None)
    if members is not None:
        for member in members.values() if isinstance(members, Mapping) else members:
            check_models(member)
    elif hasattr(swarm, "swarm"):
        check_models(swarm.swarm)
    else:
        provider_for(swarm)


def swarms_in(root: Path) -> list[str]:
    """References to the swarms and agents that files below `root` define, relative to it: read off the files' text,
    without running any of it. A file that cannot be read, or is no Python, has none.
    """
    found: list[str] = []
    for path in _files(root):
        found += (f"{path.relative_to(root)}:{name}" for name in names_in(path))
        if len(found) >= _MOST:
            break
    return found[:_MOST]


def _files(root: Path) -> Iterator[Path]:
    """Python files, folder by folder, no more than are looked at in a moment."""
    seen = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("."))
        for name in sorted(files):
            if name.endswith(".py"):
                seen += 1
                if seen > _FILES:
                    return
                yield Path(folder) / name
