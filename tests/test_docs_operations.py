"""The compose file and the systemd unit of the page on operations: their verbs, options, roles and times."""

from __future__ import annotations

import configparser
import re
import shlex
from typing import Any

import click
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


def stop_s() -> float:
    """How long a stop may take."""
    return ExecutionConfig(workspace="").change_s + STOP_TIMEOUT_S
