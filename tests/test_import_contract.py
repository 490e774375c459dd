"""The import contract: what it refuses, and what it lets pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from grimp import ImportGraph

from tests.import_contract import PACKAGES, refused_imports, stated_imports

STATED = {
    "runtime": frozenset[str](),
    "runtime.record": frozenset({"orbiter", "pydantic"}),
    "runtime.record.state": frozenset({"orbiter.*"}),
    "orbiter": frozenset[str](),
    "orbiter.models": frozenset[str](),
}


def graph(importer: str, imported: str) -> ImportGraph:
    made = ImportGraph()
    for name in (importer, imported):
        made.add_module(name)
    made.add_import(importer=importer, imported=imported, line_number=7, line_contents="")
    return made


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("runtime.record.journal", "runtime.record.ids"),
        ("runtime.record.journal", "orbiter.errors"),
        ("runtime.record.journal", "pydantic"),
        ("runtime.record.journal", "json"),
        ("runtime.record.state.events", "orbiter.models.types"),
        ("runtime.record.state.events", "orbiter.errors"),
        ("textual", "rich"),
    ],
)
def test_what_the_docstring_names_may_be_imported(importer: str, imported: str) -> None:
    assert refused_imports(graph(importer, imported), STATED) == []


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("runtime.record.journal", "orbiter.models.types"),
        ("runtime.record.journal", "runtime.record.state.events"),
        ("runtime.record", "runtime.record.state"),
        ("runtime.record.state.events", "runtime.record.ids"),
        ("runtime.record.state.events", "pydantic"),
        ("orbiter.agent", "runtime.record.ids"),
    ],
)
def test_all_else_is_refused(importer: str, imported: str) -> None:
    assert refused_imports(graph(importer, imported), STATED) == [(importer, 7, imported)]


@pytest.mark.parametrize("doc", ["", "What was recorded.", "Imports `a`.\n\nImports `b`."])
def test_a_docstring_says_it_once(tmp_path: Path, doc: str) -> None:
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "__init__.py").write_text(f'"""{doc}"""\n')
    with pytest.raises(ValueError, match="needs one paragraph like"):
        stated_imports(tmp_path)


def test_every_package_of_ours_has_a_list() -> None:
    found = stated_imports(Path(__file__).parents[1])
    assert set(PACKAGES) <= set(found)
    assert found["runtime.record.sqlite"] >= {"aiosqlite", "runtime.record.rules"}
