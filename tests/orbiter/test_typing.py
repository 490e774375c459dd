"""The public API as type checkers see it: a program that must pass, and mistakes that must be found."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import orbiter

HERE = Path(__file__).parent
RIGHT, MODULES, WRONG = HERE / "typed_program.py", HERE / "typed_modules.py", HERE / "wrong_program.py"
EXPECTED = {number for number, line in enumerate(WRONG.read_text().splitlines(), 1) if line.endswith("# wrong")}


def test_the_program_uses_every_public_name() -> None:
    used = {each.id for each in ast.walk(ast.parse(RIGHT.read_text(encoding="utf-8"))) if isinstance(each, ast.Name)}
    assert set(orbiter.__all__) <= used


@pytest.mark.parametrize("module", ["guests", "guests.langgraph", "mcp", "models"])
def test_the_modules_program_uses_every_name_of(module: str) -> None:
    used = {each.id for each in ast.walk(ast.parse(MODULES.read_text(encoding="utf-8"))) if isinstance(each, ast.Name)}
    assert set(importlib.import_module(f"orbiter.{module}").__all__) <= used


def test_mypy_accepts_the_program_and_finds_each_mistake(tmp_path: Path) -> None:
    """Strict, and without our settings."""
    options = ("--strict", "--config-file=", f"--cache-dir={os.devnull}", "--no-error-summary")
    command = [sys.executable, "-m", "mypy", *options, str(RIGHT), str(MODULES), str(WRONG)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=280, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found = re.findall(r"^(.+\.py):(\d+): error", done.stdout, re.MULTILINE)
    assert EXPECTED
    assert {(path, int(line)) for path, line in found} == {(str(WRONG), line) for line in EXPECTED}, done.stdout


@pytest.mark.skipif(not importlib.util.find_spec("basedpyright"), reason="no pyright: `make check-tests` installs it")
def test_pyright_accepts_the_program_and_finds_each_mistake(tmp_path: Path) -> None:
    """With pyright's own strict mode, not the stricter one of basedpyright."""
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "typeCheckingMode": "strict",
                "include": [str(RIGHT), str(MODULES), str(WRONG)],
                "extraPaths": [str(HERE.parents[1])],
            }
        )
    )
    options = ("--outputjson", "--pythonpath", sys.executable, "--project", str(tmp_path))
    command = [sys.executable, "-m", "basedpyright", *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=280)
    assert done.returncode == 1, done.stderr
    found = [each for each in json.loads(done.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    lines = {(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in found}
    assert lines == {(WRONG.name, line) for line in EXPECTED}
