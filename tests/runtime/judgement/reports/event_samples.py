"""One event of each type, with one text in every field that takes a text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal, get_args, get_origin

from msgspec.structs import fields

from runtime.record.state import events as ev
from runtime.record.state.clock import Instant
from runtime.record.state.fault_taxonomy import Cause, Classification, Origin, Persistence

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


def sample_event(kind: type[ev.JournalEvent], text: str) -> ev.JournalEvent:
    """An event of `kind` whose texts are all `text`."""
    values = {field.name: _value(field.type, text) for field in fields(kind)}
    return kind(**{name: value for name, value in values.items() if value is not None})


def _value(annotation: Any, text: str) -> Any:
    """What a field of this type gets; None: its default."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)[0]
    fault = Classification(
        origin=Origin.TOOL, cause=Cause.NETWORK, persistence=Persistence.TRANSIENT, technical=text, user_message=text
    )
    known: dict[Any, Any] = {
        str: text,
        int: 3,
        float: 90.5,
        Instant: NOON,
        dict[str, Any]: {text: text},
        tuple[str, ...]: (text,),
        tuple[tuple[str, int], ...]: ((text, 1),),
        ev.Actor: ev.Actor(name=text, channel="cli"),
        Classification: fault,
    }
    return known.get(annotation)
