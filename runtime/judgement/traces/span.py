"""A span as the fold makes it, before it is in any library's form; and what is set for traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

Value = str | int | float | bool | Sequence[str]
Attributes = dict[str, Value]
Flavour = Literal["langfuse", "phoenix"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """What is sent of a run.

    Args:
        flavours: Services whose own attributes are added to those of the conventions.
        content: Whether messages, arguments and results are sent, redacted.
        redact: Regular expressions of the operator's own, for what is masked.
    """

    flavours: tuple[Flavour, ...] = ()
    content: bool = False
    redact: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened within a span. `at`: nanoseconds since 1970."""

    name: str
    at: int
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Span:
    """A span that has ended. Times are nanoseconds since 1970; `parent` is 0 for the root."""

    trace: int
    id: int
    parent: int
    name: str
    start: int
    end: int
    attributes: Attributes
    kind: Literal["internal", "client"] = "internal"
    error: str = ""
    """What the status says; empty for a span without an error."""
    failed: bool = False
    events: tuple[SpanEvent, ...] = ()
    link: tuple[int, int] | None = None
    """Trace and span of the run that this one is a fork of."""
    seconds: float | None = None
    """How long a call took, where that was measured."""
    facts: Mapping[str, Value] = field(default_factory=dict)
    """Of a model's call: what its metrics are counted by."""


def nanoseconds(instant: datetime) -> int:
    """Nanoseconds since 1970, exact to the microsecond."""
    return (instant - _EPOCH) // _MICROSECOND * 1_000
