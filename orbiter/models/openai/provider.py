"""`openai:` and every endpoint that speaks its Chat Completions, through OpenAI's SDK; Responses where needed."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import openai
from pydantic import BaseModel

from orbiter.config import ModelConfig
from orbiter.models.endpoints import ENDPOINTS, Endpoint
from orbiter.models.model_errors import CallContext
from orbiter.models.openai import responses
from orbiter.models.openai.chat_stream import ChatStreamReader
from orbiter.models.openai.chat_wire import response_from_wire, to_wire
from orbiter.models.response_format import reply_schema, schema_in_words
from orbiter.models.sdk_call import ChunkReader
from orbiter.models.sdk_provider import ModelRequest, SdkProvider
from orbiter.models.tool_schemas import add_missing_items
from orbiter.models.types import ModelResponse

_RESPONSES_ONLY = re.compile(r"(?:o\d+|gpt-\d+(?:\.\d+)?)(?:-[a-z0-9.]+)*-pro\b|.*codex|.*deep-research|computer-use")
"""Models that the provider's own page lists under /v1/responses alone (https://platform.openai.com/docs/models)."""


class OpenAIProvider(SdkProvider):
    """OpenAI's models, and those of compatible endpoints.

    Args:
        config: Model, key and base URL; those missing come from the environment.
        endpoint: Where the API lives, and what it bends.
        api: ``chat`` or ``responses``; if not given, Responses for OpenAI's models that know nothing else.
        **options: Deadlines (`connect_timeout`, `first_token_timeout`, `silence_timeout`, `total_timeout`, in seconds);
            all others go into each request as they are (`reasoning_effort`, `seed`, `extra_body`, …).
    """

    sdk: ClassVar[Any] = openai

    def __init__(
        self, config: ModelConfig, *, endpoint: Endpoint = ENDPOINTS["openai"], api: str = "", **options: Any
    ) -> None:
        super().__init__(config, endpoint=endpoint, **options)
        if api not in {"", "chat", "responses"}:
            raise ValueError(f"api must be 'chat' or 'responses', not '{api}'")
        # Others' models may bear such names, but their endpoints speak Chat Completions.
        own = endpoint.name in {"openai", "azure"}
        self._responses = api == "responses" or (
            not api and own and _RESPONSES_ONLY.match(config.model_name) is not None
        )

    def _request(self, asked: ModelRequest, call: CallContext) -> dict[str, Any]:
        common: dict[str, Any] = {"model": call.model, **asked.fields}
        if asked.temperature is not None:
            common["temperature"] = asked.temperature
        if self._responses:
            return responses.build_request(asked, common, call)
        request = {**common, "messages": to_wire(asked.messages, provider=call.provider, model=call.model)}
        if asked.tools:
            request["tools"] = add_missing_items(asked.tools)
        if asked.max_tokens is not None:
            request[self._endpoint.max_tokens_field] = asked.max_tokens
        if asked.output_type is not None:
            self._require_schema(asked.output_type, request)
        return request

    def _require_schema(self, output_type: type[BaseModel], request: dict[str, Any]) -> None:
        if not self._endpoint.json_schema:
            request["response_format"] = {"type": "json_object"}
            request["messages"] = [{"role": "system", "content": schema_in_words(output_type)}, *request["messages"]]
            return
        schema, strict = reply_schema(output_type)
        form = {"name": output_type.__name__[:64], "schema": schema, "strict": strict}
        request["response_format"] = {"type": "json_schema", "json_schema": form}

    def _stream_fields(self) -> dict[str, Any]:
        asks = not self._responses and self._endpoint.stream_usage
        return {"stream_options": {"include_usage": True}} if asks else {}

    def _create(self, client: openai.AsyncOpenAI) -> Callable[..., Awaitable[Any]]:
        return client.responses.create if self._responses else client.chat.completions.create

    def _read(self, reply: Any, call: CallContext) -> ModelResponse:
        return responses.response_from_wire(reply, call) if self._responses else response_from_wire(reply, call)

    def _reader(self, call: CallContext) -> ChunkReader:
        return responses.ResponsesReader(call) if self._responses else ChatStreamReader(call)

    def _build_client(self) -> openai.AsyncOpenAI:
        own = self._endpoint.name == "openai"
        # The SDK reads these two from the environment, but they belong to OpenAI alone.
        foreign = {} if own else {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
        return openai.AsyncOpenAI(
            # Local servers ask for no key; the SDK does.
            api_key=self._key or "none",
            base_url=self._base_url,
            max_retries=0,
            timeout=openai.Timeout(None, connect=self._deadlines.connect),
            default_headers=foreign,  # type: ignore[arg-type]
        )
