"""The program as a user calls it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROGRAM = [str(Path(sys.executable).with_name("orbiter-console"))]

SWARM = r'''"""One agent, one tool that needs leave to run."""

from orbiter import Agent, Swarm, tool
from orbiter.models.scripted import Call, Reply, script


@tool(permissions=("fs.write:{path}",))
def store(path: str, text: str) -> str:
    """Store a text."""
    with open("stored.log", "a") as log:
        log.write(path + "\n")
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
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ORBITER_")}
    return {**kept, "PYTHONWARNINGS": "error", "PYTHONUTF8": "1"}


class Program:
    """`orbiter-console` in one directory, without a terminal."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=self.directory,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=50)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def json(self, *arguments: str) -> list[dict[str, Any]]:
        """What a verb prints with `--json`; the verb must succeed."""
        done = self(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def logged(self, name: str) -> Sequence[str]:
        path = self.directory / name
        return path.read_text().splitlines() if path.exists() else []
