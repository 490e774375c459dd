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


def test_everything_is_locked_and_no_index_is_named() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert all(re.match(r"[a-z0-9.-]+==[^ ]+( ; .+)?$", line) for line in lines)
    locked = {name_of(line) for line in lines}
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of what a wheel of this tree holds."""
    target = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = target.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
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
