"""References that lead to no agent: one line that says what, where, and what is right."""

from __future__ import annotations

import errno
import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

from runtime.swarms.load_errors import SwarmLoadError, explain_error
from runtime.swarms.loader import load_swarm

FILE = '''\
import asyncio
from langchain_core.tools import tool
from langgraph.graph import StateGraph
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from orbiter.guests import guest

something = object()
builder = StateGraph(dict)

def count(number: int) -> int:
    """Count."""
    return number

counter = tool(count)

def raises():
    raise RuntimeError("no database:\\n  connection refused")

def raises_with(middleware=()):
    raise KeyError("DATABASE_URL")

async def later():
    return Agent(TestModel())

async def later_with(middleware=()):
    return Agent(TestModel())

def wraps_later():
    return guest(later)

def wraps_number():
    return guest(3)

def gives_number():
    return 3

def gives_number_with(middleware=()):
    return 3

def gives_builder():
    return builder

def doubled():
    return Agent(TestModel(), tools=[count, count])

agent = Agent(TestModel())
'''
"""Of what is named here only `agent` runs."""
LINES = FILE.splitlines()


def line(text: str) -> str:
    return rf"app\.py, line {LINES.index(text) + 1}: "


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(FILE)
    return tmp_path


OTHERS = r"it defines: agent$"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("something", rf"app\.py:something is an object, not an agent or a swarm: name the variable .*; {OTHERS}"),
        ("counter", rf"app\.py:counter is a tool, not an agent or a swarm: .*{OTHERS}"),
        ("Agent", rf"app\.py:Agent is a class, not an agent or a swarm: .*{OTHERS}"),
        ("asyncio", rf"app\.py:asyncio is a module, not an agent or a swarm: .*{OTHERS}"),
        ("builder", r"app\.py:builder is a graph that is not compiled: .* graph = builder\.compile\(\)$"),
        (
            "gives_builder",
            r"app\.py:gives_builder gives a graph that is not compiled: .* graph = builder\.compile\(\)$",
        ),
        (
            "raises",
            line('    raise RuntimeError("no database:\\n  connection refused")') + "RuntimeError: no database: c",
        ),
        ("raises_with", line('    raise KeyError("DATABASE_URL")') + "KeyError: 'DATABASE_URL': correct it"),
        ("later", r"app\.py:later is an async function, .* as in def later\(\): return Agent\(\.\.\.\)$"),
        ("later_with", r"app\.py:later_with is an async function, .* as in def later_with\(\): "),
        ("wraps_later", line("    return guest(later)") + r".*later is an async function\. .*as in def later\(\): "),
        ("wraps_number", line("    return guest(3)") + r"guest\(\) takes an agent of .*, got int\. .* as in guest\("),
        ("gives_number", rf"app\.py:gives_number gives an int, .* let it return one; {OTHERS}"),
        ("gives_number_with", r"app\.py:gives_number_with: guest\(\) takes an agent of .*, got int\. .*as in guest\("),
        ("doubled", line("    return Agent(TestModel(), tools=[count, count])") + ".*existing tool: 'count'"),
        ("absent", rf"app\.py has no 'absent'; {OTHERS}"),
    ],
)
def test_what_is_no_agent_is_refused_in_one_line(root: Path, name: str, said: str) -> None:
    with pytest.raises(SwarmLoadError) as caught:
        load_swarm(f"app.py:{name}", root)
    assert re.search(said, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
    assert "orbiter/guests" not in str(caught.value)


def test_an_old_package_is_refused_in_one_line(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "1.0.5")
    with pytest.raises(SwarmLoadError) as caught:
        load_swarm("app.py:agent", root)
    assert str(caught.value) == (
        f"{root.resolve()}/app.py:agent: pydantic-ai-slim 1.0.5 is installed; this program runs 2.68 or newer, below 3:"
        " pip install 'orbiter-console[pydantic-ai]'"
    )


@pytest.mark.parametrize(("package", "extra"), [("pydantic_ai", "pydantic-ai"), ("langgraph", "langgraph")])
def test_a_package_that_is_missing_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, extra: str
) -> None:
    (tmp_path / "app.py").write_text(f"x = 1\nimport {package}.absent\n")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SwarmLoadError) as caught:
        load_swarm("app.py:agent", tmp_path)
    said = str(caught.value)
    assert re.search(rf"app\.py, line 2: .*install what it needs .*: pip install 'orbiter-console\[{extra}\]'$", said)


@pytest.mark.parametrize(
    ("line", "do"),
    [
        ("from orbiter import ToolError", "write: from orbiter.errors import ToolError"),
        ("from orbiter import ModelResponse", "write: from orbiter.models.types import ModelResponse"),
        ("from orbiter import Agnet", "correct the name, or install the version of orbiter that has it"),
        ("from json import laods", "correct the name, or install the version of json that has it"),
    ],
)
def test_a_name_that_a_module_does_not_have_is_told_from_a_package_that_is_missing(
    tmp_path: Path, line: str, do: str
) -> None:
    (tmp_path / "app.py").write_text(f"x = 1\n{line}\n")
    with pytest.raises(SwarmLoadError) as caught:
        load_swarm("app.py:agent", tmp_path)
    assert re.search(rf"app\.py, line 2: ImportError: .*: {re.escape(do)}$", str(caught.value))


def test_what_was_meant_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text('from orbiter import FailurePolicy\nx = FailurePolicy(tool="contniue")\n')
    with pytest.raises(SwarmLoadError) as caught:
        load_swarm("app.py:agent", tmp_path)
    assert re.search(r"app\.py, line 2: .*'contniue'\. Did you mean 'continue'\? Valid are: ", str(caught.value))
    assert str(caught.value).count("Did you mean") == 1


def test_a_path_that_no_event_could_name_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "caf\udce9"
    folder.mkdir()
    (folder / "app.py").write_text("agent = None\n")
    with pytest.raises(SwarmLoadError, match="a path that is not UTF-8 cannot be recorded; rename the folder"):
        load_swarm("app.py:agent", folder)


def test_a_file_that_cannot_be_read_is_not_to_be_corrected() -> None:
    denied = PermissionError(errno.EACCES, "Permission denied", "/srv/app.py")
    assert explain_error(denied, "/srv/app.py") == "/srv/app.py cannot be read: Permission denied"
    assert explain_error(denied, "/srv/other.py").endswith("correct it and try again")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b"a = 1\0", "null bytes: correct it"),
        (b"# coding: nonsense", "x.py: unknown encoding"),
        (b"a\n b", "x.py, line 2:"),
    ],
)
def test_a_line_is_named_where_the_file_has_one_that_is_wrong(source: bytes, said: str) -> None:
    with pytest.raises(SyntaxError) as refused:
        compile(source, "x.py", "exec")
    text = explain_error(refused.value, "x.py")
    assert said in text
    assert "line None" not in text
    assert "line 0" not in text
