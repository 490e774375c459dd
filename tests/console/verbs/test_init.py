"""`init`: writes what is missing, changes nothing that is there, and what it writes works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from console.first_files import EXAMPLE_FILE, EXAMPLE_TASK, SETTINGS_FILE, FileError, write_new
from runtime.config.loader import load_configuration
from runtime.config.schema import Settings
from runtime.config.template import settings_template

Init = Callable[..., tuple[int, str]]


@pytest.fixture
def init(tmp_path: Path) -> Init:
    """Runs a verb in a directory without keys; its exit code, and what it said."""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment["PYTHONPATH"] = str(Path(__file__).parents[3])

    def invoke(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "console", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return invoke


def test_each_setting_of_the_template_is_valid_once_it_is_switched_on() -> None:
    text = settings_template()
    assert tomllib.loads(text).keys() >= {"runtime", "permissions", "budgets"}
    assert all(not table for table in tomllib.loads(text).values()), "all of it is switched off"
    on = re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)
    assert on.count(" = ") > 20
    settings = Settings.model_validate(tomllib.loads(on))
    assert settings.runtime == Settings().runtime, "what is written there is the default"
    assert settings.permissions == Settings().permissions
    assert settings.budgets == Settings().budgets


def test_an_empty_directory_gets_settings_and_an_example_that_runs(tmp_path: Path, init: Init) -> None:
    code, said = init("init")
    assert code == 0, said
    assert f"{SETTINGS_FILE}: written" in said
    assert f"{EXAMPLE_FILE}: written" in said
    assert "none is set" in said
    load_configuration(tmp_path)
    code, said = init("run", f"{EXAMPLE_FILE}:swarm", EXAMPLE_TASK, "--json")
    assert code == 0, said
    assert "The answer: It has 6 words." in said


def test_nothing_that_is_there_is_changed(tmp_path: Path, init: Init) -> None:
    (tmp_path / SETTINGS_FILE).write_text("[budgets]\nmax_steps = 7\n")
    (tmp_path / "trip.py").write_text("from orbiter import Agent\n\nplanner = Agent(name='planner')\n")
    code, said = init("init", "--json")
    assert code == 0, said
    rows = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert {"file": SETTINGS_FILE, "state": "kept"} in rows
    assert any(row.get("ref") == "trip.py:planner" for row in rows)
    assert (tmp_path / SETTINGS_FILE).read_text() == "[budgets]\nmax_steps = 7\n"
    assert not (tmp_path / EXAMPLE_FILE).exists(), "there is a swarm already"


def test_a_file_that_cannot_be_written_is_bad_input(tmp_path: Path, init: Init) -> None:
    (tmp_path / SETTINGS_FILE).symlink_to(tmp_path / "no" / "such" / "folder")
    code, said = init("init")
    assert code == 0
    assert "is there already, and was left as it is" in said, "a link that leads nowhere is a file, too"
    with pytest.raises(FileError, match="cannot be written"):
        write_new(tmp_path / "no" / "such" / "file.toml", "x")
