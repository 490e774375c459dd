"""What comes of a step and of its attempts, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from runtime.record.state.fault_taxonomy import Classification


@dataclass(slots=True, frozen=True)
class Completed:
    """The step's result, from an attempt or from a person."""

    result: Any


@dataclass(slots=True, frozen=True)
class AttemptEnd:
    """How an attempt came to its end."""

    number: int
    arguments: Any
    """What it worked on."""
    seconds: float = 0.0
    fault: Classification | None = None
    effect_unknown: bool = False


NO_RESULT = object()
"""In place of a result: the step has none, because its agent ends or its failure goes back into the swarm."""
