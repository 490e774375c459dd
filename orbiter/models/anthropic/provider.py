"""`anthropic:`, the Messages API through Anthropic's SDK."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, ClassVar

import anthropic
from pydantic import BaseModel

from orbiter.config import ModelConfig
from orbiter.models import sdk_clients
from orbiter.models.anthropic.wire import (
    AnthropicReader,
    is_thinking_missing,
    response_from_wire,
    to_wire,
    tools_to_wire,
)
from orbiter.models.endpoints import ENDPOINTS, Endpoint
from orbiter.models.model_errors import CallContext
from orbiter.models.provider import ModelProvider
from orbiter.models.response_format import reply_schema, schema_in_words
from orbiter.models.sdk_call import SdkCall, supported_keywords
from orbiter.models.timeouts import ModelTimeouts
from orbiter.models.tool_names import ToolNames
from orbiter.models.types import ModelResponse, StreamChunk
from orbiter.types import Message

_OLD = re.compile(r"claude-(?:2|instant|3-(?:haiku|opus|sonnet)-)")
_OLDER = re.compile(r"claude-3-[57]-|claude-(?:opus|sonnet)-4-(?:0|2025)")
_DEFAULT_MAX_TOKENS = 16_384


class AnthropicProvider(ModelProvider):
    """Claude models.

    Args:
        config: Model, key and base URL; those missing come from the environment.
        endpoint: Where the API lives.
        **options: Deadlines (`connect_timeout`, `first_token_timeout`, `silence_timeout`, `total_timeout`, in seconds);
            all others go into each request as they are (`thinking`, `top_p`, `extra_headers`, …).
    """

    streams: ClassVar[bool] = True
    structured: ClassVar[bool] = True

    def __init__(self, config: ModelConfig, *, endpoint: Endpoint = ENDPOINTS["anthropic"], **options: Any) -> None:
        super().__init__(config)
        self._endpoint = endpoint
        self._deadlines = ModelTimeouts.of(config, options)
        self._options = options

    def check(self) -> None:
        """Say offline what is missing.

        Raises:
            ModelError: No key (code `missing_api_key`), naming the variable.
        """
        self._endpoint.require(self.config.api_key, self.config.base_url, self.config.model_name)

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        output_type: type[BaseModel] | None = None,
        **settings: Any,
    ) -> ModelResponse:
        """One reply, whole. Further keywords go into the request as they are."""
        names = ToolNames.of(tools)
        request = self._request(
            names.messages(messages),
            tools=names.tools(tools),
            temperature=temperature,
            max_tokens=max_tokens,
            output_type=output_type,
            settings=settings,
        )
        sdk_call = self._sdk_call()

        def read(reply: Any) -> ModelResponse:
            if not reply.stop_reason:
                raise sdk_call.call.truncated_error(request_id=getattr(reply, "_request_id", "") or "")
            return response_from_wire(reply, self._endpoint.name)

        async with sdk_clients.shared_client(self._client_key(), self._build) as client:
            fields = supported_keywords(client.messages.create, request)
            reply: ModelResponse = await sdk_call.complete(lambda: client.messages.create(**fields), read)
            return names.reply(reply)

    async def stream(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        output_type: type[BaseModel] | None = None,
        **settings: Any,
    ) -> AsyncGenerator[StreamChunk, None]:
        """One reply, in pieces. Further keywords go into the request as they are."""
        names = ToolNames.of(tools)
        request = self._request(
            names.messages(messages),
            tools=names.tools(tools),
            temperature=temperature,
            max_tokens=max_tokens,
            output_type=output_type,
            settings=settings,
        )
        reader = AnthropicReader(self._endpoint.name)
        async with sdk_clients.shared_client(self._client_key(), self._build) as client:
            fields = supported_keywords(client.messages.create, request)
            pieces = self._sdk_call().stream(lambda: client.messages.create(**fields, stream=True), reader)
            async with aclosing(pieces):
                async for chunk in pieces:
                    yield names.chunk(chunk)

    async def aclose(self) -> None:
        """Close this loop's connections to the endpoint, once no call uses them."""
        await sdk_clients.retire_client(self._client_key())

    def _request(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None,
        temperature: float | None,
        max_tokens: int | None,
        output_type: type[BaseModel] | None,
        settings: dict[str, Any],
    ) -> dict[str, Any]:
        self.check()
        model = self.config.model_name
        system, turns = to_wire(messages, provider=self._endpoint.name, model=model)
        request: dict[str, Any] = {"messages": turns, **self._options, **settings}
        # The SDK warns of models that will be retired, by `warnings`: an error where warnings are, else text on a
        # terminal that may not be ours. It looks at `model` alone, so the name goes by the side door.
        request |= {"model": "", "extra_body": {"model": model, **request.get("extra_body", {})}}
        if tools:
            request["tools"] = tools_to_wire(tools)
        if temperature is not None and temperature != self._endpoint.default_temperature:
            request["temperature"] = temperature
        if is_thinking_missing(messages, self._endpoint.name):
            request.pop("thinking", None)
        budget = (request.get("thinking") or {}).get("budget_tokens", 0)
        # The API wants a limit. With thinking it includes the thoughts.
        request["max_tokens"] = max_tokens or budget + (4096 if _OLD.match(model) else _default_limit(model))
        if output_type is not None:
            schema, strict = reply_schema(output_type)
            if strict and not _OLD.match(model) and not _OLDER.match(model):
                form = {"type": "json_schema", "schema": schema}
                request["output_config"] = {**(request.get("output_config") or {}), "format": form}
            else:
                system = f"{system}\n\n{schema_in_words(output_type)}".strip()
        if system:
            request["system"] = system
        return request

    def _sdk_call(self) -> SdkCall:
        key = self._endpoint.key(self.config.api_key)
        call = CallContext(self._endpoint.name, self.config.model_name, (key,) if key else ())
        return SdkCall(call, self._deadlines, anthropic)

    def _client_key(self) -> tuple[Any, ...]:
        given = self.config
        url = self._endpoint.url(given.base_url).removesuffix("/v1")
        return ("anthropic", url, self._endpoint.key(given.api_key), self._deadlines.connect)

    def _build(self) -> anthropic.AsyncAnthropic:
        _, url, key, connect = self._client_key()
        # A token from ANTHROPIC_AUTH_TOKEN goes into another header than a key.
        bearer = not self.config.api_key and not os.environ.get("ANTHROPIC_API_KEY")
        return anthropic.AsyncAnthropic(
            api_key=None if bearer else key,
            auth_token=key if bearer else None,
            base_url=url,
            max_retries=0,
            timeout=anthropic.Timeout(None, connect=connect),
        )


def _default_limit(model: str) -> int:
    # The documented output limit of Claude 3.5; all later models take more.
    return 8192 if model.startswith("claude-3-5-") else _DEFAULT_MAX_TOKENS
