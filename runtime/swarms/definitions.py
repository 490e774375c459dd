"""The swarms and agents that a Python file defines, read from its text without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from orbiter.guests.frameworks import FRAMEWORKS, Framework, framework_of_module
from orbiter.text_input import read_bytes
from runtime.swarms.python_source import parse_module

Kind = Literal["swarm", "group", "agent", "graph", "guest", "builder"]
"""What a name stands for. ``guest``: what `guest(…)` gives. ``builder``: its `compile()` gives a graph."""

_OURS: Final[Mapping[str, Kind]] = {
    "Swarm": "swarm", "ParallelGroup": "group", "SerialGroup": "group", "Agent": "agent",
}  # fmt: skip
_ORDER: Final = ("Swarm", "ParallelGroup", "SerialGroup", "Agent", "")
"""The order in which the names of a file are listed: by what made them, those of other frameworks last."""

_FILE_BYTES: Final = 200_000
_MODULES: Final = (b"orbiter", *(name.encode() for each in FRAMEWORKS for name in (each.module, *each.makers)))
"""A file that names none of these defines nothing that runs."""
_PARAMETER: Final = "middleware"
"""A function that takes it, and gives an agent of LangChain, is given ours."""
_DURABLE: Final = "durable"
"""What makes steps of the effects in the nodes of a graph. A file that imports it needs no hint."""


@dataclass(slots=True, frozen=True)
class Definition:
    """A swarm or an agent of a file."""

    name: str
    kind: Kind
    framework: str = ""
    """Of which framework it is, where it is not one of ours."""
    hint: str = ""
    """How its steps are made finer, in one line; empty where they are fine."""

    @property
    def label(self) -> str:
        """What it is, as lists say it: ``swarm``, ``agent (pydantic-ai)``."""
        return f"{self.kind} ({self.framework})" if self.framework else self.kind


@dataclass(slots=True, frozen=True)
class _Meaning:
    """What a name of the file stands for, or what a call of it gives."""

    made_by: str
    kind: Kind
    framework: Framework | None = None
    decorates: bool = False

    def define(self, name: str, *, fine: bool = True) -> Definition:
        if self.framework is None:
            return Definition(name, self.kind)
        finer = self.framework.finer_graph if self.kind == "graph" else self.framework.finer_agent
        return Definition(name, self.kind, self.framework.name, "" if fine else finer)


def names_in(path: Path) -> list[str]:
    """The names of swarms and agents that a file defines at its outermost level."""
    return [each.name for each in definitions_in(path)]


def definitions_in(path: Path) -> list[Definition]:
    """The swarms and agents that a file defines at its outermost level: swarms, groups, agents, those of others."""
    try:
        source = read_bytes(path, most=_FILE_BYTES)  # of a pipe, which may have no end, nothing
        if not any(module in source for module in _MODULES):
            return []
        module = parse_module(source)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return []
    found = list(_defined(module, _imported(module)))
    if any(isinstance(each, ast.alias) and each.name == _DURABLE for each in ast.walk(module)):
        found = [(by, replace(each, hint="") if each.kind == "graph" else each) for by, each in found]
    return [each for _, each in sorted(found, key=lambda each: _ORDER.index(each[0]))]


def _imported(module: ast.Module) -> dict[str, _Meaning]:
    """What the names in the file mean: `Team` in ``from orbiter import Swarm as Team`` is a Swarm."""
    found: dict[str, _Meaning] = {}
    ours = {name: _Meaning(name, kind) for name, kind in _OURS.items()} | {"guest": _Meaning("", "guest")}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "orbiter":
            found |= {each.asname or each.name: ours[each.name] for each in node.names if each.name in ours}
        elif isinstance(node, ast.ImportFrom) and (framework := framework_of_module(node.module or "")) is not None:
            theirs = _meanings(framework)
            found |= {each.asname or each.name: theirs[each.name] for each in node.names if each.name in theirs}
        elif isinstance(node, ast.Import):
            for each in node.names:
                framework = framework_of_module(each.name)
                known = ours if each.name == "orbiter" else _meanings(framework) if framework is not None else {}
                found |= {f"{each.asname or each.name}.{name}": meaning for name, meaning in known.items()}
    return found


def _meanings(framework: Framework) -> dict[str, _Meaning]:
    """What the names of a framework mean, by name."""
    found = {
        name: _Meaning("", "graph" if name in framework.graphs else "agent", framework) for name in framework.importable
    }
    found |= {name: _Meaning("", "builder", framework) for name in framework.builders}
    return found | {name: _Meaning("", "graph", framework, decorates=True) for name in framework.decorators}


def _defined(module: ast.Module, meanings: Mapping[str, _Meaning]) -> Iterator[tuple[str, Definition]]:
    """What is defined, with what made it: variables that hold one, and functions that say that they give one."""
    known: dict[str, _Meaning] = {}
    for node in module.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            meaning = _made(node.value, meanings, known) if isinstance(node.value, ast.Call) else None
            if isinstance(node, ast.AnnAssign) and (said := _given(node.annotation, meanings)) is not None:
                meaning = said
            if meaning is None:
                continue
            for name in (target.id for target in targets if isinstance(target, ast.Name)):
                known[name] = meaning
                if meaning.kind != "builder":
                    yield meaning.made_by, meaning.define(name, fine=_is_fine(meaning, node.value))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            meaning = _made_by_function(node, meanings)
            if meaning is not None:
                fine = meaning.kind != "graph" and (_PARAMETER in _names(node.args) or _is_fine(meaning, node))
                yield meaning.made_by, meaning.define(node.name, fine=fine)


def _made(call: ast.Call, meanings: Mapping[str, _Meaning], known: Mapping[str, _Meaning]) -> _Meaning | None:
    """What a call gives: also that of a builder, at the end of a chain of calls of its methods."""
    meaning = meanings.get(_name(call.func))
    if meaning is not None and meaning.kind == "guest":
        return _made_by_guest(call, meanings, known)
    if meaning is not None or not isinstance(call.func, ast.Attribute):
        return None if meaning is not None and meaning.decorates else meaning
    root: ast.expr = call
    while isinstance(root, ast.Call | ast.Attribute):
        if isinstance(root, ast.Call) and (found := meanings.get(_name(root.func))) and found.kind == "builder":
            return _compiled(found, call.func.attr)
        root = root.func if isinstance(root, ast.Call) else root.value
    if isinstance(root, ast.Name) and root.id in known and known[root.id].kind == "builder":
        return _compiled(known[root.id], call.func.attr)
    return None


def _compiled(builder: _Meaning, method: str) -> _Meaning:
    return replace(builder, kind="graph") if method == "compile" else builder


def _made_by_guest(call: ast.Call, meanings: Mapping[str, _Meaning], known: Mapping[str, _Meaning]) -> _Meaning:
    """What `guest(…)` gives: an agent of the framework of its argument, where that can be read off the file."""
    taken = call.args[0] if call.args else None
    inner = None
    if isinstance(taken, ast.Call):
        inner = _made(taken, meanings, known)
    elif isinstance(taken, ast.Name):
        inner = known.get(taken.id)
    if inner is None or inner.framework is None or inner.kind == "builder":
        return _Meaning("", "agent")
    return inner


def _made_by_function(
    function: ast.FunctionDef | ast.AsyncFunctionDef, meanings: Mapping[str, _Meaning]
) -> _Meaning | None:
    """What a function gives, by its annotation; one that takes `middleware`, by the call in its `return`. A function
    of the functional API of LangGraph is a graph itself.
    """
    for decorator in function.decorator_list:
        made = meanings.get(_name(decorator.func if isinstance(decorator, ast.Call) else decorator))
        if made is not None and made.decorates:
            return made
    if isinstance(function, ast.AsyncFunctionDef) or _needed(function.args) - {_PARAMETER}:
        return None
    if function.returns is not None and (said := _given(function.returns, meanings)) is not None:
        return said
    if _PARAMETER in _names(function.args):
        last = function.body[-1]
        if isinstance(last, ast.Return) and isinstance(last.value, ast.Call):
            return _made(last.value, meanings, {})
    return None


def _given(annotation: ast.expr, meanings: Mapping[str, _Meaning]) -> _Meaning | None:
    meaning = meanings.get(_name(annotation))
    return meaning if meaning is not None and meaning.kind not in ("builder", "guest") else None


def _is_fine(meaning: _Meaning, node: ast.AST) -> bool:
    """Whether each call of it is a step, as far as the text tells: it names our middleware, or one that is not known
    here.
    """
    ours = meaning.framework.middleware if meaning.framework is not None else ""
    if not ours:
        return True
    return any(
        ours in (getattr(each, "id", ""), getattr(each, "attr", ""))
        or (isinstance(each, ast.keyword) and each.arg == _PARAMETER and isinstance(each.value, ast.Name))
        for each in ast.walk(node)
    )


def _name(node: ast.expr) -> str:
    """The name of a class or function, without what stands in brackets: ``Agent[None, str]`` is an Agent."""
    return ast.unparse(node.value if isinstance(node, ast.Subscript) else node)


def _names(arguments: ast.arguments) -> set[str]:
    return {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def _needed(arguments: ast.arguments) -> set[str]:
    """The parameters that have no default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = positional[: len(positional) - len(arguments.defaults)]
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {each.arg for each in needed} | {each.arg for each, default in keywords if default is None}
