"""Modules, files and names that the documentation, docstrings and comments mention exist."""

from __future__ import annotations

import ast
import builtins
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from runtime.swarms.python_source import parse_module
from tests.pages import ROOT
from tests.source_text import docstrings_and_comments

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS: Final = ("orbiter", "runtime", "screens", "console", "themes", "tests", "benchmarks", "examples", "docs")
MODULES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")) if "data" not in path.parts]
FILE = re.compile(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)(?:::?[\w.]+)?`")
DOTTED = re.compile(rf"`((?:{'|'.join(FOLDERS)})(?:\.\w+)+)(?:\(.*?\))?`")
CHANGES = re.compile(r"`([\w/]+\.py)`: ((?:`[\w.]+`(?:, )?)+)")
"""As CONTRIBUTING.md names a place: a file, and names in it."""
NOT_MODULES = frozenset(
    {
        "console.log.1",
        "orbiter.agent.asyncio.sleep",
        "orbiter.mcp.mcp_tools",
        "orbiter.run",
        "orbiter.toml",
        "runtime.fallbacks",
        "runtime.lock",
        "runtime.py",
        "runtime.stall_s",
    }
)
"""Files, settings, and names that are loaded when they are asked for."""


@cache
def _names(path: Path) -> frozenset[str]:
    """Everything that a module defines: `NAME`, and `Class.name` for the members of its classes."""
    tree = parse_module(path.read_text(encoding="utf-8"))
    found = set(_defined(tree.body))
    for each in ast.walk(tree):
        if isinstance(each, ast.ClassDef):
            found.update(f"{each.name}.{name}" for name in _defined(each.body))
    return frozenset(found)


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    for each in body:
        if isinstance(each, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield each.name
        elif isinstance(each, ast.AnnAssign | ast.Assign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(each, ast.ImportFrom | ast.Import):
            yield from (name.asname or name.name for name in each.names)


def _exists(name: str) -> bool:
    """Whether a name with dots leads to a module, or to what a module defines."""
    parts = name.split(".")
    for at in range(len(parts), 0, -1):
        module = ROOT.joinpath(*parts[:at])
        rest = ".".join(parts[at:])
        for path in (module.with_suffix(".py"), module / "__init__.py"):
            if path.is_file():
                return not rest or rest in _names(path)
        if module.is_dir():
            return not rest
    return False


def _wrong(text: str) -> list[str]:
    files = [name for name in FILE.findall(text) if not (ROOT / name).exists()]
    return files + [name for name in DOTTED.findall(text) if name not in NOT_MODULES and not _exists(name)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_mentions_only_modules_and_files_that_exist(page: Path) -> None:
    assert not _wrong(page.read_text(encoding="utf-8"))


def test_docstrings_and_comments_mention_only_modules_and_files_that_exist() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in MODULES
        if _wrong(path.read_text(encoding="utf-8"))  # to take a module apart costs more
        for line, text in docstrings_and_comments(path)
        for name in _wrong(text)
    ]
    assert not wrong


RAISED = re.compile(r"^ {4}([A-Z]\w+(?:, [A-Z]\w+)*):", re.MULTILINE)


def _identifiers(tree: ast.AST) -> Iterator[str]:
    for each in ast.walk(tree):
        for attribute in ("id", "attr", "name"):
            if isinstance(found := getattr(each, attribute, None), str):
                yield found


def test_what_a_docstring_says_is_raised_is_a_name_of_its_module_or_a_class_of_ours() -> None:
    """A class that was renamed keeps no old name in a section `Raises`."""
    texts = {path: path.read_text(encoding="utf-8") for path in MODULES if path.relative_to(ROOT).parts[0] != "tests"}
    classes = {name for text in texts.values() for name in re.findall(r"^ *class (\w+)", text, re.MULTILINE)}
    wrong = []
    for path, source in texts.items():
        tree = parse_module(source) if "Raises:" in source else ast.Module([], [])
        documented = [
            name
            for each in ast.walk(tree)
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            for names in RAISED.findall((ast.get_docstring(each) or "").partition("\nRaises:\n")[2])
            for name in names.split(", ")
        ]
        known = {*classes, *dir(builtins), *_identifiers(tree)}
        wrong += [f"{path.relative_to(ROOT)}: {name}" for name in documented if name not in known]
    assert not wrong


def _tree() -> dict[str, set[str]]:
    """What the tree of CONTRIBUTING.md names, by folder: a name is a word before the two spaces that end its column."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = text.partition("## What lives where")[2].split("```")[1]
    found: dict[str, set[str]] = {}
    folder = ""
    for line in block.strip().splitlines():
        head = re.match(r"(\w+)/\s", line)
        folder = head[1] if head else folder
        column = (
            re.split(r" {2,}", line[12:].strip())[0] if folder in ("console", "screens", "runtime", "orbiter") else ""
        )
        found.setdefault(folder, set()).update(re.findall(r"\w+/?", column))
    return found


@pytest.mark.parametrize("folder", ["console", "screens", "runtime", "orbiter"])
def test_the_tree_names_each_package_and_nothing_else(folder: str) -> None:
    packages = {f"{path.parent.name}/" for path in (ROOT / folder).glob("*/__init__.py")}
    named = _tree()[folder]
    assert {name for name in named if name.endswith("/")} == packages
    assert not [name for name in named - packages if not (ROOT / folder / f"{name}.py").is_file()]


def test_the_tree_names_each_folder_at_the_top() -> None:
    assert set(_tree()) == set(FOLDERS)


def test_the_time_that_a_test_may_take_is_the_one_of_the_settings() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    limit_s = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"][
        "timeout"
    ]
    minutes = {"two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
    said = re.search(r"longer than (\w+) minutes fails", text)
    assert said is not None
    assert minutes[said[1]] * 60 == limit_s


def _change_sections() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition("## How to change")[2].partition("\n## ")[0]


def test_each_change_leads_to_a_place_that_exists() -> None:
    rows = [line for line in _change_sections().splitlines() if line.startswith("| ")][2:]
    assert rows
    assert not [row for row in rows if not CHANGES.search(row.split(" | ")[1])], "a row names no `file.py`: `NAME`"
    places = [
        (path, name) for path, names in CHANGES.findall(_change_sections()) for name in re.findall(r"[\w.]+", names)
    ]
    assert not [f"{path}: {name}" for path, name in places if name not in _names(ROOT / path)]


def test_the_makefile_names_files_that_exist() -> None:
    named = re.findall(r"\b[\w/]+/\w+\.py\b", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]
