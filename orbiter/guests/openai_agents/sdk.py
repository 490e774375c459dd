"""What is used of the OpenAI Agents SDK beyond its documented names. A version of it that changes something here fails
the tests of this module first.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from agents import FunctionTool, Model, ModelResponse
from agents.items import TResponseOutputItem
from agents.models import get_default_model
from agents.models._response_terminal import response_terminal_failure_error
from agents.models._retry_runtime import provider_managed_retries_disabled
from agents.tool import (
    default_tool_error_function,
    default_tool_timeout_error_message,
    maybe_invoke_function_tool_failure_error_function,
    set_function_tool_failure_error_function,
)
from agents.tool_context import ToolContext
from agents.usage import Usage as SdkUsage
from agents.usage import _response_usage_to_usage
from agents.util._approvals import evaluate_function_tool_approval
from openai.types.responses import Response, ResponseCompletedEvent, ResponseOutputItemDoneEvent
from pydantic import TypeAdapter

from orbiter.types import Usage

_OUTPUT: TypeAdapter[list[TResponseOutputItem]] = TypeAdapter(list[TResponseOutputItem])
_USAGE: TypeAdapter[SdkUsage] = TypeAdapter(SdkUsage)
_OTHERS = ("response_id", "request_id", "raw_usage")


# -- replies of models


def dump_response(response: ModelResponse) -> dict[str, Any]:
    """The reply as JSON, with what is set of it."""
    payload: dict[str, Any] = {
        "output": _OUTPUT.dump_python(response.output, mode="json", exclude_unset=True, by_alias=True),
        "usage": _USAGE.dump_python(response.usage, mode="json", exclude_defaults=True, by_alias=True),
    }
    return payload | {name: value for name in _OTHERS if (value := getattr(response, name)) is not None}


def load_response(payload: dict[str, Any]) -> ModelResponse:
    """What `dump_response` wrote."""
    others = {name: payload.get(name) for name in _OTHERS}
    usage = _USAGE.validate_python(payload["usage"])
    return ModelResponse(output=_OUTPUT.validate_python(payload["output"]), usage=usage, **others)


def usage_of(payload: Mapping[str, Any]) -> Usage:
    """The tokens of a reply that `dump_response` wrote."""
    used = payload["usage"]
    return Usage(
        input_tokens=int(used.get("input_tokens") or 0),
        output_tokens=int(used.get("output_tokens") or 0),
        total_tokens=int(used.get("total_tokens") or 0),
        cached_tokens=int((used.get("input_tokens_details") or {}).get("cached_tokens") or 0),
        cache_write_tokens=int((used.get("input_tokens_details") or {}).get("cache_write_tokens") or 0),
    )


def response_of_events(events: list[Any]) -> ModelResponse:
    """The reply that a stream of events amounts to, as the SDK's own runner takes it.

    Raises:
        agents.ModelBehaviorError: The stream ended without a completed reply.
    """
    last = next((each for each in reversed(events) if getattr(each, "response", None) is not None), None)
    if not isinstance(last, ResponseCompletedEvent):
        kind = getattr(last, "type", "response.incomplete")
        raise response_terminal_failure_error(kind, getattr(last, "response", None))
    response = last.response
    output = response.output or [each.item for each in events if isinstance(each, ResponseOutputItemDoneEvent)]
    usage = _response_usage_to_usage(response.usage) if response.usage else SdkUsage(requests=1)
    return ModelResponse(output=output, usage=usage, response_id=response.id)


def events_of_response(response: ModelResponse, model: str) -> list[Any]:
    """A stream that amounts to the reply: its items, each complete, and its end."""
    used = _USAGE.dump_python(response.usage, mode="json")
    whole = Response.model_validate(
        {
            "id": response.response_id or "recorded", "created_at": 0, "model": model, "object": "response",
            "output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "completed",
            "usage": {name: used[name] for name in (
                "input_tokens", "input_tokens_details", "output_tokens", "output_tokens_details", "total_tokens",
            )},
        }
    )  # fmt: skip
    whole.output = list(response.output)
    events: list[Any] = [
        ResponseOutputItemDoneEvent(item=item, output_index=at, sequence_number=at, type="response.output_item.done")
        for at, item in enumerate(response.output)
    ]
    return [*events, ResponseCompletedEvent(response=whole, sequence_number=len(events), type="response.completed")]


def no_client_retries() -> AbstractContextManager[None]:
    """The SDK's clients of model providers make one attempt each."""
    return provider_managed_retries_disabled(True)


def name_of(model: Model | None, asked: str | None) -> str:
    """A model's name as ours are written, `PROVIDER:MODEL`; the name of its class where it has none."""
    if model is None:
        return as_ours(asked or get_default_model())
    said = getattr(model, "model", None)
    if isinstance(said, str) and said:
        return as_ours(said) if type(model).__module__.startswith("agents.models.openai") else said
    return type(model).__name__


def as_ours(name: str) -> str:
    """`gpt-5` is `openai:gpt-5`; `litellm/anthropic/x` is `anthropic:x`, as the SDK's provider reads such prefixes."""
    provider, _, model = name.removeprefix("litellm/").removeprefix("any-llm/").partition("/")
    return f"{provider}:{model}" if model else f"openai:{name}"


# -- tools


def raising_copy(tool: FunctionTool) -> FunctionTool:
    """The tool, whose exceptions are raised and not told to the model."""
    return set_function_tool_failure_error_function(copy.copy(tool), None)


def tells_failures(tool: FunctionTool) -> bool:
    """Whether the tool has a function that makes a text for the model of a failure; those made by hand have none."""
    return hasattr(tool.on_invoke_tool, "__agents_bind_function_tool__")


def has_own_failure_text(tool: FunctionTool) -> bool:
    """Whether the tool's author wrote the function that makes a text for the model of a failure."""
    if tool._use_default_failure_error_function:
        return False
    return tool._failure_error_function not in (None, default_tool_error_function)


async def failure_text(tool: FunctionTool, context: ToolContext[Any], error: Exception) -> str | None:
    """What the SDK would tell the model of a failure; None where it would end the run."""
    if not tells_failures(tool):
        return None
    return await maybe_invoke_function_tool_failure_error_function(function_tool=tool, context=context, error=error)


def timeout_text(tool: FunctionTool) -> str | None:
    """What the SDK would tell the model of a call that took too long; None where it would end the run."""
    if tool.timeout_seconds is None or tool.timeout_behavior != "error_as_result":
        return None
    return default_tool_timeout_error_message(tool_name=tool.name, timeout_seconds=tool.timeout_seconds)


async def needs_approval(tool: FunctionTool, context: Any, arguments: Mapping[str, Any], call_id: str) -> bool:
    """Whether a call needs approval, as the SDK finds it out for the tool as its author made it."""
    approval = await evaluate_function_tool_approval(tool, context, json.dumps(arguments), call_id)
    return approval.outcome != "invoke"


def with_arguments(context: ToolContext[Any], arguments: str) -> ToolContext[Any]:
    """The context of a call whose arguments were changed."""
    changed = copy.copy(context)
    changed.tool_arguments = arguments
    return changed
