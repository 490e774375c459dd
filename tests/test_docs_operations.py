"""The compose file and the systemd unit of the page on operations: their verbs, options, roles and times, and their
form.
"""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from console.cli import VERBS, cli
from runtime.execution.execution_config import ExecutionConfig
from runtime.record.address import parse_address
from runtime.worker.driving_thread import STOP_TIMEOUT_S
from tests.pages import ROOT

PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def parsed(words: list[str]) -> dict[str, Any]:
    """What a command line gives its verb; click refuses one that is wrong."""
    verb = cli.get_command(click.Context(cli), words[1])
    assert words[0].rpartition("/")[2] == "orbiter-console"
    assert verb is not None
    assert words[1] in VERBS
    return verb.make_context(words[1], [re.sub(r"\$\{\w+.*?\}", "x", word) for word in words[2:]]).params


def test_the_compose_file_starts_what_there_is_with_roles_that_it_makes() -> None:
    services = yaml.safe_load(block("yaml"))["services"]
    given = {name: parsed(each["command"]) for name, each in services.items() if name != "db"}
    assert set(given) == {"init", "serve", "worker"}
    made = set(re.findall(r"CREATE ROLE (\w+) LOGIN", block("sql")))
    assert {given["init"]["worker"], given["init"]["operator"]} == made
    for name, role in (("worker", given["init"]["worker"]), ("serve", given["init"]["operator"])):
        address = parse_address(services[name]["environment"]["ORBITER_WORKSPACE"])
        assert f"//{role}@db/" in address.conninfo
        assert "PGPASSWORD" in services[name]["environment"]
        assert int(services[name]["stop_grace_period"].removesuffix("s")) > stop_s()


def test_the_unit_of_workers_waits_until_they_have_drained() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their capitals
    unit.read_string(block("ini"))
    service = unit["Service"]
    assert parsed(shlex.split(service["ExecStart"]))["slots"] == 64
    name, _, url = service["Environment"].strip('"').partition("=")
    assert (name, parse_address(url).workspace) == ("ORBITER_WORKSPACE", "news")
    assert int(service["TimeoutStopSec"]) > stop_s()


@pytest.mark.skipif(find_spec("check_jsonschema") is None, reason="no check-jsonschema: pip install check-jsonschema")
def test_the_compose_file_is_one_to_docker_compose(tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(block("yaml"), encoding="utf-8")
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    checked = subprocess.run([*checker, str(file)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze: a machine without systemd")
def test_the_unit_of_workers_is_one_to_systemd(tmp_path: Path) -> None:
    unit = block("ini").replace("/srv/news/.venv/bin/orbiter-console", sys.executable)
    if not told_by_systemd(unit.replace("TimeoutStopSec", "StopAfter"), tmp_path):
        pytest.skip("systemd-analyze finds no fault here, not even a key that does not exist")
    assert not told_by_systemd(unit, tmp_path)


def told_by_systemd(unit: str, directory: Path) -> list[str]:
    """What it says about a unit; others of the machine may have faults of theirs."""
    file = directory / "orbiter-worker@.service"
    file.write_text(unit, encoding="utf-8")
    checked = subprocess.run(["systemd-analyze", "verify", str(file)], capture_output=True, text=True, check=False)
    return [line for line in (checked.stdout + checked.stderr).splitlines() if file.stem in line]


def stop_s() -> float:
    """How long a stop may take."""
    return ExecutionConfig(workspace="").change_s + STOP_TIMEOUT_S
