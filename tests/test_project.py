"""The project's own promises: the commands, the lock file, and what is packaged."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = ("orbiter", "runtime", "console", "screens", "themes")


def name_of(requirement: str) -> str:
    return re.split(r"[<>=!~\[; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_the_readme_begins_with_the_two_commands() -> None:
    beginning = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:30]
    assert any(line.startswith("make demo") for line in beginning)
    assert any(line.startswith("make test") for line in beginning)


def test_ci_runs_what_everybody_runs() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "exec make test" in script.read_text(encoding="utf-8")


def test_everything_is_locked_with_each_extra_and_no_index_is_named() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert all(re.match(r"[a-z0-9.-]+==[^ ]+( ; .+)?$", line) for line in lines)
    locked = {name_of(line) for line in lines}
    wanted = [
        *PROJECT["dependencies"],
        *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
    ]
    assert {name_of(requirement) for requirement in wanted} <= locked


def test_without_a_python_the_setup_says_what_is_missing(tmp_path: Path) -> None:
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "dirname", "rm", "cksum"):
        found = shutil.which(tool)
        assert found is not None
        (tools / tool).symlink_to(found)
    done = subprocess.run(
        [tools / "sh", ".ci/venv"], cwd=tmp_path, env={"PATH": str(tools)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "no Python 3.11 or later found" in done.stderr
    assert "PYTHON=" in done.stderr


def test_the_demo_sets_up_what_the_program_needs_and_the_tests_everything(tmp_path: Path) -> None:
    """In place of uv stands a program that writes down what it is asked for."""
    for name in ("requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    tools, asked = tmp_path / "bin", tmp_path / "asked"
    (tmp_path / ".venv").mkdir()
    tools.mkdir()
    (tools / "uv").write_text(f'#!/bin/sh\necho "$@" >>{asked}\n', encoding="utf-8")
    (tools / "uv").chmod(0o755)
    surroundings = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHON": sys.executable}

    def set_up(*what: str) -> tuple[int, str]:
        asked.write_text("", encoding="utf-8")
        done = subprocess.run([".ci/venv", *what], cwd=tmp_path, env=surroundings, check=False, capture_output=True)
        return done.returncode, asked.read_text(encoding="utf-8")

    code, commands = set_up("program")
    assert code == 0
    assert commands.count("-c requirements.lock") == 2
    assert "-r requirements.lock" not in commands
    assert not (tmp_path / ".venv" / ".complete").exists(), "tests would begin without what they need"
    assert (tmp_path / ".venv" / ".program").exists()
    code, commands = set_up()
    assert code == 0
    assert "-r requirements.lock" in commands
    assert (tmp_path / ".venv" / ".complete").exists()
    assert set_up("programme") == (2, "")


def test_what_builds_the_project_is_locked() -> None:
    """`.ci/venv program` installs it in the versions of the lock, as all else."""
    script = (ROOT / ".ci" / "venv").read_text(encoding="utf-8")
    (builders,) = re.findall(r"-c requirements\.lock ([a-z ]+)\n", script)
    locked = {name_of(line) for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()}
    assert "hatchling" in builders.split()
    assert set(builders.split()) <= locked


def test_the_workflow_and_the_hooks_call_what_exists() -> None:
    """Each job of the workflow is a target of the Makefile, each hook a tool of the lock."""
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    called = {found for command in commands for found in re.findall(r"^make ([a-z-]+)$", command, re.MULTILINE)}
    called |= set(workflow["jobs"]["nightly"]["strategy"]["matrix"]["target"])
    assert {"lint", "types", "docs", "check-tests", "coverage", "mutants", "wheel"} <= called
    assert called <= targets
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    for hook in hooks:
        program = hook["entry"].split()[0]
        assert program.startswith(".venv/bin/")
        assert (ROOT / program).exists(), program


@pytest.fixture(scope="module")
def built_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this tree."""
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(built_wheel: Path) -> set[str]:
    """The names of what the wheel holds."""
    with zipfile.ZipFile(built_wheel) as archive:
        return set(archive.namelist())


def test_the_packages_are_packaged_whole_and_typed(wheel: set[str]) -> None:
    for package in PACKAGES:
        assert f"{package}/py.typed" in wheel
        assert f"{package}/__init__.py" in wheel
        tracked = {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / package).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert tracked <= wheel


def test_nothing_else_is_packaged(wheel: set[str]) -> None:
    tops = {name.partition("/")[0] for name in wheel}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


EXTRAS = {
    "mcp": "orbiter.mcp.sdk.session",
    "postgres": "runtime.record.postgres.connection",
    "pydantic-ai": "orbiter.guests.pydantic_ai.agent",
    "langgraph": "orbiter.guests.langgraph.agent",
    "openai-agents": "orbiter.guests.openai_agents.agent",
    "otel": "runtime.worker.telemetry.otlp_sender",
    "dbos": "runtime.worker.engines.dbos",
}
"""A module of ours that loads what the extra brings, by extra."""


INSTALL_S = 1800
"""Seconds for a test that installs: with 60 processes ready to run on two cores, pip alone took more than 400."""
INSTALLED = "import importlib.metadata as m; print(*(each.name.lower() for each in m.distributions()))"


@pytest.mark.timeout(INSTALL_S)
def test_the_wheel_works_in_an_empty_environment(built_wheel: Path, tmp_path: Path) -> None:
    """Installed with its dependencies and without this tree: a run, which loads the rest."""
    home = environment(tmp_path)
    install(home, str(built_wheel))
    for name in ("helpdesk.py", "helpdesk.yaml"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    done = ask(home, "orbiter-console", "run", "helpdesk.py:swarm", "What do three lamps cost us?", cwd=tmp_path)
    assert "64.6" in done.stdout, done.stderr
    installed = set(ask(home, "python", "-c", INSTALLED).stdout.split())
    foreign = {name_of(each) for extra in EXTRAS for each in PROJECT["optional-dependencies"][extra]}
    assert not {name.partition("[")[0] for name in foreign} & installed, "what belongs to an extra is not installed"


def test_each_extra_is_tried() -> None:
    assert EXTRAS.keys() == PROJECT["optional-dependencies"].keys() - {"dev"}


@pytest.mark.skipif(not os.environ.get("SOAK"), reason="an environment for each extra: `make wheel`")
@pytest.mark.timeout(INSTALL_S)
@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_brings_what_its_module_needs(built_wheel: Path, tmp_path: Path, extra: str) -> None:
    home = environment(tmp_path)
    install(home, f"{built_wheel}[{extra}]")
    done = ask(home, "python", "-c", f"import {EXTRAS[extra]}")
    assert done.returncode == 0, done.stderr
    assert PROJECT["version"] in ask(home, "orbiter-console", "--version").stdout


def environment(where: Path) -> Path:
    """An empty environment, by uv where it is present. It has no pip of its own, which would have to be unpacked."""
    home = where / "env"
    uv = shutil.which("uv")
    command = [uv, "venv", "--quiet", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
    subprocess.run([*command, *([] if uv else ["--without-pip"]), str(home)], check=True, capture_output=True)
    return home


def ask(home: Path, program: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What a program of the environment says, with nothing of this tree in reach."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(home / "bin" / program), *arguments]
    return subprocess.run(command, cwd=cwd or home, env=surroundings, check=False, capture_output=True, text=True)


def install(environment: Path, requirement: str) -> None:
    """Install by uv where it is present, else by our pip, in the versions of the lock; skip where no index answers.

    Nothing is compiled before it is imported: most of it never is.
    """
    python = str(environment / "bin" / "python")
    lock = ["-c", str(ROOT / "requirements.lock"), requirement]
    uv = shutil.which("uv")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-compile"]
    command = [uv, "pip", "install", "--python", python] if uv else pip
    done = subprocess.run([*command, *lock], check=False, capture_output=True, text=True)
    unreachable = re.search(r"(?i)name resolution|failed to fetch|connection error|max retries", done.stderr)
    if done.returncode and unreachable:
        pytest.skip("no package index answers: the wheel cannot be installed")
    assert not done.returncode, done.stderr
