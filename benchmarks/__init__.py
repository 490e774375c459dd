"""Benchmarks as ratios: each compares two ways of doing the same work, in one process and one run.

``python -m benchmarks [module …]`` runs them. A module of this package with ``run() -> Iterable[Ratio]`` is one;
nothing need be registered. Absolute times are the machine's and change with it; ratios are ours.
"""

from __future__ import annotations

import os
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
