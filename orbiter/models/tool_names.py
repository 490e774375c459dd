"""Names of tools as the APIs take them.

A tool may be called anything, and a worker named "Data Analyst" makes the tool ``delegate_to_Data Analyst``; but OpenAI
and Anthropic refuse a request with a name that is not letters, digits, ``_`` and ``-``, 64 at most.
https://platform.openai.com/docs/api-reference/chat/create (tools), https://docs.claude.com/en/api/messages (tools)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

from orbiter.models.types import ModelResponse, StreamChunk
from orbiter.types import AssistantMessage, Message

_FITS = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_STRANGE = re.compile(r"[^a-zA-Z0-9_-]")


def to_valid_name(name: str) -> str:
    """A tool's name as every API takes it: unchanged if it fits, else made of it, the same each time."""
    if _FITS.fullmatch(name):
        return name
    # Two names that differ only in what is replaced or cut off stay two. Google wants no digit in front.
    return f"_{_STRANGE.sub('_', name)[:54].lstrip('_')}_{sha256(name.encode()).hexdigest()[:8]}"


@dataclass(slots=True, frozen=True)
class ToolNames:
    """The names of one call: out in a form that fits, and back as their owners wrote them.

    `given` has the owners' names by the fitting ones, where they differ.
    """

    given: dict[str, str]

    @classmethod
    def of(cls, tools: Iterable[dict[str, Any]] | None) -> Self:
        """Of tools in OpenAI's function form."""
        names = [each.get("function", each).get("name") for each in tools or ()]
        return cls({fit: name for name in names if name and (fit := to_valid_name(name)) != name})

    def tools(self, tools: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        """The tools with names that fit; the same list where all do."""
        return [_renamed(each) for each in tools] if tools and self.given else tools

    def messages(self, messages: list[Message]) -> list[Message]:
        """The conversation with names that fit: other agents' calls are in it, and names that a model made up."""
        return [_fitting(each) for each in messages]

    def reply(self, reply: ModelResponse) -> ModelResponse:
        """The reply with the owners' names."""
        if not self.given or not reply.tool_calls:
            return reply
        calls = [each.model_copy(update={"name": self.given.get(each.name, each.name)}) for each in reply.tool_calls]
        return reply.model_copy(update={"tool_calls": calls})

    def chunk(self, chunk: StreamChunk) -> StreamChunk:
        """A piece of a reply with the owners' names. A name comes whole, in one piece."""
        if not self.given or not chunk.tool_call_deltas:
            return chunk
        deltas = [
            each.model_copy(update={"name": self.given.get(each.name or "", each.name)})
            for each in chunk.tool_call_deltas
        ]
        return chunk.model_copy(update={"tool_call_deltas": deltas})


def _renamed(tool: dict[str, Any]) -> dict[str, Any]:
    if "function" in tool:
        return {**tool, "function": _renamed(tool["function"])}
    return {**tool, "name": to_valid_name(tool["name"])} if tool.get("name") else tool


def _fitting(message: Message) -> Message:
    if not isinstance(message, AssistantMessage) or all(_FITS.fullmatch(call.name) for call in message.tool_calls):
        return message
    calls = [call.model_copy(update={"name": to_valid_name(call.name)}) for call in message.tool_calls]
    return message.model_copy(update={"tool_calls": calls})
