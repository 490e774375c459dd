"""`serve` in the background, `stop`, and `dial-stdio` to it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest

from runtime.link.client.blocking_request import ask_runtime
from runtime.operations.requests.reports import ShowStatus
from tests.console.program import Program


@pytest.fixture
def stopped(program: Program) -> Iterator[None]:
    yield
    program("stop")


@pytest.mark.usefixtures("stopped")
def test_serve_in_the_background_then_stop(program: Program) -> None:
    (started,) = program.json("serve")
    assert started["state"] == "started"
    (again,) = program.json("serve")
    assert (again["state"], again["pid"]) == ("running", started["pid"])
    status = ask_runtime(program.directory / ".orbiter", ShowStatus())
    assert status is not None
    assert (status.pid, status.program) == (again["pid"], again["program"])
    os.kill(started["pid"], signal.SIGHUP)
    assert "running already" in program("serve").stdout
    (ended,) = program.json("stop")
    assert ended["state"] == "stopped"
    (ended,) = program.json("stop")
    assert ended["state"] == "absent"


def test_a_runtime_in_the_foreground_is_dialled_and_stopped(program: Program) -> None:
    nameless = program("dial-stdio", "--as", " ")
    assert (nameless.returncode, nameless.stdout) == (2, "")
    assert "--as needs a name, for example --as anna" in nameless.stderr
    dialled = program("dial-stdio")
    assert dialled.returncode == 69
    assert "no runtime works on" in dialled.stderr
    with program.start("serve", "--foreground") as serving:
        assert serving.stderr is not None
        assert "driving the runs" in serving.stderr.readline()
        dialled = program("dial-stdio", "--viewer", "--as", "anna")
        assert dialled.returncode == 0, dialled.stderr
        hello = json.loads(dialled.stdout.splitlines()[0])
        assert (hello["t"], hello["role"]) == ("hello", "viewer")
        assert program("stop").stdout == "stopped\n"
        assert serving.wait(timeout=60) == 0


def test_a_bad_env_file_is_named(program: Program) -> None:
    (program.directory / "keys.env").write_text("rubbish\n")
    done = program("serve", "--env-file", "keys.env")
    assert done.returncode == 2
    assert "keys.env, line 1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_unit_is_printed_and_nothing_is_started(program: Program) -> None:
    (program.directory / "clés 100%.env").write_text("A_KEY=1\n")
    done = program("serve", "--unit", "--env-file", "clés 100%.env")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (start,) = [line for line in lines if line.startswith("ExecStart=")]
    assert start.endswith('"serve" "--foreground"')
    assert str(program.directory / ".orbiter") in start
    assert f"WorkingDirectory={program.directory}" in lines
    assert f'EnvironmentFile="{program.directory}/clés 100%%.env"' in lines
    assert not (program.directory / ".orbiter" / "journal.db").exists()


def test_serve_refuses_a_wrong_configuration_as_bad_input(program: Program) -> None:
    (program.directory / "orbiter.toml").write_text("[errors]\nmax_atempts = 2\n")
    for mode in ((), ("--foreground",)):
        done = program("serve", *mode)
        assert done.returncode == 2
        assert "orbiter.toml:2: unknown key 'errors.max_atempts': did you mean 'max_attempts'?" in done.stderr
