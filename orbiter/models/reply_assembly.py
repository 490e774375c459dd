"""A reply assembled from the chunks of a stream, however they were cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from orbiter.models.types import FinishReason, ModelResponse, StreamChunk, ToolCallDelta
from orbiter.types import ToolCall, Usage


@dataclass(slots=True)
class _OpenCall:
    id: str
    name: str
    arguments: list[str] = field(default_factory=list)

    def closed(self) -> ToolCall:
        # An id of our own where the server sent none (some OpenAI-compatible ones do): a result must name its call.
        return ToolCall(id=self.id or f"call_{uuid4().hex[:24]}", name=self.name, arguments="".join(self.arguments))


class StreamAssembly:
    """Adds chunks up to the `ModelResponse` that `complete` would have returned.

    Pieces of a tool call belong together by `index`. A piece whose id differs from the one already known under its
    index opens another call: servers exist that number every call 0.
    """

    __slots__ = (
        "_calls",
        "_content",
        "_current",
        "_reasoning",
        "finish_reason",
        "id",
        "model",
        "provider_data",
        "usage",
    )

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_OpenCall] = []
        self._current: dict[int, _OpenCall] = {}
        self.finish_reason: FinishReason | None = None
        self.usage = Usage()
        self.id = ""
        self.model = ""
        self.provider_data: dict[str, Any] | None = None

    def add(self, chunk: StreamChunk) -> None:
        """Take the next piece. Optional fields may be missing altogether: callers bring chunks of their own making."""
        if chunk.delta:
            self._content.append(chunk.delta)
        reasoning: str = getattr(chunk, "reasoning_content", "")
        if reasoning:
            self._reasoning.append(reasoning)
        for delta in getattr(chunk, "tool_call_deltas", None) or ():
            self._add_call(delta)
        usage: Usage | None = getattr(chunk, "usage", None)
        if usage is not None and usage != Usage():
            self.usage = usage
        self.finish_reason = getattr(chunk, "finish_reason", None) or self.finish_reason
        self.id = getattr(chunk, "id", "") or self.id
        self.model = getattr(chunk, "model", "") or self.model
        self.provider_data = getattr(chunk, "provider_data", None) or self.provider_data

    def _add_call(self, delta: ToolCallDelta) -> None:
        call = self._current.get(delta.index)
        if call is None or (delta.id and call.id and delta.id != call.id):
            call = self._current[delta.index] = _OpenCall(delta.id or "", delta.name or "")
            self._calls.append(call)
        else:
            call.id = call.id or delta.id or ""
            call.name = call.name or delta.name or ""
        if delta.arguments:
            call.arguments.append(delta.arguments)

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._content)

    @property
    def reasoning(self) -> str:
        """The thoughts so far."""
        return "".join(self._reasoning)

    def response(self) -> ModelResponse:
        """The reply. A missing finish reason is read from what came; providers of ours never end a stream without."""
        calls = [call.closed() for call in self._calls]
        return ModelResponse(
            id=self.id,
            model=self.model,
            content=self.text,
            tool_calls=calls,
            usage=self.usage,
            finish_reason=self.finish_reason or ("tool_calls" if calls else "stop"),
            reasoning_content=self.reasoning,
            provider_data=self.provider_data,
        )
