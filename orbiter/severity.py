"""The severity of a failure as its author declares it, and the recovery action: the words of seed 002.

An agent or a tool may bring a `classify_error(exc, context)` that returns an `ErrorClassification`. A runtime acts on
it; plain `run` has no planner, router or operator to turn to, and does not ask for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from orbiter._internal.arguments import MAPPING, TEXT, check_argument
from orbiter.errors import ConfigurationError
from orbiter.parsing.near_names import did_you_mean

__all__ = ["ErrorClassification", "ErrorSeverity"]


class ErrorSeverity(Enum):
    """What should follow a failure."""

    CRITICAL = "critical"
    """End execution: no attempt will help."""
    RETRIABLE = "retriable"
    """Retry the execution step."""
    REPLANNING = "replanning"
    """Back to the planning agent, with the reason."""
    RECLASSIFICATION = "reclassification"
    """Back to the agent that routes, with the reason."""
    FATAL = "fatal"
    """System-level failure: stop at once, and let no model analyse it."""


@dataclass(frozen=True, slots=True)
class ErrorClassification:
    """An author's judgement of a failure.

    Args:
        severity: What should follow; its value as a string is taken too.
        user_message: What to tell the user; None leaves it to the runtime.
        metadata: Facts for the report and its analysis. Known keys: `technical_details`, `safety_abort_reason`,
            `suggestions` (list or string), `replanning_reason`, `reclassification_reason`, `required_context` (list),
            `error_code`, `retry_after` (seconds).

    Raises:
        ConfigurationError: `severity` is unknown; the message names the nearest one. Or a field is of another kind.
    """

    severity: ErrorSeverity
    user_message: str | None = None
    metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        given: object = self.severity
        if not isinstance(given, ErrorSeverity):
            object.__setattr__(self, "severity", _severity(given))
        for name, kind, example in (
            ("user_message", TEXT, "'The file is not there'"),
            ("metadata", MAPPING, "{'suggestions': ['Look for it']}"),
        ):
            if (value := getattr(self, name)) is not None:
                check_argument("ErrorClassification", name, value, kind, example=example, error=ConfigurationError)


def _severity(word: object) -> ErrorSeverity:
    valid = [s.value for s in ErrorSeverity]
    wanted = str(word).lower()
    if wanted in valid:
        return ErrorSeverity(wanted)
    hint = did_you_mean(word, valid, sentence=True)
    raise ConfigurationError(
        f"Unknown error severity {word!r}",
        suggestion=f"{hint}Valid are: {', '.join(valid)}",
        config_field="severity",
        config_value=str(word),
    )
