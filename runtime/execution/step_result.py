"""What comes of a step and of its attempts, as values."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Classification


# Structs: a frozen dataclass takes eight times as long to make, and each step makes one of each.
class Completed(msgspec.Struct, frozen=True):
    """The step's result, from an attempt or from a person."""

    result: Any


class StepResult(msgspec.Struct, frozen=True):
    """A result with which a step is to end."""

    value: Any
    absorbed: bool = False
    """It stands for a failure, which the model is told."""
    fault: Classification | None = None
    """What stood in the way, where no attempt was made."""
    before: ev.ControlReturned | None = None
    """What is written first."""


class AttemptEnd(msgspec.Struct, frozen=True):
    """How an attempt of a step came to its end."""

    node_id: str
    parent_id: str
    number: int
    arguments: Any
    """What it worked on."""
    seconds: float = 0.0
    fault: Classification | None = None
    effect_unknown: bool = False

    def event(self, **end: Any) -> ev.StepEnded:
        """The event that says so; `end` as in `StepEnded`."""
        return ev.StepEnded(
            node_id=self.node_id,
            parent_id=self.parent_id,
            attempt=self.number,
            fault=self.fault,
            effect_unknown=self.effect_unknown,
            seconds=round(self.seconds, 4),
            **end,
        )


NO_RESULT = object()
"""In place of a result: the step has none, because its agent ends or its failure goes back into the swarm."""
