"""Patches of Textual: each is still needed, was read against the pinned version, and stands in `console/terminal`."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
REPORTS = ROOT / "docs" / "upstream"
ROW = re.compile(r"^\| \[(.+)\]\((.+)\) \| `(\S+)`.* \| (\S+) \|$", re.MULTILINE)
SCRIPT = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

RUN_ALL = """
import json, sys
found = {}
for name, script in json.load(sys.stdin).items():
    try:
        exec(compile(script, name, "exec"), {"__name__": "__main__"})
        found[name] = "passed"
    except AssertionError:
        found[name] = "needed"
    except BaseException as error:
        found[name] = repr(error)
print(json.dumps(found))
"""
"""In a process of its own: here our patches may be installed."""


def rows() -> list[tuple[str, str, str, str]]:
    """Title, report, module and version of each patch, from the table."""
    return ROW.findall((REPORTS / "index.md").read_text(encoding="utf-8"))


def test_each_fault_of_textual_is_still_there() -> None:
    """A script that passes: Textual has mended it. Remove the patch and its report."""
    scripts = {}
    for report in sorted(REPORTS.glob("*.md")):
        if report.name != "index.md":
            (scripts[report.name],) = SCRIPT.findall(report.read_text(encoding="utf-8"))
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL], input=json.dumps(scripts), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == dict.fromkeys(scripts, "needed")


def test_the_table_names_each_report_and_the_version_that_was_read() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (pinned,) = [line.removeprefix("textual==") for line in project["dependencies"] if line.startswith("textual==")]
    assert importlib.metadata.version("textual") == pinned
    assert {report for _, report, _, _ in rows()} == {found.name for found in REPORTS.glob("*.md")} - {"index.md"}
    for title, report, module, version in rows():
        written = (REPORTS / report).read_text(encoding="utf-8")
        assert written.startswith(f"# {title}\n")
        assert version == pinned
        assert f"Textual {version}" in written
        assert f"Textual {version}" in (ast.get_docstring(ast.parse((ROOT / module).read_text(encoding="utf-8"))) or "")


def test_each_patch_is_in_the_table() -> None:
    listed = {module for _, _, module, _ in rows()}
    patches = {path.relative_to(ROOT).as_posix() for path in (ROOT / "console" / "terminal").glob("*_patch.py")}
    assert patches <= listed


IN_OUR_INPUT = {
    "screens/widgets/line_input.py: LineInput: def _position_to_cell",
    "screens/widgets/line_input.py: LineInput: def _cell_offset_to_index",
}
"""What has to be overridden in a class of ours: the reason is in docs/upstream/input-columns.md."""


def test_private_names_of_textual_are_used_in_console_terminal_alone() -> None:
    found = [use for package in ("console", "screens", "themes") for use in uses_of_private_names(ROOT / package)]
    assert any(use.startswith("console/terminal/patched_app.py") for use in found), "this test finds nothing"
    assert {use for use in found if not use.startswith("console/terminal/")} == IN_OUR_INPUT


def uses_of_private_names(package: Path) -> Iterator[str]:
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        source = path.read_text(encoding="utf-8")
        if "textual" not in source and "screens." not in source:
            continue
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "textual":
                names = (f"{node.module}.{each.name}" for each in node.names)
                yield from (f"{place}: {name}" for name in names if any(map(is_private, name.split("."))))
            elif isinstance(node, ast.Attribute) and node.attr in app_names() and not is_self(node.value):
                yield f"{place}: {ast.unparse(node)}"
            elif isinstance(node, ast.Constant) and node.value == "__watchers":
                yield f"{place}: __watchers"
        module = place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.bases:
                yield from (f"{place}: {name}" for name in inherited_names(module, node))


def inherited_names(module: str, definition: ast.ClassDef) -> Iterator[str]:
    """Private names of Textual's classes that a class of ours overrides, calls or sets."""
    bases = getattr(importlib.import_module(module), definition.name).__mro__
    theirs = {name for base in bases if is_of_textual(base) for name in private_names(base)}
    for node in ast.walk(definition) if theirs else ():
        if isinstance(node, ast.Attribute) and node.attr in theirs:
            yield f"{definition.name}: {ast.unparse(node)}"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in theirs:
            yield f"{definition.name}: def {node.name}"


@cache
def private_names(cls: type) -> frozenset[str]:
    """Those that a class of Textual defines, or sets on itself."""
    return frozenset(filter(is_private, vars(cls))) | set_names(cls.__module__)[cls.__name__]


@cache
def set_names(module: str) -> dict[str, set[str]]:
    """What the classes of a module set on themselves, by the name of the class."""
    source = Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8")
    return {
        definition.name: {
            node.attr
            for node in ast.walk(definition)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_private(node.attr)
        }
        for definition in ast.walk(ast.parse(source))
        if isinstance(definition, ast.ClassDef)
    }


@cache
def app_names() -> frozenset[str]:
    """What others might read of an app, a screen or a widget. Names that tuples have are not counted."""
    from textual.app import App
    from textual.screen import Screen

    bases = {*App.__mro__, *Screen.__mro__}
    theirs = {name for base in bases if is_of_textual(base) for name in private_names(base)}
    return frozenset(theirs - {"_replace", "_asdict", "_exit"})


def is_of_textual(cls: type) -> bool:
    return cls.__module__.split(".")[0] == "textual"


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}
