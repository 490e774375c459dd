"""Benchmarks as ratios: each compares two ways of doing the same work, in one process and one run.

``python -m benchmarks [module …]`` runs them, by the module's own name. A module of this package or of a folder in it
with ``run() -> Iterable[Ratio]`` is one; nothing need be registered. Absolute times are the machine's and change with
it; ratios are ours.
"""

from __future__ import annotations

import os
import pkgutil
from dataclasses import dataclass

# Programs that are measured load compiled modules, as they do where they are installed.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@dataclass(slots=True, frozen=True)
class Ratio:
    """What something costs, in units of what it is compared with: lower is better.

    `goal` is the most that it should be, None where it is for orientation only. `note` says what was measured.
    """

    name: str
    value: float
    goal: float | None = None
    note: str = ""

    @property
    def met(self) -> bool:
        return self.goal is None or self.value <= self.goal


def modules() -> dict[str, str]:
    """The modules of this package, without what runs it: their names by their own last part, which is unique."""
    found = pkgutil.walk_packages(__path__, f"{__name__}.")
    return {each.name.rpartition(".")[2]: each.name for each in found if not each.name.endswith(".__main__")}
