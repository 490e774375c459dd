"""A streamed reply put together from its chunks as they pass."""

from __future__ import annotations

from typing import Any

from orbiter.models.reply_assembly import StreamAssembly
from orbiter.models.types import ModelResponse, StreamChunk, ToolCallDelta
from orbiter.types import Usage


class StreamedReply:
    """Adds chunks up. `said`: something came that cannot be taken back, so the call cannot be tried again."""

    __slots__ = ("_assembly", "_plain", "said")

    def __init__(self) -> None:
        self._assembly = StreamAssembly()
        # Most chunks are a piece of text and nothing else: these are only kept until another kind comes.
        self._plain: list[str] = []
        self.said = False

    def add(self, chunk: Any) -> StreamChunk:
        """Take the next chunk, of ours or of a provider's own making, and return it as one of ours."""
        piece = chunk if isinstance(chunk, StreamChunk) else _ours(chunk)
        if piece.delta and len(piece.model_fields_set) == 1:
            self._plain.append(piece.delta)
            self.said = True
            return piece
        self._flush()
        self._assembly.add(piece)
        if piece.delta or piece.tool_call_deltas:
            self.said = True
        return piece

    def response(self) -> ModelResponse:
        """The whole reply."""
        self._flush()
        return self._assembly.response()

    def _flush(self) -> None:
        if self._plain:
            self._assembly.add(StreamChunk(delta="".join(self._plain)))
            self._plain = []


def _ours(chunk: Any) -> StreamChunk:
    """A chunk that only has some of the fields, or has them as stand-ins of a test."""
    usage = getattr(chunk, "usage", None)
    reason = getattr(chunk, "finish_reason", None)
    return StreamChunk(
        delta=_text(chunk, "delta"),
        tool_call_deltas=[_call(delta) for delta in getattr(chunk, "tool_call_deltas", None) or ()],
        finish_reason=reason if reason in ("stop", "tool_calls", "length", "content_filter") else None,
        usage=usage if isinstance(usage, Usage) else Usage(),
        reasoning_content=_text(chunk, "reasoning_content"),
        id=_text(chunk, "id"),
        model=_text(chunk, "model"),
    )


def _call(delta: Any) -> ToolCallDelta:
    if isinstance(delta, ToolCallDelta):
        return delta
    index = getattr(delta, "index", 0)
    return ToolCallDelta(
        index=index if isinstance(index, int) else 0,
        id=_text(delta, "id") or None,
        name=_text(delta, "name") or None,
        arguments=_text(delta, "arguments"),
    )


def _text(thing: Any, name: str) -> str:
    value = getattr(thing, name, "")
    return value if isinstance(value, str) else ""
