"""A model call as a step: what is recorded of it, and how it is changed by a decision.

The reply is recorded in full, with its text and calls where all of our replies have them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from orbiter.guests.langgraph.client_retries import single_attempt_request, warning
from orbiter.guests.langgraph.failed_requests import FailedRequests
from orbiter.guests.langgraph.life import entered
from orbiter.guests.langgraph.messages import arguments_text, dump_message, load_message, to_ours
from orbiter.guests.langgraph.packed_values import pack, unpack
from orbiter.guests.langgraph.structured_output import dump_structured
from orbiter.guests.model_request_codec import ModelRequestCodec, Request
from orbiter.guests.raised_errors import keeping_error
from orbiter.guests.typed_values import as_text
from orbiter.types import Usage

Handler = Callable[[ModelRequest[Any]], Awaitable[Any]]


@dataclass(slots=True, eq=False)
class ModelAsk:
    """One request to a model. `new_from`: the index from which the conversation is new since the request before.
    `turn`: the number of the next request. `handled`: middleware outside of ours is told of a failure. `requests` are
    those that failed in the present attempt, and `error` is what came of them in this life. `warn` is told of a client
    whose own retries cannot be turned off.
    """

    request: ModelRequest[Any]
    handler: Handler
    model: str
    models: Mapping[str, Any]
    warn: Callable[[str], None]
    new_from: int = 0
    turn: int = 0
    handled: bool = False
    requests: FailedRequests = field(default_factory=FailedRequests)
    error: Exception | None = None


async def ask_model(ask: ModelAsk) -> dict[str, Any]:
    """The reply: its messages, the structured response, and what middleware inside ours adds to the state."""
    with keeping_error(ask), entered(None), ask.requests.counted(), warning(ask.warn):
        found = await ask.handler(single_attempt_request(ask.request))
    command = found.command if isinstance(found, ExtendedModelResponse) else None
    response = found.model_response if isinstance(found, ExtendedModelResponse) else found
    if isinstance(response, AIMessage):
        response = ModelResponse(result=[response])
    return {
        "messages": response.result,
        "structured": dump_structured(response.structured_response),
        "command": pack(command) if command is not None else None,
    }


class ModelCallCodec(ModelRequestCodec[ModelAsk]):
    """Arguments and replies of model calls."""

    request: ClassVar[str] = "A model call of a LangChain agent"

    def _request(self, arguments: ModelAsk) -> Request:
        messages = arguments.request.messages
        tools = [tool_name(each) for each in arguments.request.tools]
        return Request(tools, to_ours(messages[arguments.new_from :]), len(messages))

    def _with_model(self, arguments: ModelAsk, model: str) -> ModelAsk:
        """The model is a key of `guest(models=…)`, or a model string of LangChain's."""
        registered = arguments.models.get(model)
        chosen = registered if isinstance(registered, BaseChatModel) else init_chat_model(registered or model)
        return replace(arguments, model=model, request=arguments.request.override(model=chosen))

    def _dump_reply(self, result: dict[str, Any]) -> Any:
        """Text and calls of the reply stand at the top, as in our own replies, and only there."""
        messages: list[BaseMessage] = result["messages"]
        at = next((n for n, each in enumerate(messages) if isinstance(each, AIMessage)), None)
        found: dict[str, Any] = {"text": "", "tool_calls": [], "usage": {}, "finish_reason": "", "model": ""}
        if at is not None:
            reply = messages[at]
            assert isinstance(reply, AIMessage)
            used = self._usage_of(result)
            found["text"] = reply.text
            found["tool_calls"] = [
                {"id": each["id"], "name": each["name"], "arguments": arguments_text(each["args"])}
                for each in reply.tool_calls
            ]
            found["usage"] = used.model_dump() if used is not None else {}
            found["finish_reason"] = str(reply.response_metadata.get("finish_reason") or "")
            found["model"] = str(reply.response_metadata.get("model_name") or "")
        dumped = [dump_message(each) for each in messages]
        if at is not None:
            dumped[at].pop("tool_calls", None)
            if isinstance(dumped[at]["content"], str):
                del dumped[at]["content"]
        more = {name: result[name] for name in ("structured", "command") if result[name] is not None}
        return {**found, "reply": dumped, **more}

    def _load_reply(self, value: Any) -> dict[str, Any]:
        messages = []
        for each in value["reply"]:
            dumped = dict(each)
            if dumped["type"] == "ai":
                dumped.setdefault("content", value["text"])
                dumped["tool_calls"] = [
                    {"id": call["id"], "name": call["name"], "args": json.loads(call["arguments"]), "type": "tool_call"}
                    for call in value["tool_calls"]
                ]
            messages.append(load_message(dumped))
        return {"messages": messages, "structured": value.get("structured"), "command": value.get("command")}

    def by_hand(self, arguments: ModelAsk, value: Any) -> dict[str, Any]:
        """An operator's text in place of the model's reply."""
        return {"messages": [AIMessage(as_text(value))], "structured": None, "command": None}

    def _usage_of(self, result: dict[str, Any]) -> Usage | None:
        counted = [each.usage_metadata for each in result["messages"] if isinstance(each, AIMessage)]
        return usage_of(counted)


MODEL_CALL = ModelCallCodec()


def usage_of(counted: list[Any]) -> Usage | None:
    """The sum of what LangChain counted; None where nothing was counted."""
    found = [each for each in counted if each]
    if not found:
        return None
    total = Usage()
    for each in found:
        details = each.get("input_token_details") or {}
        total += Usage(
            input_tokens=each.get("input_tokens") or 0,
            output_tokens=each.get("output_tokens") or 0,
            total_tokens=each.get("total_tokens") or 0,
            cached_tokens=details.get("cache_read") or 0,
            cache_write_tokens=details.get("cache_creation") or 0,
            reasoning_tokens=(each.get("output_token_details") or {}).get("reasoning") or 0,
        )
    return total


def command_of(result: Mapping[str, Any]) -> Any:
    """What middleware inside ours adds to the state; None if nothing."""
    return unpack(result["command"]) if result["command"] is not None else None


def model_name(model: Any) -> str:
    """What a model is called."""
    for attribute in ("model_name", "model"):
        if isinstance(found := getattr(model, attribute, None), str) and found:
            return found
    return type(model).__name__


def tool_name(tool: Any) -> str:
    """What a tool is called; one of the provider's own is a mapping."""
    if isinstance(tool, Mapping):
        return str(tool.get("name") or tool.get("type") or "")
    return str(getattr(tool, "name", ""))
