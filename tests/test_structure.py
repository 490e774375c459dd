"""The structure of the source: sizes of folders, cycles between modules, and a docstring for each package."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("orbiter", "runtime", "screens", "console", "themes")
MOST_MODULES = 20

LATE_IMPORTS: dict[tuple[str, str], str] = {
    (
        "orbiter.agent",
        "orbiter._internal.loop.prepared_run",
    ): "An agent is a declaration: `Agent.run` looks the engine up.",
    ("orbiter._internal.declarations.container", "orbiter._internal.groups.container_run"): (
        "Groups and swarms are declarations: their `run` looks the engine up."
    ),
    ("orbiter._internal.loop.providers", "orbiter.runner"): (
        "Programs replace `orbiter.runner._resolve_provider` (seed 000), so it is looked up there at each run."
    ),
}
"""Imports inside functions that alone close a cycle, each with the reason why it stays."""


def modules() -> dict[str, Path]:
    """Every module of the packages, by its dotted name."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


@cache
def imports() -> dict[str, frozenset[str]]:
    """For each module our modules that it imports: also inside functions, and for types alone."""
    known = modules()
    return {name: frozenset(_imported(name, path, known)) for name, path in known.items()}


def _imported(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [each if each in known else node.module for each in named]
        else:
            continue
        yield from (each for each in found if each in known and each != name)


def cycles(graph: dict[str, frozenset[str]]) -> list[list[str]]:
    """Groups of modules that import each other, in a circle of any length (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = [stack.pop()]
            while group[-1] != name:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(graph):
        if name not in index:
            visit(name)
    return found


def test_no_two_modules_import_each_other_in_a_circle() -> None:
    graph = {
        name: frozenset(other for other in found if (name, other) not in LATE_IMPORTS)
        for name, found in imports().items()
    }
    assert cycles(graph) == []


@pytest.mark.parametrize("name_and_other", LATE_IMPORTS, ids=" imports ".join)
def test_each_exception_is_needed(name_and_other: tuple[str, str]) -> None:
    """An exception is an import inside a function, has a reason, and closes a cycle if it is not excepted."""
    name, other = name_and_other
    assert LATE_IMPORTS[name_and_other]
    assert other in imports()[name]
    top = ast.parse(modules()[name].read_text(encoding="utf-8")).body
    at_top = {node.module for node in top if isinstance(node, ast.ImportFrom)}
    assert other not in at_top
    graph = {
        each: frozenset(x for x in found if (each, x) not in LATE_IMPORTS or (each, x) == name_and_other)
        for each, found in imports().items()
    }
    assert any({name, other} <= set(group) for group in cycles(graph))


def test_the_search_for_cycles_finds_one() -> None:
    graph = {"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset({"a"}), "d": frozenset({"a"})}
    assert cycles(graph) == [["a", "b", "c"]]


def test_no_folder_holds_more_modules_than_can_be_looked_over() -> None:
    sizes = Counter(path.parent for path in modules().values() if path.name != "__init__.py")
    assert {str(folder.relative_to(ROOT)): size for folder, size in sizes.items() if size > MOST_MODULES} == {}


def test_each_package_says_what_belongs_in_it_and_what_it_may_import() -> None:
    for name, path in modules().items():
        if path.name == "__init__.py":
            doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            assert doc, name
            assert "Imports " in doc or "imports " in doc, f"{name} does not say what it imports"
