"""The reference: every name of `orbiter.__all__` says what it takes and gives, and its examples run."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import pytest
from pydantic import BaseModel

import orbiter
from orbiter.models.scripted import provider as scripted
from orbiter.registry import model_registry
from tests.public_api import MODULES, public_names

ROOT = Path(__file__).parents[2]
UNIONS = {"Message": "orbiter/_internal/values/messages.py", "StreamEvent": "orbiter/_internal/values/stream_events.py"}
"""Unions have no docstring of their own: the text below the assignment is what the reference shows."""


def _public() -> dict[str, Any]:
    """Classes and functions by name, each once: where it is found first."""
    found: dict[str, Any] = {}
    for module in MODULES:
        exported = import_module(module)
        for name in public_names(exported):
            value = getattr(exported, name)
            known = any(value is each for each in found.values())
            if (inspect.isclass(value) or inspect.isfunction(value)) and not known and not name.startswith("_"):
                found[name if module == "orbiter" else f"{module.removeprefix('orbiter.')}.{name}"] = value
    return found


PUBLIC = _public()
DOCUMENTED = sorted(set(orbiter.__all__) - UNIONS.keys())
WITH_EXAMPLE = sorted(name for name, found in PUBLIC.items() if name in DOCUMENTED or ">>>" in (found.__doc__ or ""))


@pytest.fixture(autouse=True)
def own_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an example registers is forgotten."""
    monkeypatch.setattr(scripted, "_registered", dict(scripted._registered))
    monkeypatch.setattr(model_registry, "_items", dict(model_registry._items))


def docstring_of(name: str) -> str:
    found = PUBLIC[name]
    return inspect.cleandoc(vars(found).get("__doc__") or "" if inspect.isclass(found) else found.__doc__ or "")


def section(text: str, title: str) -> str:
    """The indented lines below ``Title:``; empty without it."""
    found = re.search(rf"^{title}:\n((?:(?:    .*)?\n?)+)", text, re.MULTILINE)
    return inspect.cleandoc(f"\n{found[1]}") if found else ""


def named_in(text: str) -> set[str]:
    return {
        name
        for part in ("Args", "Attributes")
        for name in re.findall(r"^(\*{0,2}\w+):", section(text, part), re.MULTILINE)
    }


def described_members(found: Any) -> set[str]:
    """Fields and members with a text of their own below them, which the reference shows as well."""
    if not inspect.isclass(found):
        return set()
    methods = {name for name, member in vars(found).items() if inspect.isfunction(member) and member.__doc__}
    source = Path(inspect.getfile(found)).read_text(encoding="utf-8")
    return methods | set(re.findall(r'^    (\w+)(?:: [^\n]+)?(?: = [^\n]+)?\n    """', source, re.MULTILINE))


def wanted(found: Any) -> Iterator[str]:
    """What its section must name: parameters, fields, members."""
    if inspect.isclass(found) and issubclass(found, Enum):
        yield from found.__members__
    elif inspect.isclass(found) and issubclass(found, BaseModel):
        yield from (name for name, field in found.model_fields.items() if not field.description)
    elif inspect.isclass(found) and Protocol in found.__bases__:
        yield from (name for name in vars(found) if not name.startswith("_"))
    elif inspect.isclass(found) and "__init__" not in vars(found):
        yield from (name for name in vars(found).get("__annotations__", {}) if not name.startswith("_"))
    else:
        code = getattr(found.__init__ if inspect.isclass(found) else found, "__wrapped__", None)
        code = (code or (found.__init__ if inspect.isclass(found) else found)).__code__
        count = code.co_argcount + code.co_kwonlyargcount
        yield from (name for name in code.co_varnames[:count] if name != "self")
        if code.co_flags & inspect.CO_VARKEYWORDS:
            yield f"**{code.co_varnames[count + bool(code.co_flags & inspect.CO_VARARGS)]}"


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_what_it_takes_and_gives_is_documented(name: str) -> None:
    found, text = PUBLIC[name], docstring_of(name)
    assert text
    assert set(wanted(found)) <= named_in(text) | described_members(found)
    if not inspect.isclass(found) and inspect.signature(found).return_annotation != "None":
        assert section(text, "Returns")
    for each, member in vars(found).items() if inspect.isclass(found) else ():
        if not each.startswith("_") and (inspect.isfunction(member) or isinstance(member, property | classmethod)):
            assert inspect.getdoc(member), f"{name}.{each} has no docstring"


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_its_examples_run(name: str) -> None:
    test = doctest.DocTestParser().get_doctest(docstring_of(name), {}, name, None, 0)
    assert test.examples, "it has no example"
    told: list[str] = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=told.append).failed == 0, "".join(told)


@pytest.mark.parametrize(("name", "module"), UNIONS.items())
def test_a_union_is_described_below_it(name: str, module: str) -> None:
    source = (ROOT / module).read_text(encoding="utf-8")
    assert re.search(rf'^{name} = [^"]+\n"""\w', source, re.MULTILINE)
