"""What is defined once: other code uses the definition, and does not do the same by itself."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import orbiter.models
from orbiter.models.sdk_provider import SdkProvider

ROOT = Path(__file__).parents[1]
PACKAGES = ("orbiter", "runtime", "screens", "console", "themes")
CAUSES = {"__cause__", "__context__"}


@cache
def modules() -> tuple[tuple[str, str, ast.Module], ...]:
    """Path, text and tree of each."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    texts = [(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]
    return tuple((path, text, ast.parse(text)) for path, text in texts)


def walks_a_chain(tree: ast.AST) -> bool:
    """Whether a loop goes from an exception to what it came from."""
    loops = (node for node in ast.walk(tree) if isinstance(node, ast.While))
    return any(
        isinstance(node, ast.Attribute) and node.attr in CAUSES and isinstance(node.ctx, ast.Load)
        for loop in loops
        for node in ast.walk(loop)
    )


def names_a_verb(tree: ast.AST) -> bool:
    """Whether a command goes over the link by the text of its verb, and not as a request."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "command"
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
        for node in ast.walk(tree)
    )


def compares_a_moment(tree: ast.AST) -> bool:
    """Whether it says for itself how long a key must wait: a constant or an attribute that is named for it."""
    return any(
        isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, float)
        and any("ARM" in each.id.split("_") for each in ast.walk(node) if isinstance(each, ast.Name))
        for node in ast.walk(tree)
    )


@pytest.mark.parametrize(
    ("is_one", "words", "made_up", "homes"),
    [
        (walks_a_chain, CAUSES, ("while exc := exc.__cause__: pass", "while e := e.__context__: pass"), set()),
        (names_a_verb, {"command"}, ("link.command('answer', option='retry')",), set()),
        (compares_a_moment, {"ARM"}, ("ARM_S = 0.4", "SOME_ARM: float = 1.0"), {"screens/shell/armed_keys.py"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_it_is_defined_in_one_place(is_one: object, words: set[str], made_up: tuple[str, ...], homes: set[str]) -> None:
    """Only a module whose text has one of `words` can hold one."""
    assert callable(is_one)
    for each in made_up:
        assert is_one(ast.parse(each)), "the search would find one"
        assert any(word in each for word in words)
    assert {path for path, text, tree in modules() if any(word in text for word in words) and is_one(tree)} == homes


def test_the_vendors_providers_have_one_base() -> None:
    found = set()
    for vendor in ("openai", "anthropic"):
        package = importlib.import_module(f"{orbiter.models.__name__}.{vendor}")
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            values = vars(importlib.import_module(each.name)).values()
            found |= {value for value in values if isinstance(value, type) and value.__module__ == each.name}
    providers = {each for each in found if hasattr(each, "complete")}
    assert {each.__name__ for each in providers} == {"OpenAIProvider", "AnthropicProvider"}
    assert all(issubclass(each, SdkProvider) for each in providers)
    assert all("complete" not in vars(each) and "stream" not in vars(each) for each in providers)


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Named collections and patterns at the top of a module: the name without `_`, and what is written as its value."""
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and target.id.isupper() and isinstance(value, ast.Call | ast.Dict | ast.Tuple):
            words = [each for each in ast.walk(value) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            if len(words) > 2 or (ast.unparse(value).startswith("re.compile(") and len(ast.unparse(value)) > 25):
                yield target.id.lstrip("_"), ast.unparse(value)


def test_a_list_of_words_and_a_pattern_are_written_once() -> None:
    """Two under one name are one, or differ. Statements of the two stores may agree: each speaks its own dialect."""
    homes: dict[tuple[str, str], list[str]] = {}
    for path, _, tree in modules():
        for constant in constants(tree):
            homes.setdefault(constant, []).append(path)
    assert len(homes) > 300, "the search finds them"
    twins = {name: paths for (name, _), paths in homes.items() if len(paths) > 1}
    stores = {"runtime/record/sqlite", "runtime/record/postgres"}
    assert {name: paths for name, paths in twins.items() if {path.rpartition("/")[0] for path in paths} != stores} == {}
