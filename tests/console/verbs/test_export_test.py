"""`export --test`: what is written, and what pytest makes of it with the plugin of the installed package."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.console.program import Program, environment

Park = Callable[[], str]


def test_a_test_is_written_beside_its_record_and_is_red_until_the_code_is_fixed(program: Program, parked: Park) -> None:
    incident = parked()
    assert program("answer", incident, "grant").returncode == 0
    assert program("run", "keeper.py:swarm", "tea", "--resume").returncode == 0
    run = str(program.json("runs")[0]["id"])
    written = program("export", run, "--test", "tests")
    assert written.returncode == 0, written.stderr
    test, record = sorted((program.directory / "tests").iterdir(), key=lambda path: path.suffix, reverse=True)
    assert (test.suffix, record.suffix) == (".py", ".jsonl")
    assert f"written: tests/{test.name}, and its record {record.name}" in written.stderr.replace("\n", "")
    for text in (test.read_text(), record.read_text()):
        assert str(program.directory) not in text
        assert str(Path.home()) + "/" not in text
    assert len(test.read_text().splitlines()) < 25
    again = program("export", run, "--test", "tests")
    assert again.returncode == 2
    assert "is there already: give --force" in again.stderr
    assert program("export", run, "--test", "tests", "--force").returncode == 0
    assert "say where to" in program("export", run).stderr
    fixed = program.directory / "fixed"
    shutil.copytree(program.directory / "tests", fixed / "tests")
    code = (program.directory / "keeper.py").read_text()
    (fixed / "keeper.py").write_text(code.replace('@tool(permissions=("fs.write:{path}",))', "@tool"))
    tried = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--import-mode=importlib",
            "-p",
            "no:asyncio",
            "-rA",
            ".",
        ],
        cwd=program.directory,
        env=environment() | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert re.search(r"1 failed, 1 passed", tried.stdout), tried.stdout + tried.stderr
    assert f"PASSED fixed/tests/{test.name}::test_store_permission_denied" in tried.stdout
    assert "still fails: permission denied: agent 'keeper' needs the permission fs.write" in tried.stdout


def test_a_run_in_which_nothing_failed_has_no_test(program: Program) -> None:
    (program.directory / "quiet.py").write_text(
        "from orbiter import Agent\nfrom orbiter.models.scripted.provider import script\n"
        'script("quiet", ["fine"])\nswarm = Agent(name="quiet", model="scripted:quiet")\n'
    )
    assert program("run", "quiet.py:swarm", "go").returncode == 0
    said = program("export", str(program.json("runs")[0]["id"]), "--test", "tests")
    assert said.returncode == 2
    assert "nothing failed in run" in said.stderr.replace("\n", " ")
    assert not (program.directory / "tests").exists()


def test_the_plugin_loads_nothing_heavy_into_every_run_of_pytest() -> None:
    look = (
        "import sys, pytest; before = set(sys.modules); import runtime.testing.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, env=environment())
    assert set(loaded.stdout.split()) <= {"runtime", "runtime.testing", "runtime.testing.pytest_plugin"}
