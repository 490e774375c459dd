"""A streamed reply put together from its chunks as they pass."""

from __future__ import annotations

import reprlib
from typing import Any, TypeVar, get_args

from pydantic import BaseModel

from orbiter._internal.output_parser import UNUSABLE, error_words, unusable_reply
from orbiter.models.reply_assembly import StreamAssembly
from orbiter.models.types import FinishReason, ModelResponse, StreamChunk, ToolCallDelta

M = TypeVar("M", bound=BaseModel)


class StreamedReply:
    """Adds chunks up. `said`: something came that cannot be taken back, so the call cannot be tried again."""

    __slots__ = ("_assembly", "_model", "_plain", "said")

    def __init__(self, model: str) -> None:
        self._model = model
        self._assembly = StreamAssembly()
        # Most chunks are a piece of text and nothing else: these are only kept until another kind comes.
        self._plain: list[str] = []
        self.said = False

    def add(self, chunk: Any) -> StreamChunk:
        """Take the next chunk, of ours or of a provider's own making, and return it as one of ours.

        Raises:
            ModelError: It is of another kind.
        """
        try:
            piece = chunk if isinstance(chunk, StreamChunk) else _read_chunk(chunk)
            delta = piece.delta
            if delta and len(piece.model_fields_set) == 1 and type(delta) is str:
                self._plain.append(delta)
                self.said = True
                return piece
            _check_texts(piece)
            self._flush()
            self._assembly.add(piece)
        except UNUSABLE as exc:
            raise unusable_reply(self._model, f"of a piece of its stream, {error_words(exc)}") from exc
        if delta or piece.tool_call_deltas:
            self.said = True
        return piece

    def response(self) -> ModelResponse:
        """The whole reply.

        Raises:
            ModelError: Its pieces make none.
        """
        try:
            self._flush()
            return self._assembly.response()
        except UNUSABLE as exc:
            raise unusable_reply(self._model, exc) from exc

    def _flush(self) -> None:
        if self._plain:
            self._assembly.add(StreamChunk(delta="".join(self._plain)))
            self._plain = []


def _read_chunk(given: Any) -> StreamChunk:
    """A chunk of another making, which may lack all fields but `delta`."""
    deltas = getattr(given, "tool_call_deltas", None)
    fields: dict[str, Any] = {}
    if deltas:
        fields["tool_call_deltas"] = [_read(ToolCallDelta, each, "index") for each in deltas]
    reason = getattr(given, "finish_reason", None)
    if isinstance(reason, str) and reason not in get_args(FinishReason):
        fields["finish_reason"] = None  # a word of that provider: whether tools are called says what is meant
    return _read(StreamChunk, given, "delta", **fields)


def _read(kind: type[M], given: Any, needed: str, **read: Any) -> M:
    if not hasattr(given, needed):
        raise TypeError(f"{reprlib.repr(given)} has no {needed}")
    said = ((name, getattr(given, name, None)) for name in kind.model_fields)
    fields = {name: value for name, value in said if value and not _is_stand_in(value)}
    return kind.model_validate({**fields, **read}, strict=True)


def _is_stand_in(value: Any) -> bool:
    """Whether it is a mock of a test: an object that makes one has every attribute that it is asked for."""
    return type(value).__module__ == "unittest.mock"


def _check_texts(piece: StreamChunk) -> None:
    """Of a chunk that was made without a check: what is shown before the reply is whole."""
    for text in (piece.delta, piece.reasoning_content):
        if not isinstance(text, str):
            raise TypeError(f"what it says must be a text; got {reprlib.repr(text)}")
