"""The model step: arguments, reply, how both are recorded, and the one call to the provider.

Everything here takes its arguments and closes over nothing, so that a decision may replace model or messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from orbiter._internal.loop.providers import provider_for_model
from orbiter._internal.output_parser import UNUSABLE, reply_data, reply_output, unusable_reply
from orbiter.steps import Codec, Emit
from orbiter.text_encoding import drop_surrogates
from orbiter.types import AgentInput, AgentOutput, Message, Usage

if TYPE_CHECKING:
    from orbiter.agent import Agent


@dataclass(slots=True, eq=False)
class ModelCall:
    """What one question to a model consists of; its other settings are the agent's.

    `messages` is the agent's live list (the provider gets a copy), `new_from` the index from which it is new since this
    agent's previous question. `tool_names` are those of `tools`, told once for all questions of a run; plain `run`
    tells none. `attempts` counts the calls made, so that a failure can say how many there were.
    """

    agent: Agent
    provider: Any
    model: str
    messages: list[Message]
    tools: list[dict[str, Any]] | None
    tool_names: list[str] = field(default_factory=list)
    new_from: int = 0
    attempts: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        """What the provider is told besides the messages."""
        agent = self.agent
        told: dict[str, Any] = {
            "tools": self.tools,
            "temperature": agent.temperature,
            "max_tokens": agent.max_tokens,
        }
        # Only a provider that says so takes the keyword; others are asked in words (see `structured`).
        if agent.output_type is not None and getattr(type(self.provider), "structured", False):
            told["output_type"] = agent.output_type
        return told


@dataclass(slots=True)
class ModelReply:
    """A model's reply: what the agent works with, and what the provider said besides. `raw` is for hooks."""

    output: AgentOutput
    raw: Any = None
    model: str = ""
    finish_reason: str = ""
    reasoning: str = ""
    provider_data: dict[str, Any] | None = None


async def call_model(call: ModelCall) -> ModelReply:
    """Ask the provider once. Its exceptions pass as they are."""
    call.attempts += 1
    asked = call.provider.complete(list(call.messages), **call.settings)
    if not hasattr(asked, "__await__"):
        raise unusable_reply(call.model, "its complete() must be 'async def'")
    return parse_reply(await asked, call.model)


async def stream_model(call: ModelCall, emit: Emit) -> ModelReply:
    """Ask the provider once and hand out the pieces on the way; the assembled reply is the result."""
    from orbiter._internal.loop.streamed_reply import StreamedReply  # only who streams pays for it

    call.attempts += 1
    reply = StreamedReply(call.model)
    chunks = call.provider.stream(list(call.messages), **call.settings)
    if hasattr(chunks, "__await__"):
        chunks = await chunks
    async for chunk in chunks:
        piece = reply.add(chunk)
        if piece.reasoning_content:
            emit("reasoning", drop_surrogates(piece.reasoning_content))
        if piece.delta:
            emit("text", drop_surrogates(piece.delta))
    return parse_reply(reply.response(), call.model)


def parse_reply(response: Any, model: str) -> ModelReply:
    """What a provider returned as a `Reply`. Only `content`, `tool_calls` and `usage` must be there.

    Raises:
        ModelError: It cannot be used; the message says what is wrong.
    """
    try:
        return ModelReply(
            reply_output(response),
            response,
            _text(response, "model"),
            _text(response, "finish_reason"),
            _text(response, "reasoning_content"),
            reply_data(response),
        )
    except UNUSABLE as exc:
        raise unusable_reply(model, exc) from exc


def _text(response: Any, name: str) -> str:
    value = getattr(response, name, "")
    if not value or not isinstance(value, str):
        return ""
    return value if value.isascii() else drop_surrogates(value)


class ModelCodec(Codec[ModelCall, ModelReply]):
    """Requests are recorded by model, tools and a digest of what is new; replies in full."""

    def describe(self, arguments: ModelCall) -> dict[str, Any]:
        """Model, tool names, number of messages, and 16 hex digits of SHA-256 over the messages that are new.

        The first question of an agent carries its messages in full; later ones can be put together from it, the
        replies and the results.
        """
        return self.describe_masked(arguments, lambda said: said)

    def describe_masked(self, arguments: ModelCall, mask: Callable[[Any], Any]) -> dict[str, Any]:
        new = mask(dump_messages(arguments.messages[arguments.new_from :]))
        described = describe_question(arguments.model, arguments.tool_names, len(arguments.messages), new)
        if arguments.new_from == 0:
            described["messages"] = new
        return described

    def dump(self, result: ModelReply) -> Any:
        output = result.output
        dumped: dict[str, Any] = {
            "text": output.text,
            "tool_calls": [call.model_dump() for call in output.tool_calls],
            "usage": output.usage.model_dump(),
            "finish_reason": result.finish_reason,
            "model": result.model,
            "reasoning": result.reasoning,
        }
        if result.provider_data:
            dumped["provider_data"] = result.provider_data
        return dumped

    def load(self, value: Any) -> ModelReply:
        output = {name: value[name] for name in ("text", "tool_calls", "usage") if name in value}
        return ModelReply(
            AgentOutput.model_validate(output),
            None,
            value.get("model", ""),
            value.get("finish_reason", ""),
            value.get("reasoning", ""),
            value.get("provider_data"),
        )

    def editable(self, arguments: ModelCall) -> dict[str, Any] | None:
        """The messages: a PRE_LLM_CALL hook may edit the live list."""
        return {"messages": dump_messages(arguments.messages)}

    def replace(self, arguments: ModelCall, changes: Mapping[str, Any]) -> ModelCall:
        """Another model (with its own provider) or other messages (put into the agent's live list)."""
        unknown = set(changes) - {"model", "messages"}
        if unknown:
            raise ValueError(f"An LLM step takes 'model' and 'messages', not {', '.join(map(repr, sorted(unknown)))}")
        if "messages" in changes:
            arguments.messages[:] = AgentInput(query="", messages=list(changes["messages"])).messages
        if "model" in changes and changes["model"] != arguments.model:
            provider = provider_for_model(arguments.agent.name, changes["model"])
            return replace(arguments, model=changes["model"], provider=provider)
        return arguments

    def by_hand(self, arguments: ModelCall, value: Any) -> ModelReply:
        """An operator's text in place of the model's reply."""
        return ModelReply(AgentOutput(text=value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))

    def usage(self, result: ModelReply) -> Usage | None:
        return result.output.usage


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
"""Made once: `json.dumps` makes one for each question that is recorded."""


def describe_question(model: str, tools: list[str], count: int, new: list[Any]) -> dict[str, Any]:
    """What is recorded of a question to a model. `new`: the messages since the one before; `count`: of all."""
    import hashlib

    canonical = _CANONICAL.encode(new).encode("utf-8", "surrogatepass")
    return {"model": model, "tools": tools, "count": count, "digest": hashlib.sha256(canonical).hexdigest()[:16]}


def dump_messages(messages: Iterable[Message]) -> list[Any]:
    """Messages as JSON."""
    return [message.model_dump(mode="json") for message in messages]


def tool_name(schema: Mapping[str, Any]) -> str:
    """The name of the tool that a provider is told of, in the form of chat completions or of another vendor."""
    function = schema.get("function")
    return str(function.get("name", "")) if isinstance(function, Mapping) else str(schema.get("name", ""))


MODEL_CODEC = ModelCodec()
