"""A streamed chat completion as chunks, with mistakes of servers corrected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pydantic_core import from_json

from orbiter.models.model_errors import CallContext
from orbiter.models.openai.chat_wire import (
    RoundTripData,
    arguments_text,
    finish_from_wire,
    reasoning_of,
    usage_from_wire,
)
from orbiter.models.types import FinishReason, StreamChunk, ToolCallDelta
from orbiter.types import Usage


@dataclass(slots=True)
class ChatStreamReader:
    """Reads the stream's chunks; gives calls numbers and ids of its own where a server botches them."""

    call: CallContext
    finished: bool = False
    _slots: dict[Any, int] = field(default_factory=dict)
    """Our number of the call that is open under a server's index."""
    _ids: list[str] = field(default_factory=list)
    _made: set[int] = field(default_factory=set)
    """Calls whose id is of our making."""
    _named: dict[int, str] = field(default_factory=dict)
    """The names of those."""
    _said: dict[int, str] = field(default_factory=dict)
    """Their arguments so far."""
    _back: RoundTripData | None = None
    _refused: bool = False

    def read(self, event: Any) -> StreamChunk | None:
        """The chunk in an event."""
        error = getattr(event, "error", None)
        if error:
            raise self.call.body_error(error)
        usage = usage_from_wire(event.usage) if getattr(event, "usage", None) else Usage()
        choice = event.choices[0] if event.choices else None
        if choice is None:
            return StreamChunk(usage=usage, id=event.id or "", model=event.model or "") if usage != Usage() else None
        delta = choice.delta
        refusal = getattr(delta, "refusal", None)
        self._refused = self._refused or bool(refusal)
        back = self._back = self._back or RoundTripData(self.call.provider)
        if delta is not None:
            back.note(delta)
        return StreamChunk(
            delta=getattr(delta, "content", None) or refusal or "",
            tool_call_deltas=[self._tool(each) for each in getattr(delta, "tool_calls", None) or ()],
            reasoning_content=reasoning_of(delta),
            usage=usage,
            finish_reason=self._finish(choice),
            provider_data=back.data(calls=bool(self._ids)) if choice.finish_reason else None,
            id=event.id or "",
            model=event.model or "",
        )

    def _finish(self, choice: Any) -> FinishReason | None:
        reason = choice.finish_reason
        if not reason:
            return None
        if reason == "error":
            error = getattr(choice, "error", None) or {"message": "The model stopped with an error"}
            raise self.call.body_error(error)
        self.finished = True
        return "content_filter" if self._refused else finish_from_wire(reason, calls=bool(self._ids))

    def _tool(self, piece: Any) -> ToolCallDelta:
        index = getattr(piece, "index", None)
        function = piece.function
        name = getattr(function, "name", None) or None
        slot = self._slots.get(index)
        if slot is None and index is None and self._ids:
            slot = len(self._ids) - 1
        opens = self._opens(slot, index, piece.id, name)
        if opens or slot is None:
            slot = self._slots[index] = len(self._ids)
            self._ids.append(piece.id or f"call_{uuid4().hex[:24]}")
            if not piece.id:
                self._made.add(slot)
                self._named[slot] = name or ""
        arguments = arguments_text(function)
        if slot in self._made:
            self._said[slot] = self._said.get(slot, "") + arguments
        if self._back is not None:
            self._back.note_call(self._ids[slot], piece)
        return ToolCallDelta(
            index=slot,
            id=self._ids[slot] if opens else None,
            name=name if opens else None,
            arguments=arguments,
        )

    def _opens(self, slot: int | None, index: Any, call_id: str | None, name: str | None) -> bool:
        """Whether a piece begins another call. Servers exist that number every call 0, or not at all, or give no id."""
        if slot is None:
            return True
        if call_id:
            # An id that comes late belongs to the call that has none yet; with a name it is another call's.
            return call_id != self._ids[slot] and not (slot in self._made and not name)
        if name is None:
            return False
        if index is None:
            return True
        # The same name again may be another call, or one that a server repeats: a call is not made twice for that.
        return name != self._named.get(slot, name) and _is_object(self._said[slot])


def _is_object(text: str) -> bool:
    """Whether these arguments are whole: then a name begins another call."""
    try:
        return isinstance(from_json(text), dict)
    except ValueError:
        return False
