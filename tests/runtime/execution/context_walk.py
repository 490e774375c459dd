"""Counts how far the context of a step travels: read from the source, without running it.

From one function on, every call is followed that hands the context on, or is a method of it, or of an object that keeps
it. A function is opened once. Properties do not count: a reader does not stop at one.

    python -m tests.runtime.execution.context_walk [ROOT MODULE:FUNCTION PARAMETER MODULE:OWNER]

prints the walks of this checkout, or one of the tree at ROOT: for commit 92d48fd, unpacked there,
``context_walk ROOT runtime.work.attempts:attempt_once c runtime.work.carried:Carried``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef
ROOT = Path(__file__).parents[3]
PACKAGES = ("orbiter", "runtime")


class Place(NamedTuple):
    """A function or a class, by its module and its name there."""

    module: str
    name: str


class Stop(NamedTuple):
    """A function that gets the context, and how deep in the walk."""

    place: Place
    depth: int


@dataclass(frozen=True)
class Walk:
    """The functions that get the context, in the order in which a reader meets them."""

    stops: tuple[Stop, ...]

    @property
    def functions(self) -> int:
        """How many functions get the context."""
        return len({stop.place for stop in self.stops})

    @property
    def met(self) -> int:
        """How often one is met."""
        return len(self.stops)

    @property
    def files(self) -> int:
        """In how many files they are."""
        return len({stop.place.module for stop in self.stops})

    @property
    def returns(self) -> int:
        """How often a stop is in a file that the walk was in before, and has left."""
        modules = [stop.place.module for stop in self.stops]
        changes = [each for at, each in enumerate(modules) if at == 0 or each != modules[at - 1]]
        return len(changes) - len(set(changes))


class Source:
    """The functions, classes and imports of a tree. A module is read when something in it is looked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._functions: dict[Place, Function] = {}
        self._classes: set[Place] = set()
        self._imports: dict[Place, Place] = {}
        self._tuples: dict[Place, list[str]] = {}
        self._known: set[str] = set()

    def function(self, place: Place) -> Function | None:
        """A function, or a method as `Class.method`; None where the module does not define it."""
        self._read(place.module)
        return self._functions.get(place)

    def is_class(self, place: Place) -> bool:
        """Whether a name is that of a class."""
        self._read(place.module)
        return place in self._classes

    def names_in(self, place: Place) -> list[str]:
        """The names in a tuple at the top of a module."""
        self._read(place.module)
        return self._tuples.get(place, [])

    def _read(self, module: str) -> None:
        if module in self._known:
            return
        self._known.add(module)
        base = self.root.joinpath(*module.split("."))
        found = next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)
        if found is None or base.parts[len(self.root.parts)] not in PACKAGES:
            return
        tree = ast.parse(found.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    self._imports[Place(module, each.asname or each.name)] = Place(node.module, each.name)
        for node in tree.body:
            if isinstance(node, Function):
                self._functions[Place(module, node.name)] = node
            elif isinstance(node, ast.ClassDef):
                self._classes.add(Place(module, node.name))
                methods = (each for each in node.body if isinstance(each, Function))
                self._functions.update({Place(module, f"{node.name}.{each.name}"): each for each in methods})
            elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Tuple):
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                if isinstance(target, ast.Name):
                    names = [each.id for each in node.value.elts if isinstance(each, ast.Name)]
                    self._tuples[Place(module, target.id)] = names

    def find(self, module: str, called: ast.expr) -> Place | None:
        """What a name, or a name of an imported module, stands for."""
        if isinstance(called, ast.Name):
            self._read(module)
            place = Place(module, called.id)
            return self._imports.get(place, place)
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            self._read(module)
            base = self._imports.get(Place(module, called.value.id))
            return Place(f"{base.module}.{base.name}", called.attr) if base is not None else None
        return None

    def kept_in(self, owner: str, module: str, name: str) -> str | None:
        """The attribute in which a class keeps the context; None where it keeps none."""
        start = self.function(Place(module, f"{name}.__init__"))
        given = {arg.arg for arg in start.args.args if _is_named(arg.annotation, owner)} if start is not None else set()
        for node in ast.walk(start) if start is not None else ():
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in given:
                target = node.targets[0]
                if isinstance(target, ast.Attribute):
                    return target.attr
        return None


def _is_named(annotation: ast.expr | None, name: str) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == name


class Walker:
    """Follows a context of the class `owner` through a tree."""

    def __init__(self, source: Source, owner: Place) -> None:
        self._source, self._owner = source, owner
        self._stops: list[Stop] = []
        self._opened: set[Place] = set()

    def walk(self, start: Place, parameter: str) -> Walk:
        """The walk from a function on, one of whose parameters is the context."""
        self._visit(start, {parameter}, 0)
        return Walk(tuple(self._stops))

    def _visit(self, place: Place, names: set[str], depth: int) -> None:
        function = self._source.function(place)
        assert function is not None, f"{place.module}:{place.name} is not a function"
        self._stops.append(Stop(place, depth))
        if place in self._opened:
            return
        self._opened.add(place)
        scope = _Scope(place.module, place.name.partition(".")[0] if "." in place.name else "", names)
        if scope.class_name and scope.class_name != self._owner.name:
            scope.kept = self._source.kept_in(self._owner.name, place.module, scope.class_name) or ""
        for node in _in_order(function.body):
            if isinstance(node, ast.Assign):
                scope.assign(node)
            elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                looped = self._source.find(place.module, node.iter)
                scope.loops[node.target.id] = self._source.names_in(looped) if looped is not None else []
            elif isinstance(node, ast.Call):
                for found, given in self._called(node, scope):
                    self._visit(found, given, depth + 1)

    def _called(self, call: ast.Call, scope: _Scope) -> Iterator[tuple[Place, set[str]]]:
        """The functions that a call hands the context to, and the names that it has there."""
        function, source = call.func, self._source
        if isinstance(function, ast.Attribute):
            method = Place(self._owner.module, f"{self._owner.name}.{function.attr}")
            if scope.is_context(function.value) and source.function(method) is not None:
                yield method, {"self"}
                return
            own = Place(scope.module, f"{scope.class_name}.{function.attr}")
            if scope.kept and isinstance(function.value, ast.Name) and function.value.id == "self":
                if source.function(own) is not None:
                    yield own, set()
                return
            if isinstance(function.value, ast.Call):
                yield from self._of_made(function.value, function.attr, scope)
        positions = [at for at, each in enumerate(call.args) if scope.is_context(each)]
        keywords = {each.arg for each in call.keywords if each.arg and scope.is_context(each.value)}
        if not positions and not keywords:
            return
        looped = scope.loops.get(function.id, ()) if isinstance(function, ast.Name) else ()
        called_here: list[ast.expr] = [ast.Name(each) for each in looped]
        for called in called_here or [function]:
            found = self._source.find(scope.module, called)
            if found is not None and (target := source.function(found)) is not None:
                parameters = [each.arg for each in target.args.args]
                yield found, {parameters[at] for at in positions if at < len(parameters)} | keywords

    def _of_made(self, made: ast.Call, method: str, scope: _Scope) -> Iterator[tuple[Place, set[str]]]:
        """`Attempt(execution).run()`: a method of an object that is made with the context."""
        found = self._source.find(scope.module, made.func)
        if found is not None and self._source.is_class(found) and any(scope.is_context(each) for each in made.args):
            yield Place(found.module, f"{found.name}.{method}"), set()


@dataclass
class _Scope:
    """What stands for the context within a function."""

    module: str
    class_name: str
    names: set[str]
    kept: str = ""
    loops: dict[str, list[str]] = field(default_factory=dict)

    def is_context(self, expression: ast.expr) -> bool:
        if isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name):
            return bool(self.kept) and expression.value.id == "self" and expression.attr == self.kept
        return isinstance(expression, ast.Name) and expression.id in self.names

    def assign(self, node: ast.Assign) -> None:
        targets: list[ast.expr] = [node.targets[0]]
        values: list[ast.expr] = [node.value]
        if isinstance(targets[0], ast.Tuple) and isinstance(values[0], ast.Tuple):
            targets, values = targets[0].elts, values[0].elts
        for target, value in zip(targets, values, strict=False):
            if isinstance(target, ast.Name) and self.is_context(value):
                self.names.add(target.id)


def _in_order(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes as a reader meets them."""
    for statement in body:
        yield from _below(statement)


def _below(node: ast.AST) -> Iterator[ast.AST]:
    inner = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call):  # its arguments are made before it is called
        for each in (*inner[1:], inner[0]):
            yield from _below(each)
        yield node
        return
    yield node
    for each in inner:
        yield from _below(each)


def walks(root: Path = ROOT) -> dict[str, Walk]:
    """The walks of this checkout: an attempt, and a step up to its attempts."""
    source = Source(root)
    attempt = Place("runtime.execution.attempt", "Attempt.run")
    step = Place("runtime.execution.step_runner", "run_step")
    owner = Place("runtime.execution.step_execution", "StepExecution")
    return {
        "attempt": Walker(source, owner).walk(attempt, "self"),
        "step": Walker(source, owner).walk(step, "execution"),
    }


def main(arguments: list[str]) -> None:
    if arguments:
        root, start, parameter, owner = arguments
        found = {start: Walker(Source(Path(root)), Place(*owner.split(":"))).walk(Place(*start.split(":")), parameter)}
    else:
        found = walks()
    for name, walk in found.items():
        print(f"{name}: {walk.functions} functions, met {walk.met} times, {walk.files} files, {walk.returns} returns")
        for place, depth in walk.stops:
            print(f"{'  ' * depth}{place.module}.{place.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
