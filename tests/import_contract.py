"""The import contract: each package imports only what its docstring says.

A contract type of the import linter (`contract_types` in pyproject.toml). The docstring of a package has one paragraph
that begins with "Imports"; the names in backticks in it are its allow list. A name stands for a module, for the modules
directly in a package, or for a library; ``name.*`` stands for a package and all that is below it. The standard library
and the package's own modules need no mention. A package inside it is another package: it is named like any other.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output

ROOT = Path(__file__).parents[1]
PACKAGES = ("orbiter", "runtime", "screens", "console", "themes")


class RefusedImport(NamedTuple):
    """An import that the docstring of its package does not name."""

    module: str
    line: int
    imported: str


class StatedImportsContract(Contract):
    """See the module."""

    type_name = "stated_imports"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Find all imports that no docstring names."""
        refused = refused_imports(graph, stated_imports(ROOT))
        return ContractCheck(kept=not refused, metadata={"refused": refused})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each of them with its place."""
        for module, line, imported in check.metadata["refused"]:
            output.print_error(f"{module}, line {line}: the docstring of its package does not name {imported}")


def stated_imports(root: Path) -> dict[str, frozenset[str]]:
    """The allow list of each package of ours below `root`.

    Raises:
        ValueError: A docstring has no paragraph that begins with "Imports", or more than one.
    """
    found = {}
    for path in (file for package in PACKAGES for file in (root / package).rglob("__init__.py")):
        name = ".".join(path.parent.relative_to(root).parts)
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        paragraphs = [each for each in doc.split("\n\n") if each.startswith("Imports ")]
        if len(paragraphs) != 1:
            example = "Imports `runtime.record` and `pydantic`."
            raise ValueError(f"{path}: the docstring needs one paragraph like '{example}'")
        found[name] = frozenset(re.findall(r"`([\w.]+(?:\.\*)?)`", paragraphs[0]))
    return found


def refused_imports(graph: ImportGraph, stated: dict[str, frozenset[str]]) -> list[RefusedImport]:
    """The imports of modules of ours that the list of their package does not name."""
    refused = []
    for module in sorted(graph.modules):
        package = _package(module, stated)
        if package.partition(".")[0] not in PACKAGES:
            continue
        for imported in sorted(graph.find_modules_directly_imported_by(module)):
            home = _package(imported, stated)
            if home != package and not _is_named(imported, home, stated[package]):
                details = graph.get_import_details(importer=module, imported=imported)
                refused.append(RefusedImport(module, details[0]["line_number"] if details else 0, imported))
    return refused


def _package(module: str, stated: dict[str, frozenset[str]]) -> str:
    return module if module in stated else module.rpartition(".")[0] or module


def _is_named(imported: str, home: str, names: frozenset[str]) -> bool:
    if imported in names or home in names or imported in sys.stdlib_module_names:
        return True
    return any(f"{home}.".startswith(name.removesuffix("*")) for name in names if name.endswith(".*"))
