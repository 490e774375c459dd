"""The program as a user calls it: in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runtime.record.state.durable_run import RUN_TERMINAL
from tests.console.forking import WARNINGS, Forked
from tests.patience import PATIENCE_S

PROGRAM = [str(Path(sys.executable).with_name("orbiter-console"))]

SWARM = r'''"""One agent, one tool that needs leave to run."""

from orbiter import Agent, Swarm, tool
from orbiter.models.scripted.provider import Call, Reply, script


@tool(permissions=("fs.write:{path}",))
def store(path: str, text: str) -> str:
    """Store a text."""
    with open("stored.log", "a") as log:
        log.write(path.rpartition("/")[2] + "\n")  # a runtime hands over the real path, whatever the model wrote
    return "stored"


@tool(idempotent=True)
def look(what: str) -> str:
    """Look at something."""
    with open("looked.log", "a") as log:
        log.write(what + "\n")
    return f"saw {what}"


@script("keeper")
def keeper(messages, tools):
    turn = sum(message.role == "assistant" for message in messages)
    said = next(message.content for message in reversed(messages) if message.role == "user")
    return [
        Reply(calls=[Call("look", {"what": said})]),
        Reply(calls=[Call("store", {"path": "a.txt", "text": said})]),
        Reply("kept: ${result}"),
    ][turn]


swarm = Swarm(agents=[Agent(name="keeper", model="scripted:keeper", tools=[look, store])])
'''


def environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("ORBITER_") and not name.endswith("_API_KEY")
    }
    return {**kept, "PYTHONWARNINGS": WARNINGS, "PYTHONUTF8": "1"}


class Program:
    """`orbiter-console` in one directory, without a terminal."""

    def __init__(self, directory: Path, variables: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self._variables = dict(variables or {})

    def with_environment(self, variables: Mapping[str, str]) -> Program:
        """The same, with more in its environment."""
        return Program(self.directory, variables)

    @contextmanager
    def start(self, *arguments: str) -> Iterator[Forked]:
        """The program at work; however the test ends, it does not outlive it."""
        process = Forked(arguments, cwd=self.directory, env={**environment(), **self._variables})
        with process:
            try:
                yield process
            finally:
                process.kill()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """A runtime of this directory, which has begun to drive; it must stop cleanly."""
        with self.start("serve", "--foreground") as process:
            assert any("driving the runs" in line for line in process.stderr)
            yield
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=PATIENCE_S) == 0

    def until_over(self) -> str:
        """Waits for the only run to end; gives its state."""
        deadline = time.monotonic() + PATIENCE_S
        while (state := str(self.json("runs")[0]["state"])) not in RUN_TERMINAL:
            assert time.monotonic() < deadline, f"the run is still {state}"
            time.sleep(0.1)  # each look is a process: they would take the time from the run
        return state

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        return subprocess.CompletedProcess(arguments, process.wait(), out, err)

    def json(self, *arguments: str) -> list[dict[str, Any]]:
        """What a verb prints with `--json`; the verb must succeed."""
        done = self(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def logged(self, name: str) -> Sequence[str]:
        path = self.directory / name
        return path.read_text().splitlines() if path.exists() else []
