"""The tutorial: its files and commands, in the order of the page, in an empty directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
FILE = re.compile(r"^```(?:python|yaml)\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
READS = ("incidents", "show", "cat ")
"""Commands that change nothing: they are repeated until they print what the page shows."""
LIMIT_S = 60.0


def steps() -> list[tuple[str, list[str]]]:
    """Each command of the page with the lines that it shows."""
    found: list[tuple[str, list[str]]] = []
    for block in CONSOLE.findall(PAGE):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def parts(lines: list[str]) -> list[str]:
    """The words of shown lines, without what differs from run to run and what is left out (…)."""
    text = re.sub(r"i-[a-z0-9]{8}|\d{6}-\d{6}-[a-z0-9]{4}|pid \d+|orbiter-console \d+\.\d+\.\d+", "…", "…".join(lines))
    return [part.strip() for part in text.split("…") if part.strip()]


def test_the_page_shows_files_and_commands() -> None:
    assert [name for name, _ in FILE.findall(PAGE)] == ["refunds.py", "clerk.yaml", "bank.py"]
    assert sum(command.startswith("orbiter-console") for command, _ in steps()) == 9


@pytest.mark.skipif(not os.environ.get("SOAK"), reason="a minute of processes: SOAK=1")
@pytest.mark.timeout(600)
def test_the_tutorial_can_be_followed(tmp_path: Path) -> None:
    for name, text in FILE.findall(PAGE):
        (tmp_path / name).write_text(text, encoding="utf-8")
    surroundings = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
    }
    incident = run = ""
    background: list[subprocess.Popen[bytes]] = []
    try:
        for command, shown in steps():
            command = re.sub(r"\d{6}-\d{6}-[a-z0-9]{4}", run, re.sub(r"i-[a-z0-9]{8}", incident, command))  # noqa: PLW2901 - with the id of this run
            if command.endswith("&"):
                background.append(subprocess.Popen(command.rstrip("& ").split(), cwd=tmp_path, env=surroundings))
                continue
            if command == "kill %1":
                bank = background.pop()
                bank.terminate()
                bank.wait()
                continue
            end = time.monotonic() + LIMIT_S
            while True:
                done = subprocess.run(
                    ["bash", "-c", command],
                    cwd=tmp_path,
                    env=surroundings,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                printed = done.stdout + done.stderr
                missing = [part for part in parts(shown) if part not in printed]
                if not missing or time.monotonic() > end or not any(word in command for word in READS):
                    break
            assert not missing, f"{command}:\n{printed}"
            if " run " in command:
                run = re.findall(r"\d{6}-\d{6}-[a-z0-9]{4}", printed)[0]
            if command.endswith(" incidents"):
                (incident,) = set(re.findall(r"\bi-[a-z0-9]{8}\b", printed))
    finally:
        subprocess.run(["orbiter-console", "stop"], cwd=tmp_path, env=surroundings, check=False)
        for process in background:
            process.kill()
            process.wait()
