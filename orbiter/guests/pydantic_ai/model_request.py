"""A model request as a step: what is recorded of it, and how it is changed by a decision.

The reply is recorded in full, as pydantic-ai writes it, with its text and calls where all of our replies have them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic_ai.durable_exec import DurableOperation, ModelRequestParams
from pydantic_ai.exceptions import ModelUnavailableError

from orbiter.guests.handled_failures import is_held_back
from orbiter.guests.model_request_codec import ModelRequestCodec, Request, cut
from orbiter.guests.pydantic_ai.messages import to_ours
from orbiter.guests.pydantic_ai.operation import carry_out
from orbiter.guests.raised_errors import keeping_error
from orbiter.guests.typed_values import as_text
from orbiter.types import Usage

_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_write_tokens",
}
"""Our name of a number of tokens, and pydantic-ai's."""


@dataclass(slots=True, eq=False)
class ModelAsk:
    """One request to a model. `new_from`: the index from which the conversation is new since the request before.
    `made`: the model was asked in this life. `turn`: the number of the next request. `handled`: code of the agent's own
    is told of a failure. `error` is what the model raised in this life.
    """

    operation: DurableOperation[ModelRequestParams, Any, Any]
    params: ModelRequestParams
    model: str
    new_from: int = 0
    made: bool = False
    turn: int = 0
    handled: bool = False
    error: Exception | None = None


async def ask_model(ask: ModelAsk) -> Any:
    """The reply as pydantic-ai's JSON."""
    ask.made = True
    with keeping_error(ask):
        return await carry_out(ask.operation, ask.params)


class PydanticAIRequestCodec(ModelRequestCodec[ModelAsk]):
    """Arguments and replies of model requests. A result is pydantic-ai's JSON."""

    request: ClassVar[str] = "A model request of a pydantic-ai agent"

    def _request(self, arguments: ModelAsk) -> Request:
        messages = arguments.params.messages
        parameters = arguments.params.model_request_parameters
        tools = [each.name for each in (*parameters.function_tools, *parameters.output_tools)]
        return Request(tools, to_ours(messages[arguments.new_from :]), len(messages))

    def _with_model(self, arguments: ModelAsk, model: str) -> ModelAsk:
        """The model is a key of `guest(models=…)`, or a model string of pydantic-ai's."""
        return replace(arguments, model=model, params=replace(arguments.params, model_id=model))

    def absorb(self, arguments: ModelAsk, exc: Exception) -> dict[str, Any] | None:
        """An open circuit breaker is told as a model that cannot be reached: `ModelFallback` goes on at pydantic-ai's
        own exceptions only.
        """
        if is_held_back(exc):
            told = ModelUnavailableError(arguments.model, str(exc))
            told.__cause__ = exc
            return super().absorb(arguments, told)
        return super().absorb(arguments, exc)

    def _dump_reply(self, result: Any) -> Any:
        """Text and calls stand at the top, as in our own replies, and only there."""
        reply = dict(result)
        parts, texts, calls = [], [], []
        for part in reply.get("parts", ()):
            if part.get("part_kind") == "text":
                texts.append(part["content"])
                parts.append(_without(part, "content"))
            elif part.get("part_kind") == "tool-call":
                as_text = isinstance(part["args"], str)
                arguments = part["args"] if as_text else json.dumps(part["args"], ensure_ascii=False)
                calls.append({"id": part["tool_call_id"], "name": part["tool_name"], "arguments": arguments})
                parts.append({**_without(part, "tool_call_id", "tool_name"), "args": "text" if as_text else "json"})
            else:
                parts.append(part)
        used = self._usage_of(result)
        return {
            "text": "\n".join(texts),
            "texts": [len(text) for text in texts],
            "tool_calls": calls,
            "usage": used.model_dump() if used is not None else {},
            "finish_reason": reply.get("finish_reason") or "",
            "model": reply.get("model_name") or "",
            "reply": _without_empty({**reply, "parts": list(map(_without_empty, parts)), "usage": _counted(reply)}),
        }

    def _load_reply(self, value: Any) -> Any:
        texts = iter(cut(value["text"], value["texts"]))
        calls = iter(value["tool_calls"])
        parts = []
        for part in value["reply"]["parts"]:
            if part.get("part_kind") == "text":
                parts.append({**part, "content": next(texts)})
            elif part.get("part_kind") == "tool-call":
                call = next(calls)
                arguments = call["arguments"] if part["args"] == "text" else json.loads(call["arguments"])
                parts.append({**part, "args": arguments, "tool_call_id": call["id"], "tool_name": call["name"]})
            else:
                parts.append(part)
        return {**value["reply"], "parts": parts}

    def by_hand(self, arguments: ModelAsk, value: Any) -> Any:
        """An operator's text in place of the model's reply."""
        return {"parts": [{"content": as_text(value), "part_kind": "text"}], "kind": "response"}

    def _usage_of(self, result: Any) -> Usage | None:
        used = result.get("usage") or {}
        counts = {ours: int(used.get(theirs) or 0) for ours, theirs in _USAGE.items()}
        return Usage(**counts, total_tokens=counts["input_tokens"] + counts["output_tokens"])


MODEL_REQUEST = PydanticAIRequestCodec()


def _without_empty(value: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is not set, which pydantic-ai fills in again. What a part consists of is kept."""
    return {name: each for name, each in value.items() if each is not None or name in ("content", "args")}


def _counted(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The usage without what was not counted."""
    return {name: each for name, each in (reply.get("usage") or {}).items() if each}


def _without(part: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in names}
