"""Discovers the swarms of a workspace, and checks a reference before a run is created."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from orbiter.runner import provider_for
from runtime.swarms import imports, loader
from runtime.swarms.definitions import Definition, definitions_in
from runtime.swarms.load_errors import SwarmLoadError

_MAX_FILES: Final = 2_000
_MAX_FOUND: Final = 200
_SKIPPED_FOLDERS: Final = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "build", "dist"})


async def check_swarm(ref: str, root: Path, *, limit_s: float = imports.IMPORT_LIMIT_S) -> str:
    """The reference made absolute, after the swarm was loaded as the run's driver will load it.

    Raises:
        SwarmLoadError: the reference does not lead to a swarm.
        AgentError: an agent's model cannot be used, for a reason that is known already.
    """
    ref = loader.absolute_ref(ref, root)
    await imports.load_within_limit(partial(_checked, ref, root), imports.SwarmImport(ref, root), limit_s)
    return ref


def _checked(ref: str, root: Path, begun: Callable[[], None]) -> None:
    swarm = loader.load_swarm(ref, root, begun)
    try:
        check_models(swarm)
    except Exception:
        raise
    except BaseException as exc:  # user code again: a provider, or an agent of a class of their own
        raise SwarmLoadError(f"{ref} raised {type(exc).__name__} when its models were looked at: correct it") from exc


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


def find_swarms(root: Path) -> dict[str, Definition]:
    """The swarms and agents that files below `root` define, by reference, relative to it: read off the files' text,
    without running any of it. A file that cannot be read, or is not Python, has none.
    """
    found: dict[str, Definition] = {}
    for path in _python_files(root):
        for each in definitions_in(path):
            found[f"{path.relative_to(root)}:{each.name}"] = each
            if len(found) == _MAX_FOUND:
                return found
    return found


def _python_files(root: Path) -> Iterator[Path]:
    """Python files, folder by folder, no more than are looked at in a moment."""
    seen = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS and not name.startswith("."))
        for name in sorted(files):
            if name.endswith(".py"):
                seen += 1
                if seen > _MAX_FILES:
                    return
                yield Path(folder) / name
