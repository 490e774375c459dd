"""The swarms and agents that a Python file defines, read from its text without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

RUNNABLE: Final = ("Swarm", "ParallelGroup", "SerialGroup", "Agent")
"""What a reference may lead to, in the order in which a file's are named."""

_FILE_BYTES: Final = 200_000


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
