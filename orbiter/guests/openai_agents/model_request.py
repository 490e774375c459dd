"""A model call as a step: what is recorded of it, and how it is changed by a decision.

The reply is recorded in full, as the SDK writes it, with its text and calls where all of our replies have them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from agents import Model, ModelSettings, Tool
from agents.items import TResponseInputItem

from orbiter.guests.model_request_codec import ModelRequestCodec, Request, cut
from orbiter.guests.openai_agents import sdk
from orbiter.guests.openai_agents.messages import to_ours
from orbiter.guests.raised_errors import keeping_error
from orbiter.guests.typed_values import as_text
from orbiter.steps import Emit
from orbiter.types import Usage

_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
}


@dataclass(slots=True, frozen=True)
class ModelRequest:
    """The arguments of `Model.get_response`."""

    system_instructions: str | None
    input: list[TResponseInputItem]
    model_settings: ModelSettings
    tools: list[Tool]
    output_schema: Any
    handoffs: list[Any]
    tracing: Any
    previous_response_id: str | None
    conversation_id: str | None
    prompt: Any

    def positional(self) -> tuple[Any, ...]:
        return (
            self.system_instructions, self.input, self.model_settings, self.tools, self.output_schema, self.handoffs,
            self.tracing,
        )  # fmt: skip

    def keywords(self) -> dict[str, Any]:
        return {
            "previous_response_id": self.previous_response_id,
            "conversation_id": self.conversation_id,
            "prompt": self.prompt,
        }


@dataclass(slots=True, eq=False)
class ModelAsk:
    """One request to a model. `new_from`: the index from which the conversation is new since the request before.
    `find_model` gives the model that has a name. `handled`: an agent that called this one is told of a failure, and
    `error` is what the model raised in this life.
    """

    request: ModelRequest
    model: str
    find_model: Callable[[str], Model]
    new_from: int = 0
    handled: bool = False
    error: Exception | None = None


async def ask_model(ask: ModelAsk) -> dict[str, Any]:
    """The reply as JSON. The retries of the model's own client are off: the step has its own."""
    model, request = ask.find_model(ask.model), ask.request
    with keeping_error(ask), sdk.no_client_retries():
        return sdk.dump_response(await model.get_response(*request.positional(), **request.keywords()))


async def stream_model(ask: ModelAsk, emit: Emit) -> dict[str, Any]:
    """As `ask_model`, and hands out pieces on the way. A model that cannot stream is asked without."""
    model, request = ask.find_model(ask.model), ask.request
    seen: list[Any] = []
    try:
        with keeping_error(ask), sdk.no_client_retries():
            events: Any = model.stream_response(*request.positional(), **request.keywords())
            async with aclosing(events):
                async for event in events:
                    seen.append(event)
                    kind = _DELTAS.get(event.type)
                    if kind is not None:
                        emit("text" if kind == "text" else "reasoning", event.delta)
    except NotImplementedError:
        if seen:
            raise
        return await ask_model(ask)
    return sdk.dump_response(sdk.response_of_events(seen))


class OpenAIAgentsRequestCodec(ModelRequestCodec[ModelAsk]):
    """Arguments and replies of model requests. A result is the JSON of a `ModelResponse`."""

    request: ClassVar[str] = "A model request of an agent of the OpenAI Agents SDK"

    def _request(self, arguments: ModelAsk) -> Request:
        request, schema = arguments.request, arguments.request.output_schema
        tools = [*(each.name for each in request.tools), *(each.tool_name for each in request.handoffs)]
        more = {} if schema is None or schema.is_plain_text() else {"output": schema.name()}
        return Request(tools, to_ours(request.input[arguments.new_from :]), len(request.input), more)

    def _with_model(self, arguments: ModelAsk, model: str) -> ModelAsk:
        """The model is a key of `guest(models=…)`, or a name that the run's model provider knows."""
        return replace(arguments, model=model)

    def _dump_reply(self, result: dict[str, Any]) -> Any:
        """Text and calls stand at the top, as in our own replies, and only there."""
        texts: list[str] = []
        calls: list[dict[str, Any]] = []
        output = [_taken_out(item, texts, calls) for item in result["output"]]
        used = self._usage_of(result)
        return {
            "text": "\n".join(texts),
            "texts": [len(text) for text in texts],
            "tool_calls": calls,
            "usage": used.model_dump() if used is not None else {},
            "finish_reason": "",
            "reply": {**result, "output": output},
        }

    def _load_reply(self, value: Any) -> dict[str, Any]:
        texts = iter(cut(value["text"], value["texts"]))
        calls = iter(value["tool_calls"])
        reply: dict[str, Any] = value["reply"]
        return {**reply, "output": [_put_back(item, texts, calls) for item in reply["output"]]}

    def by_hand(self, arguments: ModelAsk, value: Any) -> dict[str, Any]:
        """An operator's text in place of the model's reply."""
        message = {
            "id": "by-hand", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": as_text(value), "annotations": []}],
        }  # fmt: skip
        return {"output": [message], "usage": {}, "response_id": None}

    def _usage_of(self, result: dict[str, Any]) -> Usage | None:
        return sdk.usage_of(result)


MODEL_REQUEST = OpenAIAgentsRequestCodec()


def _taken_out(item: dict[str, Any], texts: list[str], calls: list[dict[str, Any]]) -> dict[str, Any]:
    if item.get("type") == "function_call":
        calls.append({"id": item["call_id"], "name": item["name"], "arguments": item["arguments"]})
        return {name: each for name, each in item.items() if name not in ("call_id", "name", "arguments")}
    if item.get("type") == "message":
        return {**item, "content": [_without_text(part, texts) for part in item["content"]]}
    return item


def _without_text(part: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    if part.get("type") != "output_text":
        return part
    texts.append(part["text"])
    return {name: each for name, each in part.items() if name != "text"}


def _put_back(item: dict[str, Any], texts: Any, calls: Any) -> dict[str, Any]:
    if item.get("type") == "function_call":
        call = next(calls)
        return {**item, "call_id": call["id"], "name": call["name"], "arguments": call["arguments"]}
    if item.get("type") == "message":
        parts = [{**part, "text": next(texts)} if part.get("type") == "output_text" else part
                 for part in item["content"]]  # fmt: skip
        return {**item, "content": parts}
    return item
