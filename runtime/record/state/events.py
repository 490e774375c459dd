"""The events: facts in the past tense, one model each in the modules by subject, and all of them as one union.

An event is written once and never changed. `seq` counts within a run from 1 without gaps and is given by the
journal, as is `run_id`'s place in the file; `v` is the version of this vocabulary. A reader ignores fields that
it does not know and keeps events whose `type` it does not know as `UnknownEvent`, so that a newer program's
journal can still be looked at.

What belongs to no run (grants, freezes, each operator's last look) stands in the stream of `WORKSPACE_RUN_ID`.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Union

from pydantic import Discriminator, Tag, TypeAdapter

from runtime.record.state.clock import utc_now
from runtime.record.state.event_base import (
    BLOB_BYTES,
    EVENT_VERSION,
    WORKSPACE_RUN_ID,
    Actor,
    JournalEvent,
    UnknownEvent,
)
from runtime.record.state.incident_events import (
    AnalysisAdded,
    AnalysisStarted,
    AnswerProposed,
    IncidentAnswered,
    IncidentClosed,
    IncidentOpened,
    Option,
)
from runtime.record.state.node_events import (
    CancelRequested,
    ControlReturned,
    LateResultDropped,
    NodeClosed,
    NodeOpened,
    RetryScheduled,
    StepCompacted,
    StepEdited,
    StepEnded,
    StepFellBack,
    StepRecord,
    StepRequested,
    StepSettled,
    StepStarted,
    Warned,
)
from runtime.record.state.run_events import (
    AbortRequested,
    BreakpointCleared,
    BreakpointSet,
    ClockSetBack,
    ClockStepped,
    MessageDelivered,
    MessageInjected,
    RewindRequested,
    RunCreated,
    RunFinished,
    RunFrozen,
    RunMoved,
    RunParked,
    RunRewound,
    RunStarted,
    RunThawed,
    SwarmLoaded,
)
from runtime.record.state.workspace_events import (
    AgentRefused,
    BreakerChanged,
    EventsLost,
    FreezeLifted,
    FreezeSet,
    GrantAdded,
    GrantRevoked,
    GrantUsed,
    NoticeSent,
    OperatorLooked,
    PatternReread,
    TracesHeldBack,
    TracesSent,
)

EVENT_CLASSES: tuple[type[JournalEvent], ...] = (
    RunCreated, RunStarted, RunParked, RunFinished, AbortRequested, RunFrozen, RunThawed,
    RunMoved, RewindRequested, RunRewound, SwarmLoaded, ClockSetBack, ClockStepped, BreakpointSet, BreakpointCleared,
    MessageInjected, MessageDelivered,
    NodeOpened, NodeClosed, Warned,
    StepRequested, StepStarted, StepEdited, StepEnded, StepSettled, RetryScheduled, LateResultDropped,
    CancelRequested,
    StepFellBack, StepCompacted, ControlReturned,
    IncidentOpened, IncidentAnswered, IncidentClosed, AnalysisStarted, AnalysisAdded, AnswerProposed,
    GrantAdded, GrantUsed, GrantRevoked, FreezeSet, FreezeLifted, BreakerChanged, OperatorLooked, EventsLost,
    NoticeSent, PatternReread, AgentRefused, TracesSent, TracesHeldBack,
)  # fmt: skip
OPERATOR_EVENTS: tuple[type[JournalEvent], ...] = (
    AbortRequested, RunFrozen, RunThawed, RewindRequested, BreakpointSet, BreakpointCleared, MessageInjected,
    CancelRequested, AnalysisStarted, AnalysisAdded, AnswerProposed, IncidentClosed, LateResultDropped, ClockStepped,
    RunMoved,
)  # fmt: skip
"""What may be appended to a run without its lease, besides answers."""

WAKING_EVENTS: tuple[type[JournalEvent], ...] = (AbortRequested, RunThawed, RewindRequested)
"""Event kinds after which a run that waits must be driven again."""

_CLASS_BY_TYPE = {kind.model_fields["type"].default: kind for kind in EVENT_CLASSES} | {"unknown": UnknownEvent}


def _tag(value: Any) -> str:
    name = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return name if isinstance(name, str) and name in _CLASS_BY_TYPE else "unknown"


@cache
def _any_event() -> TypeAdapter[JournalEvent]:
    """Reads an event of any class: made when one is first read, since most verbs read none in this way."""
    kinds = tuple(Annotated[kind, Tag(name)] for name, kind in _CLASS_BY_TYPE.items())
    any_kind: Any = Annotated[Union[kinds], Discriminator(_tag)]  # noqa: UP007 - `|` makes a union for each kind
    return TypeAdapter(any_kind)


def dump_event(event: JournalEvent) -> str:
    """One line of JSON. Fields at their defaults are left out, `type` never; `seq`, `run_id`, `node_id` and `ts`
    have columns of their own in a journal but stand here too where they are set, so that a line is whole.
    """
    body = event.model_dump_json(exclude_defaults=True)
    return f'{{"type":"{event.type}"{"," if len(body) > 2 else ""}{body[1:]}'  # type: ignore[attr-defined]


def load_event(body: str | bytes, kind: str | None = None) -> JournalEvent:
    """The event that `dump_event` wrote.

    Args:
        kind: Its `type`, where that is known: the event is read without a first look at the whole line, and only its
            own class is made ready.

    Raises:
        pydantic.ValidationError: the line is not an event of ours.
    """
    if kind is None:
        return _any_event().validate_json(body)
    return _CLASS_BY_TYPE.get(kind, UnknownEvent).model_validate_json(body)


def parse_event(value: Any) -> JournalEvent:
    """As `load_event`, from parsed JSON."""
    return _any_event().validate_python(value)
