"""An example of `examples/`, run by the program as its reader runs it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.console.program import Program

EXAMPLES = Path(__file__).parents[2] / "examples"


class Example(Program):
    """The program in a directory that has one example.

    Args:
        directory: Where it is run.
        file: The example's file below `examples/`.
    """

    def __init__(self, directory: Path, file: str) -> None:
        super().__init__(directory)
        shutil.copy(EXAMPLES / file, directory)

    def say(self, *words: str, status: int = 0) -> str:
        """What it prints. It ends with this status."""
        done = self(*words)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def waits(self, *run: str) -> list[dict[str, Any]]:
        """A run that comes to wait for a person; gives the incidents that are open then."""
        self.say(*run, "--json", status=3)
        return [each for each in self.json("incidents") if each["state"] == "open"]

    def end_of(self, run: Sequence[str]) -> dict[str, Any]:
        """The end of a run that is gone on with."""
        last = self.json(*run, "--resume")[-1]
        assert last["type"] == "run.finished"
        return last
