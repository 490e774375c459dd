"""What stands in the way of a step: what a gate says of an attempt that may not begin, or what a failure left over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.record.state.fault_taxonomy import Classification


@dataclass(slots=True, frozen=True)
class Blocked:
    """Why a step cannot go on by itself."""

    fault: Classification
    error: Exception | None = None
    """As it is shown, or as the model is told of it; None where nothing failed."""
    refused: bool = False
    """Decided already: the model is told `error` as the result of its call, and no person is asked."""
    need: str = ""
    """The permission that is missing."""
    wait_s: float | None = None
    """After how many seconds the step may try again by itself."""
    action: Mapping[str, Any] | None = None
    """What is shown of the reason beside what is to be done."""
    by_policy: bool = False
    """A swarm around the step that says `fail` decides, and no person is asked."""
