"""`openai:` and every endpoint that speaks its Chat Completions, through OpenAI's SDK; Responses where needed."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, ClassVar

import openai
from pydantic import BaseModel

from orbiter.config import ModelConfig
from orbiter.models import sdk_clients
from orbiter.models.endpoints import ENDPOINTS, Endpoint
from orbiter.models.message_parts import add_missing_items
from orbiter.models.model_errors import CallContext
from orbiter.models.openai import responses
from orbiter.models.openai.chat_stream import ChatStreamReader
from orbiter.models.openai.chat_wire import response_from_wire, to_wire
from orbiter.models.provider import ModelProvider
from orbiter.models.response_format import reply_schema, schema_in_words
from orbiter.models.sdk_call import ChunkReader, SdkCall, supported_keywords
from orbiter.models.timeouts import ModelTimeouts
from orbiter.models.tool_names import ToolNames
from orbiter.models.types import ModelResponse, StreamChunk
from orbiter.types import Message

_RESPONSES_ONLY = re.compile(r"(?:o\d+|gpt-\d+(?:\.\d+)?)(?:-[a-z0-9.]+)*-pro\b|.*codex|.*deep-research|computer-use")
"""Models that the provider's own page lists under /v1/responses alone (https://platform.openai.com/docs/models)."""


class OpenAIProvider(ModelProvider):
    """OpenAI's models, and those of compatible endpoints.

    Args:
        config: Model, key and base URL; those missing come from the environment.
        endpoint: Where the API lives, and what it bends.
        api: ``chat`` or ``responses``; if not given, Responses for OpenAI's models that know nothing else.
        **options: Deadlines (`connect_timeout`, `first_token_timeout`, `silence_timeout`, `total_timeout`, in seconds);
            all others go into each request as they are (`reasoning_effort`, `seed`, `extra_body`, …).
    """

    streams: ClassVar[bool] = True
    structured: ClassVar[bool] = True

    def __init__(
        self,
        config: ModelConfig,
        *,
        endpoint: Endpoint = ENDPOINTS["openai"],
        api: str = "",
        **options: Any,
    ) -> None:
        super().__init__(config)
        if api not in {"", "chat", "responses"}:
            raise ValueError(f"api must be 'chat' or 'responses', not '{api}'")
        self._endpoint = endpoint
        self._deadlines = ModelTimeouts.of(config, options)
        self._options = options
        # Others' models may bear such names, but their endpoints speak Chat Completions.
        own = endpoint.name in {"openai", "azure"}
        self._responses = api == "responses" or (
            not api and own and _RESPONSES_ONLY.match(config.model_name) is not None
        )

    def check(self) -> None:
        """Say offline what is missing.

        Raises:
            ModelError: No key (code `missing_api_key`) or no base URL (`missing_base_url`), naming the variable.
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
        """One reply, whole. Further keywords (`response_format`, …) go into the request as they are."""
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
        read = responses.response_from_wire if self._responses else response_from_wire
        async with sdk_clients.shared_client(self._client_key(), self._build) as client:
            create = client.responses.create if self._responses else client.chat.completions.create
            fields = supported_keywords(create, request)
            reply: ModelResponse = await sdk_call.complete(
                lambda: create(**fields), lambda raw: read(raw, sdk_call.call)
            )
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
        sdk_call = self._sdk_call()
        reader: ChunkReader = ChatStreamReader(sdk_call.call)
        if self._responses:
            reader = responses.ResponsesReader(sdk_call.call)
        elif self._endpoint.stream_usage:
            request.setdefault("stream_options", {"include_usage": True})
        async with sdk_clients.shared_client(self._client_key(), self._build) as client:
            create = client.responses.create if self._responses else client.chat.completions.create
            fields = supported_keywords(create, request)
            pieces = sdk_call.stream(lambda: create(**fields, stream=True), reader)
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
        name = self.config.model_name
        if temperature == self._endpoint.default_temperature:
            # Models that reason refuse the parameter; its default need not be sent.
            temperature = None
        common: dict[str, Any] = {"model": name, **self._options, **settings}
        if temperature is not None:
            common["temperature"] = temperature
        if self._responses:
            return responses.build_request(
                messages, common, tools=tools, max_tokens=max_tokens, output_type=output_type, call=self._call()
            )
        request = {**common, "messages": to_wire(messages, provider=self._endpoint.name, model=name)}
        if tools:
            request["tools"] = add_missing_items(tools)
        if max_tokens is not None:
            request[self._endpoint.max_tokens_field] = max_tokens
        if output_type is not None:
            self._require_schema(output_type, request)
        return request

    def _require_schema(self, output_type: type[BaseModel], request: dict[str, Any]) -> None:
        if not self._endpoint.json_schema:
            request["response_format"] = {"type": "json_object"}
            request["messages"] = [{"role": "system", "content": schema_in_words(output_type)}, *request["messages"]]
            return
        schema, strict = reply_schema(output_type)
        form = {"name": output_type.__name__[:64], "schema": schema, "strict": strict}
        request["response_format"] = {"type": "json_schema", "json_schema": form}

    def _call(self) -> CallContext:
        key = self._endpoint.key(self.config.api_key)
        return CallContext(self._endpoint.name, self.config.model_name, (key,) if key else ())

    def _sdk_call(self) -> SdkCall:
        return SdkCall(self._call(), self._deadlines, openai)

    def _client_key(self) -> tuple[Any, ...]:
        given = self.config
        row = self._endpoint
        return ("openai", row.url(given.base_url), row.key(given.api_key) or "", self._deadlines.connect, row.name)

    def _build(self) -> openai.AsyncOpenAI:
        _, url, key, connect, name = self._client_key()
        # The SDK reads these two from the environment, but they belong to OpenAI alone.
        foreign = {} if name == "openai" else {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        return openai.AsyncOpenAI(
            # Local servers ask for no key; the SDK does.
            api_key=key or "none",
            base_url=url,
            max_retries=0,
            timeout=openai.Timeout(None, connect=connect),
            default_headers=foreign,  # type: ignore[arg-type]
        )
