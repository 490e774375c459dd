"""Mutation tests of the table of options: one entry is changed, and a test must notice it.

mutmut changes what functions do. The table is data: mutmut makes no mutants of it. `python -m tests.option_mutants`
changes one field of one option at a time, each in a fork of this process, before anything else has read the table. It
prints each change that no test noticed. `--limit` is in seconds (900); `--only` names one option.
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
import pydantic
import pytest
from msgspec.structs import replace

from runtime.judgement.recovery import option_spec
from runtime.judgement.recovery.option_spec import OptionParam, OptionSpec
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.record.state import operator_terms
from tests import mcp_server, postgres_server
from tests.runtime.judgement.recovery import test_option_table

LOADED: Final = (msgspec, pydantic, mcp_server, postgres_server)
"""Loaded once for all forks. Of our own packages only the table: what has read it would keep the entry as it was."""
PLUGINS: Final = ("pytest_asyncio.plugin", "pytest_timeout", "_hypothesis_pytestplugin")
"""Plugins that the settings of pytest need; to load the others takes longer than the tests."""
ROUNDS: Final = (
    (
        "tests/runtime/judgement/recovery/test_option_table.py",
        "tests/runtime/judgement/recovery/test_options_by_class.py",
    ),
    (
        "tests/runtime/operations/test_answer_params.py",
        "tests/runtime/judgement/reports/explanation/test_explain.py",
        "tests/console/linear/test_prompts.py",
    ),
)
"""Test files, the quickest first: the next are run where those before noticed nothing."""
TEXTS: Final = ("label", "does", "outcomes", "params")
"""Fields whose mutants come last: of the rest each one decides what an answer does."""
WORDS: Final = {
    "effect": option_spec.AnswerEffect,
    "reach": operator_terms.Reach,
    "kind": option_spec.ParamKind,
    "schema": option_spec.ParamSchema,
    "asked": option_spec.ParamAsked,
}
"""Fields with a closed set of values."""


def changes(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Other values of a field, each with what was done to it."""
    if name in WORDS:
        words = get_args(WORDS[name])
        other = words[(words.index(value) + 1) % len(words)]
        yield f"{value!r} -> {other!r}", other
    elif isinstance(value, bool):
        yield f"{value} -> {not value}", not value
    elif isinstance(value, str):
        yield ("-> ''", "") if value else ("-> 'XX'", "XX")
    elif isinstance(value, tuple):
        yield from _tuple_changes(value)
    elif isinstance(value, dict):
        for case in value:
            yield f"without {case!r}", {each: words for each, words in value.items() if each != case}
        if not value:
            yield "-> always", {"always": "XX"}
    elif callable(value):
        yield "always", lambda _: True
        yield "-> None", None
    elif name == "default":
        yield "-> 'XX'", "XX"


def _tuple_changes(value: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for at, item in enumerate(value):
        yield f"without [{at}]", (*value[:at], *value[at + 1 :])
        if isinstance(item, OptionParam):
            # An error for a missing one has its noun and example; what leaving it out means is shown for the others.
            unread = {"unset"} if item.required or item.default is not None else set()
            unread |= set() if item.required else {"noun", "example"}
            for name in (each for each in item.__struct_fields__ if each not in unread):
                for what, changed in changes(name, getattr(item, name)):
                    mutant = replace(item, **{name: changed})
                    yield f"{item.name}.{name} {what}", (*value[:at], mutant, *value[at + 1 :])


def mutants(only: str) -> Iterator[tuple[str, OptionSpec]]:
    """Every mutant of the table, with its name."""
    for name in sorted(OptionSpec.__struct_fields__, key=lambda name: name in TEXTS):
        for spec in OPTIONS.values():
            if only in ("", spec.id):
                for what, changed in changes(name, getattr(spec, name)):
                    yield f"{spec.id}.{name} {what}", replace(spec, **{name: changed})


def noticed(option: str, mutant: OptionSpec, log: Path) -> bool:
    """Whether a test fails with this entry in the table. The tests run in a fork of this process."""
    child = os.fork()
    if not child:
        os._exit(_run_tests(option, mutant, log))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


def _run_tests(option: str, mutant: OptionSpec, log: Path) -> int:
    with log.open("a", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    OPTIONS[option] = mutant
    if _noticed_at_once():
        return 1
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    arguments = ["-x", "-q", "-p", "no:cacheprovider", "--tb=line", *(f"-p{plugin}" for plugin in PLUGINS)]
    for files in ROUNDS:
        if code := int(pytest.main([*arguments, *files])):
            return code
    return 0


def _noticed_at_once() -> bool:
    """Whether a test of the table fails when it is called without pytest, whose start takes longer than the test."""
    for name, test in inspect.getmembers(test_option_table, inspect.isfunction):
        if name.startswith("test_") and not inspect.signature(test).parameters:
            try:
                test()
            except Exception as exc:
                print(f"{name}: {type(exc).__name__}")
                return True
    return False


def main() -> int:
    """Run the mutants, and print those that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=900.0, help="seconds")
    parser.add_argument("--only", default="", help="the id of one option")
    asked = parser.parse_args()
    log = Path("mutants.log")
    if noticed("retry", OPTIONS["retry"], log):
        print(f"the tests fail with the table as it is: see {log}", file=sys.stderr)
        return 1
    end = time.monotonic() + asked.limit
    survived, done, every = [], 0, list(mutants(asked.only))
    for name, mutant in every:
        if time.monotonic() > end:
            break
        done += 1
        if not noticed(name.partition(".")[0], mutant, log):
            survived.append(name)
            print(f"option table: no test noticed {name}", flush=True)
    print(f"option table: {done} of {len(every)} mutants run, {len(survived)} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
