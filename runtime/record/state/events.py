"""The events: facts in the past tense, one class each in the modules by subject, and all of them as one union.

An event is written once and never changed. `seq` counts within a run from 1 without gaps and is given by the
journal, as is `run_id`'s place in the file; `v` is the version of this vocabulary. A reader ignores fields that
it does not know and keeps events whose `type` it does not know as `UnknownEvent`, so that a newer program's
journal can still be looked at.

What belongs to no run (grants, freezes, each operator's last look) stands in the stream of `WORKSPACE_RUN_ID`.
"""

from __future__ import annotations

import re
from functools import cache, reduce
from operator import or_
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from runtime.record.state.clock import utc_now
from runtime.record.state.event_base import (
    BLOB_BYTES,
    EVENT_VERSION,
    WORKSPACE_RUN_ID,
    Actor,
    JournalEvent,
    UnknownEvent,
    type_of,
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
from runtime.record.state.struct_json import encode_struct, struct_fields, struct_to_builtins
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

K = TypeVar("K")

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

_MAX_NESTING: Final = 128
"""Only a text with more brackets than this, each opened and closed, can be nested too deeply."""
_RESERVED_LEVELS: Final = 20
"""Levels that are left for what an event is put into: its line in an export, a snapshot on the link."""
_CLASS_BY_TYPE: dict[str, type[JournalEvent]] = {type_of(kind): kind for kind in EVENT_CLASSES}
_HEAD: Final = re.compile(r'\{(?:"v":\d{1,9},)?"type":"([a-z_.]{1,100})"')
_HEAD_BYTES: Final = re.compile(_HEAD.pattern.encode())
_COMMON: Final = frozenset({"type", *JournalEvent.__struct_fields__})

InvalidEvent = msgspec.DecodeError
"""What is raised for JSON that is not an event of ours."""


class _Typed(msgspec.Struct):
    """What is read of a line to know which event it is."""

    type: str = ""


@cache
def decoder_of(kind: type[K]) -> msgspec.json.Decoder[K]:
    """What reads a struct from a line of JSON; made when the first one is read."""
    return msgspec.json.Decoder(kind)


@cache
def _node_event_decoder() -> msgspec.json.Decoder[JournalEvent]:
    """What reads the events of nodes, as nearly all are, with one look at a line."""
    kinds: Any = reduce(or_, (kind for kind in EVENT_CLASSES if kind.__module__ == Warned.__module__))
    return msgspec.json.Decoder(kinds)


def dump_event(event: JournalEvent) -> str:
    """One line of JSON. Fields at their defaults are left out, `type` never, which comes first; `seq`, `run_id`,
    `node_id` and `ts` have columns of their own in a journal but stand here too where they are set, so that a line is
    whole.
    """
    if isinstance(event, UnknownEvent):
        common = struct_to_builtins(replace(event, others={}))
        return encode_struct({"type": event.type} | common | event.others).decode()
    return encode_struct(event).decode()


def type_in_line(body: str | bytes) -> str:
    """The `type` that a line says; empty where it says none, or is not JSON. Mostly it says it first."""
    if isinstance(body, str) and (head := _HEAD.match(body)):
        return head[1]
    if isinstance(body, bytes) and (head_bytes := _HEAD_BYTES.match(body)):
        return head_bytes[1].decode()
    try:
        typed: _Typed = decoder_of(_Typed).decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return ""
    return typed.type


def load_event(body: str | bytes) -> JournalEvent:
    """The event that `dump_event` wrote.

    Raises:
        InvalidEvent: the line is not an event of ours.
    """
    try:
        return _node_event_decoder().decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError):  # of another kind, or none that can be read
        return _load_by_type(body)


def _load_by_type(body: str | bytes) -> JournalEvent:
    found = _CLASS_BY_TYPE.get(type_in_line(body))
    try:
        return decoder_of(found).decode(body) if found is not None else _unknown_event(msgspec.json.decode(body))
    except (RecursionError, UnicodeError) as exc:
        raise InvalidEvent(str(exc)) from exc


def check_line(event: JournalEvent, body: str) -> None:
    """What `dump_event` wrote of `event` can be read back: an event checks no types when it is made, and what user code
    gives comes into some.

    Raises:
        InvalidEvent: it cannot; the message names the field.
        ValueError: it is nested more deeply than 200 levels: other readers of JSON take no more.
    """
    if len(body) > 2 * _MAX_NESTING and body.count("{") + body.count("[") > _MAX_NESTING:
        from pydantic_core import from_json  # it counts levels; others take what the stack has room for

        from_json(f"{'[' * _RESERVED_LEVELS}{body}{']' * _RESERVED_LEVELS}", cache_strings=False)
    if type(event) is not UnknownEvent:
        decoder_of(type(event)).decode(body)


def parse_event(value: Any) -> JournalEvent:
    """As `load_event`, from parsed JSON."""
    name = value.get("type") if isinstance(value, dict) else None
    found = _CLASS_BY_TYPE.get(name) if isinstance(name, str) else None
    return msgspec.convert(value, found) if found is not None else _unknown_event(value)


def event_fields(event: JournalEvent) -> dict[str, Any]:
    """An event as JSON objects have it, with all its fields, also those at their defaults."""
    fields: dict[str, Any] = {"type": event.type, **struct_fields(event)}
    return fields | fields.pop("others") if isinstance(event, UnknownEvent) else fields


def _unknown_event(value: Any) -> UnknownEvent:
    if not isinstance(value, dict):
        raise InvalidEvent("it is not an object")
    found = msgspec.convert({name: each for name, each in value.items() if name in _COMMON}, UnknownEvent)
    return replace(found, others={name: each for name, each in value.items() if name not in _COMMON})
