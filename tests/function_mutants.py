"""Mutation tests of functions: the code of permission matching is changed, and a test must notice it.

mutmut makes the mutants of the files in `[tool.mutmut]`. `python -m tests.function_mutants` collects the tests once,
then tries each mutant in a fork of this process: only the tests that call the function, the quickest first, up to the
first failure. A mutant costs milliseconds so, where a start of pytest costs seconds. Before that the tests must pass in
such a fork without a mutant. It prints each change that no test noticed, but for those that
`tests/equivalent_mutants.toml` names with the reason why no test can. `--limit` is in seconds (900), `--only` names a
module or one mutant, `--every 5` tries each fifth.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import json
import os
import resource
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol
from mutmut.mutation.file_mutation import MutatedFile, mutate_file_contents
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state

EQUIVALENT: Final = Path(__file__).parent / "equivalent_mutants.toml"
"""Mutants that behave as the code does: a module's function, the changed lines, and why."""
CPU_S: Final = 5
"""Processor seconds for one test: a mutant with which it runs longer hangs, and is noticed so."""
MEMORY: Final = 4 << 30
"""Bytes: a mutant that takes more ends with an error, and is noticed so."""


CACHED: Final[list[Any]] = []
"""Functions of ours that cache what they return."""


@dataclass(slots=True, frozen=True)
class Mutant:
    """One change of one function. `diff`: its changed lines, each with a ``-`` or a ``+``."""

    name: str
    function: str
    diff: tuple[str, ...]


UNCHANGED: Final = Mutant("unchanged", "", ())
"""No mutant has this name: with it the code is as it is."""


class MutatedModules(MetaPathFinder, Loader):
    """Imports the mutated source of each module: every mutant is in it, and none is in force yet."""

    def __init__(self, files: Sequence[str]) -> None:
        self.sources = {path.removesuffix(".py").replace("/", "."): Path(path) for path in files}
        self.files: dict[str, MutatedFile] = {}

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        """A module of ours, where its source is mutated."""
        source = self.sources.get(fullname)
        return spec_from_loader(fullname, self, origin=str(source.absolute())) if source else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the mutated source in the module."""
        module.__file__ = module.__spec__.origin if module.__spec__ else None
        exec(compile(self.mutated(module.__name__).code, module.__file__ or "", "exec"), module.__dict__)

    def mutated(self, module: str) -> MutatedFile:
        """The source of a module with all its mutants."""
        if module not in self.files:
            source = self.sources[module]
            self.files[module] = mutate_file_contents(str(source), source.read_text(encoding="utf-8"))
        return self.files[module]

    def mutants(self) -> list[Mutant]:
        """Every mutant of every module."""
        found = []
        for module in self.sources:
            file = self.mutated(module)
            lines = file.code.splitlines()
            for name in file.mutant_names:
                function = name.rpartition("__mutmut_")[0]
                before, after = (
                    [line.strip().replace(each, "") for line in lines[span.start - 1 : span.end]]
                    for each in (f"{function}__mutmut_orig", name)
                    for span in (file.line_span_by_function_name[each],)
                )
                diff = [each for each in difflib.ndiff(before, after) if each[0] in "+-"]
                found.append(Mutant(f"{module}.{name}", f"{module}.{function}", tuple(diff)))
        return found


class TryMutants:
    """A plugin of pytest: instead of running the collected tests once, runs them on each mutant."""

    def __init__(self, mutants: Sequence[Mutant], *, every: Sequence[Mutant], limit: float) -> None:
        self.mutants, self.every, self.limit = mutants, every, limit
        self.equivalent = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))
        self.survived = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Find out which test calls which function, then try the mutants."""
        CACHED.extend(_cached_functions())
        calls = _calls_of_tests(session.items)
        gc.freeze()  # a collection in a fork copies every page that it touches
        called = sorted({at for mutant in self.mutants for at in calls.get(mutant.function, [])})
        if called and (by := _noticed_by(UNCHANGED, session.items, called)) is not None:
            pytest.exit(f"{session.items[by].nodeid} fails in a fork without a mutant", returncode=1)
        end, tried, known = time.monotonic() + self.limit, 0, 0
        for mutant in self.mutants:
            if time.monotonic() > end:
                break
            tried += 1
            tests = calls.get(mutant.function, [])
            if tests and (by := _noticed_by(mutant, session.items, tests)) is not None:
                tests.insert(0, tests.pop(tests.index(by)))  # it notices the next one of the function, too, as a rule
                continue
            if list(mutant.diff) in [each["diff"] for each in self.equivalent.get(mutant.function, [])]:
                known += 1
                continue
            self.survived += 1
            _say(f"{mutant.name}: {'no test noticed' if tests else 'no test calls it'}", *mutant.diff)
        changes = {(each.function, *each.diff) for each in self.every}
        for function, entries in self.equivalent.items():
            for entry in entries:
                if (function, *entry["diff"]) not in changes:
                    _say(f"{EQUIVALENT.name}: {function} has no such mutant any more: take it out", *entry["diff"])
        _say(
            f"functions: {tried} of {len(self.mutants)} mutants tried, {self.survived} survived, "
            f"{known} more change nothing (tests/equivalent_mutants.toml)"
        )
        return True


def _cached_functions() -> list[Any]:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("runtime.judgement.")]
    return [found for module in modules for found in vars(module).values() if hasattr(found, "cache_clear")]


def _say(*lines: str) -> None:
    print("\n    ".join(lines), file=sys.__stderr__, flush=True)


def _calls_of_tests(items: Sequence[pytest.Item]) -> dict[str, list[int]]:
    """For each mutated function the tests that call it, the quickest first.

    They run in a fork: what they cache would hide mutants from the forks to come.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        set_mutant_under_test("stats")
        calls: dict[str, list[tuple[float, int]]] = {}
        for at, item in enumerate(items):
            state()._stats.clear()
            start = time.perf_counter()
            if _fails(item, items[at + 1] if at + 1 < len(items) else None):
                _say(f"{item.nodeid} fails without a mutant: mend it first")
                os._exit(1)
            for function in state()._stats:
                calls.setdefault(function, []).append((time.perf_counter() - start, at))
        with os.fdopen(writer, "w", encoding="utf-8") as file:
            json.dump({function: [at for _, at in sorted(found)] for function, found in calls.items()}, file)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as file:
        told = file.read()
    if os.waitpid(child, 0)[1]:
        pytest.exit("the tests do not pass on the code as it is", returncode=1)
    found: dict[str, list[int]] = json.loads(told)
    return found


def _fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Whether a test fails. What our functions cached before is forgotten: it would keep the test from calling them."""
    for function in CACHED:
        function.cache_clear()
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def _fails_or_hangs(item: pytest.Item) -> bool:
    """Whether a test fails. One that takes too long ends the process."""
    limit = int(time.process_time()) + 1 + CPU_S
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    return _fails(item, None)


def _noticed_by(mutant: Mutant, items: Sequence[pytest.Item], tests: Sequence[int]) -> int | None:
    """The test that fails with the mutant; the first one, where it ends the process."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        set_mutant_under_test(mutant.name)
        try:
            by = next((at for at in tests if _fails_or_hangs(items[at])), None)
            os.write(writer, json.dumps(by).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as file:
        told = file.read()
    os.waitpid(child, 0)
    failed: int | None = json.loads(told) if told else tests[0]
    return failed


def main() -> int:
    """Try the mutants, and print those that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=900.0, help="seconds")
    parser.add_argument("--only", default="", help="a part of the name of a mutant: a module, a function")
    parser.add_argument("--every", type=int, default=1, help="try each n-th mutant")
    asked = parser.parse_args()
    settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
    modules = MutatedModules(settings["only_mutate"])
    loaded = [name for name in modules.sources if name in sys.modules]
    if loaded:
        raise RuntimeError(f"imported before its mutants were made: {', '.join(loaded)}")
    sys.meta_path.insert(0, modules)
    every = modules.mutants()
    chosen = [each for each in every if asked.only in each.name][:: asked.every]
    plugin = TryMutants(chosen, every=every, limit=asked.limit)
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "timeout=0"]
    code = pytest.main([*arguments, *settings["pytest_add_cli_args_test_selection"]], plugins=[plugin])
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
