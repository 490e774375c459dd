"""The queue of a streamed run's events, while its agents run in tasks of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextvars import ContextVar
from dataclasses import dataclass, replace

from orbiter._internal.arguments import SERIES, check_argument
from orbiter.errors import ConfigurationError
from orbiter.types import StreamEvent

EVENT_TYPES = frozenset({"text", "tool_call", "step", "tool_result", "reasoning", "error", "status", "usage"})
DEFAULT_EVENT_TYPES = frozenset({"text", "tool_call", "error"})
"""What a stream shows unless more is asked for: the answer as it is written."""


def wanted_types(detailed: bool, event_types: Collection[str] | None) -> frozenset[str]:
    """The event types that a stream shows; errors always.

    Raises:
        ConfigurationError: It is not a list, or an event type is unknown.
    """
    if event_types is None:
        return EVENT_TYPES if detailed else DEFAULT_EVENT_TYPES
    check_argument("run.stream()", "event_types", event_types, SERIES, example="['text']", error=ConfigurationError)
    unknown = sorted(set(event_types) - EVENT_TYPES, key=str)
    if unknown:
        raise ConfigurationError(
            f"Unknown event types {unknown}", suggestion=f"Known are {', '.join(sorted(EVENT_TYPES))}."
        )
    return frozenset(event_types) | {"error"}


@dataclass(slots=True, frozen=True)
class EventSink:
    """Takes the events of the agents that run below it.

    `inner`: these agents work for another one, inside a tool. A stream that shows only the answer leaves them out.
    """

    put: Callable[[StreamEvent], None]
    wanted: frozenset[str]
    detailed: bool
    max_steps: int | None = None
    inner: bool = False

    def for_tools(self) -> EventSink | None:
        """What runs that a tool starts report to."""
        if not self.detailed:
            return None
        return self if self.inner else replace(self, inner=True, max_steps=None)


current_sink: ContextVar[EventSink | None] = ContextVar("orbiter_sink", default=None)
"""Set only in tasks of a streamed run."""
