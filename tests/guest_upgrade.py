"""A framework is upgraded under runs that wait for a person: ``python -m tests.guest_upgrade OLDEST NEWEST BELOW``.

Each of the three is a directory of packages, which go before those of the environment: the oldest and the newest
version of each framework that this program runs, and versions that are too old for it. `.ci/guests upgrade` makes them.

A run is begun with one version, until it waits for a person and its process ends. What it waits for is answered, and
the run is gone on with, by the program with another version, in the same workspace: from old to new, and the other way
round. A version that is too old must be refused in words, and leave the run as it is.

Prints a line for each run. The exit code is 1 where one has not ended with the output it would have had, where an
effect is missing or was had twice, and where the program has shown a traceback.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
SWARMS = ROOT / "tests" / "data" / "swarms"
WAITS, REFUSED = 3, 2
"""Exit codes of `run`: everything waits for a person; the input is bad."""
MOST_LIVES = 12
TIMEOUT_S = 600
"""How long one command may take before it counts as hung."""
PROGRAM = Path(sys.executable).with_name("orbiter-console")


class Broken(Exception):
    """A run was lost, or has done something twice; says what."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run of an agent of a framework, and what must come of it.

    `effects` are the lines that its tools leave in the world, requests to models (`look …`) among them, in any order.
    `packages` are those whose versions are shown.
    """

    packages: Sequence[str]
    agent: str
    output: object
    effects: Sequence[str]


PYDANTIC_AI = ("pydantic-ai-slim", "pydantic")
LANGGRAPH = ("langgraph", "langchain", "langchain-core", "langgraph-checkpoint")
OPENAI_AGENTS = ("openai-agents", "openai")
BILL = {"total": 3, "paid": ["ann", "bob"]}
PAID = ("note paid ann 1", "note paid bob 2")

CASES = (
    Case(
        packages=PYDANTIC_AI,
        agent="guests.py:banker",
        output=BILL,
        effects=["look model", "note balance", *PAID, "look model"],
    ),
    Case(
        packages=PYDANTIC_AI,
        agent="guests.py:careful",
        output="the end: here",
        effects=["asked /tmp", "note wiped /tmp", "note guess 1", "note guess 2", *["look model"] * 5],
    ),
    Case(
        packages=LANGGRAPH,
        agent="graphs.py:banker",
        output="the end: paid ann 1; paid bob 2",
        effects=["look model", *PAID, "look model"],
    ),
    Case(
        packages=LANGGRAPH,
        agent="graphs.py:questions",
        output={"text": "go", "notes": ["left=here", "right=here", "n=5", "deep=here", "red 1"]},
        effects=[],
    ),
    Case(
        packages=OPENAI_AGENTS,
        agent="openai_guests.py:banker",
        output=BILL,
        effects=["look m", "note balance", *PAID, "look m"],
    ),
    Case(
        packages=OPENAI_AGENTS,
        agent="openai_guests.py:triage",
        output="refunded: paid ann 5",
        effects=["look t", "note welcomed", "look b", "look r", "note paid ann 5", "look r"],
    ),
)


@dataclass(frozen=True)
class Version:
    """The program with the versions of frameworks that a directory of packages has."""

    directory: Path

    def environment(self, effects: Path | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ORBITER_")}
        path = os.pathsep.join([str(self.directory), str(ROOT)])
        world = {"ORBITER_TEST_EFFECTS": str(effects)} if effects is not None else {}
        return {**kept, **world, "PYTHONUTF8": "1", "PYTHONPATH": path}

    def of(self, packages: Sequence[str]) -> str:
        """The versions of packages, in words."""
        found = {each.name: each.version for each in distributions(path=[str(self.directory)])}
        return ", ".join(f"{name} {found[name]}" for name in packages if name in found)


class Workspace:
    """A directory in which one run of an agent is driven, by one version after the other."""

    def __init__(self, root: Path, case: Case) -> None:
        self.root = root
        self.case = case

    def say(self, version: Version, *words: str, statuses: Sequence[int] = (0,)) -> str:
        """What the program prints; it must end with one of the statuses.

        Raises:
            Broken: It has not, or it has shown a traceback.
        """
        done = subprocess.run(
            [PROGRAM, *words],
            check=False, cwd=self.root, env=version.environment(self.root / "effects"),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
        said = done.stdout + done.stderr
        if "Traceback" in said or done.returncode not in statuses:
            raise Broken(f"{' '.join(words)} ended with {done.returncode}:\n{said}")
        return said if done.returncode else done.stdout

    @property
    def run(self) -> Sequence[str]:
        """The command that drives the run."""
        return ("run", f"{SWARMS / self.case.agent}", "go", "--json")

    def drive(self, version: Version, *more: str) -> None:
        """Drive the run until it waits for a person, or ends."""
        self.say(version, *self.run, *more, statuses=(0, WAITS))

    def open_incidents(self, version: Version) -> list[dict[str, Any]]:
        found = map(json.loads, self.say(version, "incidents", "--json").splitlines())
        return [each for each in found if each["state"] == "open"]

    def show(self, version: Version) -> dict[str, Any]:
        (run,) = map(json.loads, self.say(version, "runs", "--json").splitlines())
        return dict(run)

    def output(self, version: Version) -> object:
        """The run's output; an object of JSON as such."""
        run = self.show(version)
        said = json.loads(self.say(version, "show", run["id"], "--json"))["output"]
        try:
            return json.loads(said)
        except ValueError:
            return said

    def effects(self) -> list[str]:
        path = self.root / "effects"
        return path.read_text().splitlines() if path.exists() else []


def answer(incident: Mapping[str, Any]) -> list[str]:
    """What the person says: yes; to a question, what its form asks for."""
    options = {each["id"] for each in incident["options"]}
    if "grant" in options:
        return ["grant"]
    schema = incident["answer_schema"] or {}
    value: object = "here"
    if schema.get("type") == "object":
        value = {"colour": "red", "size": 1}
    elif "how many" in incident["question"]:
        value = 5
    option = "input" if "input" in options else "result"
    return [option, "--value", value if isinstance(value, str) else json.dumps(value)]


def carried_over(workspace: Workspace, first: Version, later: Version, below: Version) -> int:
    """Begin a run with one version, have it refused by one that is too old, and let it go on with another one.

    Returns:
        How often the later version drove it.

    Raises:
        Broken: It has lost something, or has done it twice.
    """
    workspace.drive(first)
    if not workspace.open_incidents(first):
        raise Broken("it did not wait for a person")
    refused(workspace, below)
    lives = 0
    while (state := workspace.show(later)["state"]) == "waiting":
        if lives == MOST_LIVES:
            raise Broken(f"it still waits, after {lives} answers")
        for incident in workspace.open_incidents(later):
            workspace.say(later, "answer", incident["id"], *answer(incident))
        workspace.drive(later, "--resume")
        lives += 1
    case = workspace.case
    if state != "completed":
        raise Broken(f"the run is {state}")
    if (output := workspace.output(later)) not in (case.output, json.dumps(case.output)):
        raise Broken(f"the output is {output!r}, not {case.output!r}")
    if (effects := sorted(workspace.effects())) != sorted(case.effects):
        raise Broken(f"the effects are {effects}, not {sorted(case.effects)}")
    return lives


def refused(workspace: Workspace, below: Version) -> None:
    """A version that is too old does not touch the run, and says what is needed.

    Raises:
        Broken: It has not.
    """
    before = workspace.show(below), workspace.effects()
    said = workspace.say(below, *workspace.run, "--resume", statuses=(REFUSED,))
    if "pip install 'orbiter-console[" not in said:
        raise Broken(f"a version that is too old is refused without saying what helps:\n{said}")
    if (workspace.show(below), workspace.effects()) != before:
        raise Broken("a version that is too old has changed the run")


def main(oldest: str, newest: str, below: str, *agents: str) -> int:
    """Carry each run over, in both directions; where agents are named, only theirs.

    Returns:
        The exit code.
    """
    old, new, too_old = (Version(Path(each).resolve()) for each in (oldest, newest, below))
    broken = 0
    for case in [each for each in CASES if not agents or each.agent in agents]:
        for first, later in ((old, new), (new, old)):
            heading = f"{case.agent}: {first.of(case.packages)} -> {later.of(case.packages)}"
            with TemporaryDirectory() as directory:
                try:
                    lives = carried_over(Workspace(Path(directory), case), first, later, too_old)
                except Broken as exc:
                    broken += 1
                    print(f"BROKEN {heading}: {exc}", flush=True)
                else:
                    times = "once" if lives == 1 else f"{lives} times"
                    print(
                        f"ok {heading}: refused by {too_old.of(case.packages[:1])}, gone on with {times},"
                        f" same output, each of {len(case.effects)} effects once",
                        flush=True,
                    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
