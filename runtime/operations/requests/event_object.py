"""An event as a result: JSON with the fields that every event has, checked."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.operations.requests.struct import JsonObject
from runtime.record.state.struct_json import explain


class _Common(msgspec.Struct):
    """What is read of every event; `runtime.record.state.event_base.JournalEvent` declares it."""

    type: str = "?"
    seq: int = 0
    run_id: str = ""
    node_id: str = ""
    ts: str = ""


class EventObject(dict[str, Any]):
    """The JSON of an event, in the order in which it was written.

    Not its class: a line of a log has an event cut to what it has room for, which its class would refuse, and an event
    of a newer program has fields that this one does not know: they stay. `parse_event` of `runtime.record.state.events`
    makes the class of it.

    Raises:
        ValueError: A field that every event has is of another type; the text begins with the field.
    """

    __slots__ = ("_common",)

    def __init__(self, body: JsonObject) -> None:
        super().__init__(body)
        # Only these: a key elsewhere may hold a lone surrogate, which msgspec does not take as a name.
        common = {name: body[name] for name in _Common.__struct_fields__ if name in body}
        try:
            self._common = msgspec.convert(common, _Common)
        except msgspec.ValidationError as exc:
            raise ValueError(explain(exc, "it is not an event")) from exc

    @property
    def type(self) -> str:
        """The name of its kind, as `step.ended`."""
        return self._common.type

    @property
    def seq(self) -> int:
        """Its number in its run."""
        return self._common.seq

    @property
    def run_id(self) -> str:
        """Its run; `@workspace` for what belongs to no run."""
        return self._common.run_id

    @property
    def node_id(self) -> str:
        """Its node; empty for what concerns the run as a whole."""
        return self._common.node_id

    @property
    def ts(self) -> str:
        """When it was recorded, in ISO 8601."""
        return self._common.ts
