"""Which swarms a workspace has, read off its files; and whether one can be run, before a run is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbiter.errors import AgentError
from runtime.swarms.definitions import names_in
from runtime.swarms.discovery import check_swarm, find_swarms
from runtime.swarms.loader import SwarmLoadError

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


def test_swarms_are_named_before_groups_and_agents_and_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "team.py").write_text(SWARM + "\nraise SystemExit('this file was run')\n")
    assert names_in(tmp_path / "team.py") == ["team", "build", "both", "also", "writer"]


def test_the_workspaces_files_are_read_but_not_what_is_no_file_of_its_own(tmp_path: Path) -> None:
    for place in ("a.py", "deep/b.py", ".venv/c.py", "node_modules/d.py", "site-packages/e.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("from orbiter import Agent\none = Agent(name='one', model='m')\n")
    (tmp_path / "broken.py").write_text("from orbiter import Agent\none = Agent(")
    (tmp_path / "nul.py").write_bytes(b"from orbiter import Agent\n\0")
    (tmp_path / "other.py").write_text("from elsewhere import Agent  # not orbiter's\none = Agent()\n")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    assert find_swarms(tmp_path) == ["a.py:one", "deep/b.py:one"]
    assert find_swarms(tmp_path / "empty") == []


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
