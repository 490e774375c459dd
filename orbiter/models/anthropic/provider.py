"""`anthropic:`, the Messages API through Anthropic's SDK."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import anthropic

from orbiter.config import ModelConfig
from orbiter.models.anthropic.wire import (
    AnthropicReader,
    earlier_tools,
    is_thinking_missing,
    response_from_wire,
    to_wire,
    tools_to_wire,
)
from orbiter.models.endpoints import ENDPOINTS, Endpoint
from orbiter.models.model_errors import CallContext
from orbiter.models.response_format import reply_schema, schema_in_words
from orbiter.models.sdk_provider import ModelRequest, SdkProvider
from orbiter.models.types import ModelResponse

_OLD = re.compile(r"claude-(?:2|instant|3-(?:haiku|opus|sonnet)-)")
_OLDER = re.compile(r"claude-3-[57]-|claude-(?:opus|sonnet)-4-(?:0|2025)")
_DEFAULT_MAX_TOKENS = 16_384


class AnthropicProvider(SdkProvider):
    """Claude models.

    Args:
        config: Model, key and base URL; those missing come from the environment.
        endpoint: Where the API lives.
        **options: Deadlines (`connect_timeout`, `first_token_timeout`, `silence_timeout`, `total_timeout`, in seconds);
            all others go into each request as they are (`thinking`, `top_p`, `extra_headers`, …).
    """

    sdk: ClassVar[Any] = anthropic

    def __init__(self, config: ModelConfig, *, endpoint: Endpoint = ENDPOINTS["anthropic"], **options: Any) -> None:
        super().__init__(config, endpoint=endpoint, **options)

    def _request(self, asked: ModelRequest, call: CallContext) -> dict[str, Any]:
        model = call.model
        system, turns = to_wire(asked.messages, provider=call.provider, model=model)
        request: dict[str, Any] = {"messages": turns, **asked.fields}
        # The SDK warns of models that will be retired, by `warnings`: an error where warnings are, else text on a
        # terminal that may not be ours. It looks at `model` alone, so the name goes by the side door.
        request |= {"model": "", "extra_body": {"model": model, **request.get("extra_body", {})}}
        if asked.tools:
            request["tools"] = tools_to_wire(asked.tools)
        elif earlier := earlier_tools(asked.messages):
            request |= {"tools": earlier, "tool_choice": {"type": "none"}}
        if asked.temperature is not None:
            request["temperature"] = asked.temperature
        if is_thinking_missing(asked.messages, call.provider):
            request.pop("thinking", None)
        budget = (request.get("thinking") or {}).get("budget_tokens", 0)
        # The API wants a limit. With thinking it includes the thoughts.
        request["max_tokens"] = asked.max_tokens or budget + (4096 if _OLD.match(model) else _default_limit(model))
        if asked.output_type is not None:
            schema, strict = reply_schema(asked.output_type)
            if strict and not _OLD.match(model) and not _OLDER.match(model):
                form = {"type": "json_schema", "schema": schema}
                request["output_config"] = {**(request.get("output_config") or {}), "format": form}
            else:
                system = f"{system}\n\n{schema_in_words(asked.output_type)}".strip()
        if system:
            request["system"] = system
        return request

    def _create(self, client: anthropic.AsyncAnthropic) -> Callable[..., Awaitable[Any]]:
        return client.messages.create

    def _read(self, reply: Any, call: CallContext) -> ModelResponse:
        if error := getattr(reply, "error", None):  # of a gateway
            raise call.body_error(error)
        if not reply.stop_reason:
            raise call.truncated_error(request_id=getattr(reply, "_request_id", "") or "")
        return response_from_wire(reply, call.provider)

    def _reader(self, call: CallContext) -> AnthropicReader:
        return AnthropicReader(call.provider)

    @property
    def _base_url(self) -> str:
        return super()._base_url.removesuffix("/v1")

    def _build_client(self) -> anthropic.AsyncAnthropic:
        # A token from ANTHROPIC_AUTH_TOKEN goes into another header than a key.
        bearer = not self.config.api_key and not os.environ.get("ANTHROPIC_API_KEY")
        return anthropic.AsyncAnthropic(
            api_key=None if bearer else self._key,
            auth_token=self._key if bearer else None,
            base_url=self._base_url,
            max_retries=0,
            timeout=anthropic.Timeout(None, connect=self._deadlines.connect),
        )


def _default_limit(model: str) -> int:
    # The documented output limit of Claude 3.5; all later models take more.
    return 8192 if model.startswith("claude-3-5-") else _DEFAULT_MAX_TOKENS
