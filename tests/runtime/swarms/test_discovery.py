"""Which swarms a workspace has, read off its files; and whether one can be run, before a run is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbiter.errors import AgentError
from orbiter.guests.frameworks import FRAMEWORKS
from runtime.swarms.definitions import definitions_in, names_in
from runtime.swarms.discovery import check_swarm, find_swarms
from runtime.swarms.load_errors import SwarmLoadError
from runtime.swarms.loader import load_swarm

SWARM = """
from orbiter import Agent, Swarm as Team
import orbiter as o

writer = Agent(name="writer", model="scripted:zoo")
team: Team = Team(agents=[writer])
both = also = o.ParallelGroup(name="both", agents=[writer])
count = len("Swarm()")

def build() -> Team:
    return team

def build_for(who: str) -> Team:
    return team

class Swarm: ...
hidden = [Team(agents=[writer])]
"""


def test_a_pipe_that_is_named_as_a_file_of_python_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert definitions_in(tmp_path / "pipe.py") == []


def test_swarms_are_named_before_groups_and_agents_and_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "team.py").write_text(SWARM + "\nraise SystemExit('this file was run')\n")
    assert names_in(tmp_path / "team.py") == ["team", "build", "both", "also", "writer"]


GUESTS = """
import pydantic_ai
from pydantic_ai import Agent as Foreign
from orbiter.guests import guest

support = Foreign("openai:gpt-5")
typed = Foreign[int, str]("openai:gpt-5")
other: Foreign[int, str] = build()
third = pydantic_ai.Agent("openai:gpt-5")
wrapped = guest(support)

def made() -> Foreign:
    return support
"""


def test_agents_of_other_frameworks_are_named_as_well(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(GUESTS)
    assert names_in(tmp_path / "app.py") == ["support", "typed", "other", "third", "wrapped", "made"]


GRAPHS = """
import re
from langchain.agents import create_agent
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

agent = create_agent("openai:gpt-5-mini", [])
builder = StateGraph(dict)
builder.add_node("one", print)
graph = builder.compile()
chained = StateGraph(dict).add_node("one", print).add_edge(START, "one").compile(name="chained")
more = builder.add_node("two", print)
late = more.compile()
pattern = re.compile("x")
tool = builder.add_edge

def made() -> CompiledStateGraph:
    return graph
"""


def test_agents_of_langchain_and_compiled_graphs_are_named(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(GRAPHS)
    assert names_in(tmp_path / "app.py") == ["agent", "graph", "chained", "late", "made"]


LANGGRAPH = next(each for each in FRAMEWORKS if each.name == "langgraph")
KINDS = """
from agents import Agent as SdkAgent
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langgraph.func import entrypoint
from langgraph.graph import StateGraph
from orbiter import Agent, SerialGroup, Swarm
from orbiter.guests import guest
from orbiter.guests.langgraph import durable_middleware
from pydantic_ai import Agent as Typed

swarm = Swarm(agents=[])
group = SerialGroup(agents=[])
own = Agent(name="own")
typed = Typed("openai:gpt-5")
sdk = SdkAgent("sdk")
coarse = create_agent("openai:gpt-5", [], middleware=[other()])
fine = create_agent("openai:gpt-5", [], middleware=[durable_middleware()])
unknown = create_agent("openai:gpt-5", [], middleware=STACK)
deep = create_deep_agent("openai:gpt-5")
graph = StateGraph(dict).compile()
taken = guest(graph, name="taken")
made = guest(Typed("openai:gpt-5"))
anything = guest(somewhere.agent)

def factory(middleware=()):
    return create_agent("openai:gpt-5", [], middleware=middleware)

def other_factory(model, middleware):
    return create_agent(model, [], middleware=middleware)

@entrypoint()
def flow(text):
    return text
"""


def test_what_each_is_stands_beside_it_and_how_its_steps_are_made_finer(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(KINDS)
    found = {each.name: (each.label, each.hint) for each in definitions_in(tmp_path / "app.py")}
    assert found == {
        "swarm": ("swarm", ""),
        "group": ("group", ""),
        "own": ("agent", ""),
        "typed": ("agent (pydantic-ai)", ""),
        "sdk": ("agent (openai-agents)", ""),
        "coarse": ("agent (langgraph)", LANGGRAPH.finer_agent),
        "fine": ("agent (langgraph)", ""),
        "unknown": ("agent (langgraph)", ""),
        "deep": ("agent (langgraph)", LANGGRAPH.finer_agent),
        "graph": ("graph (langgraph)", LANGGRAPH.finer_graph),
        "taken": ("graph (langgraph)", LANGGRAPH.finer_graph),
        "made": ("agent (pydantic-ai)", ""),
        "anything": ("agent", ""),
        "factory": ("agent (langgraph)", ""),
        "flow": ("graph (langgraph)", LANGGRAPH.finer_graph),
    }
    with (tmp_path / "app.py").open("a") as file:
        file.write("from orbiter.guests.langgraph import durable\n")
    assert not any(each.hint for each in definitions_in(tmp_path / "app.py") if each.kind == "graph")


async def test_a_factory_that_takes_middleware_is_a_reference(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from langchain.agents import create_agent\n"
        "from langchain_core.language_models import GenericFakeChatModel\n"
        "def made(middleware):\n"
        "    return create_agent(GenericFakeChatModel(messages=iter([])), middleware=middleware)\n"
    )
    assert load_swarm("app.py:made", tmp_path).name == "made"
    await check_swarm("app.py:made", tmp_path)


async def test_a_bare_agent_of_another_framework_is_a_reference(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from pydantic_ai import Agent\nfrom pydantic_ai.models.test import TestModel\nbare = Agent(TestModel())\n"
        "def made():\n    return Agent(TestModel(), name='own')\n"
    )
    assert [load_swarm(f"app.py:{name}", tmp_path).name for name in ("bare", "made")] == ["bare", "own"]
    await check_swarm("app.py:bare", tmp_path)


def test_a_framework_that_is_missing_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'pydantic_ai'\", name='pydantic_ai')\n"
    )
    with pytest.raises(SwarmLoadError, match=r"pip install 'orbiter-console\[pydantic-ai\]'"):
        load_swarm("app.py:agent", tmp_path)


def test_the_workspaces_files_are_read_but_not_what_is_no_file_of_its_own(tmp_path: Path) -> None:
    for place in ("a.py", "deep/b.py", ".venv/c.py", "node_modules/d.py", "site-packages/e.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("from orbiter import Agent\none = Agent(name='one', model='m')\n")
    (tmp_path / "broken.py").write_text("from orbiter import Agent\none = Agent(")
    (tmp_path / "nul.py").write_bytes(b"from orbiter import Agent\n\0")
    (tmp_path / "other.py").write_text("from elsewhere import Agent  # not orbiter's\none = Agent()\n")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    assert list(find_swarms(tmp_path)) == ["a.py:one", "deep/b.py:one"]
    assert find_swarms(tmp_path / "empty") == {}


@given(st.text(max_size=200))
@settings(max_examples=60)
def test_no_file_upsets_the_search(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("search") / "any.py"
    path.write_text(f"from orbiter import Agent\n{text}", "utf-8", errors="surrogatepass")
    assert isinstance(names_in(path), list)


async def test_a_reference_is_checked_as_a_run_would_load_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ok.py").write_text(
        "from orbiter import Agent\nfrom orbiter.models.scripted.provider import script\n"
        "script('start/ok', ['done'])\none = Agent(name='one', model='scripted:start/ok')\n"
    )
    (tmp_path / "typo.py").write_text("from orbiter import Agent\none = Agent(name='one'\n")
    (tmp_path / "keyless.py").write_text("from orbiter import Agent\none = Agent(name='one', model='openai:gpt-4o')\n")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert await check_swarm("ok.py:one", tmp_path) == f"{tmp_path.resolve()}/ok.py:one"
    with pytest.raises(SwarmLoadError, match=r"typo\.py, line 2"):
        await check_swarm("typo.py:one", tmp_path)
    with pytest.raises(SwarmLoadError, match="no such file"):
        await check_swarm("missing.py:one", tmp_path)
    with pytest.raises(SwarmLoadError, match="it defines: one"):
        await check_swarm("ok.py:two", tmp_path)
    with pytest.raises(AgentError, match="OPENAI_API_KEY"):
        await check_swarm("keyless.py:one", tmp_path)
