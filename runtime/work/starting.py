"""Before a run is asked for: which swarms a workspace has, and whether a reference leads to one that can be run."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from orbiter.runner import provider_for
from runtime.work import loader

RUNNABLE: Final = ("Swarm", "ParallelGroup", "SerialGroup", "Agent")
"""What a reference may lead to, in the order in which a file's are named."""

_FILES: Final = 2_000
_FILE_BYTES: Final = 200_000
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


def names_in(path: Path) -> list[str]:
    """The names of swarms and agents that a file defines at its outermost level."""
    try:
        source = path.read_bytes()
        if len(source) > _FILE_BYTES or b"orbiter" not in source:
            return []
        module = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    kinds = _imported(module)
    found = [(RUNNABLE.index(kind), name) for name, kind in _defined(module, kinds)]
    return [name for _, name in sorted(found, key=lambda each: each[0])]


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


def _imported(module: ast.Module) -> dict[str, str]:
    """What the names in the file mean: `Team` in ``from orbiter import Swarm as Team`` is a Swarm."""
    found: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "orbiter":
            found |= {each.asname or each.name: each.name for each in node.names if each.name in RUNNABLE}
        elif isinstance(node, ast.Import):
            for each in node.names:
                if each.name == "orbiter":
                    found |= {f"{each.asname or each.name}.{kind}": kind for kind in RUNNABLE}
    return found


def _defined(module: ast.Module, kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Names and what kind each is of: variables that hold one, and functions that say that they give one."""
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            kind = kinds.get(ast.unparse(node.value.func))
            if kind is not None:
                yield from ((target.id, kind) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            kind = kinds.get(ast.unparse(node.annotation)) or (
                kinds.get(ast.unparse(node.value.func)) if isinstance(node.value, ast.Call) else None
            )
            if kind is not None:
                yield node.target.id, kind
        elif isinstance(node, ast.FunctionDef) and node.returns is not None and not _needs_arguments(node.args):
            kind = kinds.get(ast.unparse(node.returns))
            if kind is not None:
                yield node.name, kind


def _needs_arguments(arguments: ast.arguments) -> bool:
    positional = [*arguments.posonlyargs, *arguments.args]
    keyword_only = any(default is None for default in arguments.kw_defaults)
    return len(positional) > len(arguments.defaults) or keyword_only
