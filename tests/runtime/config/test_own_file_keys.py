"""What a workspace brings along must not say what agents may do: that counts in the user's own file alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.config.loader import InvalidConfiguration, load_configuration
from runtime.config.schema_keys import own_file_keys, variables
from runtime.judgement.recovery.option_table import OPTIONS, agent_options

ALLOWS = '[mcp]\nmay_answer = ["retry"]\nmay_act = ["start_run"]\n'


def own_file(home: Path, text: str) -> dict[str, str]:
    """A user's own file, and the environment in which it is found."""
    path = home / "orbiter" / "orbiter.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return {"XDG_CONFIG_HOME": str(home)}


def test_the_users_own_file_says_what_agents_may_do(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    found = load_configuration(workspace, own_file(tmp_path / "home", ALLOWS)).settings.mcp
    assert (found.may_answer, found.may_act) == (("retry",), ("start_run",))
    nothing = load_configuration(workspace, {"XDG_CONFIG_HOME": str(tmp_path / "none")}).settings.mcp
    assert (nothing.may_answer, nothing.may_act) == ((), ())


@pytest.mark.parametrize("key", ["may_answer", "may_act"])
def test_a_workspaces_file_that_says_it_is_refused_with_its_line(tmp_path: Path, key: str) -> None:
    (tmp_path / "orbiter.toml").write_text(f"[mcp]\n{key} = []\n")
    with pytest.raises(InvalidConfiguration, match=f"orbiter.toml:2: 'mcp.{key}' must stand in a file of your own"):
        load_configuration(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "none")})


def test_a_users_file_that_lies_in_the_workspace_is_the_workspaces(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="outside of the workspace"):
        load_configuration(tmp_path, own_file(tmp_path / "config", ALLOWS))


def test_no_variable_says_it(tmp_path: Path) -> None:
    """A workspace's `env_file` sets variables of the runtime."""
    assert own_file_keys() == {("mcp", "may_answer"), ("mcp", "may_act")}
    assert not own_file_keys() & {path for path, _ in variables().values()}
    over = {"mcp": {"may_answer": ["retry"]}}
    with pytest.raises(InvalidConfiguration, match="command line"):
        load_configuration(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "none")}, over)


@pytest.mark.parametrize("option", sorted({*OPTIONS} - {*agent_options()} | {"rety"}))
def test_what_an_agent_never_answers_cannot_be_allowed(tmp_path: Path, option: str) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with pytest.raises(InvalidConfiguration, match="there may be retry, wait_retry"):
        load_configuration(workspace, own_file(tmp_path / "home", f'[mcp]\nmay_answer = ["{option}"]\n'))


def test_the_options_of_agents_end_nothing_and_permit_nothing() -> None:
    assert agent_options() == ("retry", "wait_retry", "switch_model", "edit", "input", "extend", "reset")
