"""A provider over a vendor's SDK: what a call does before and after the vendor's own part of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from pydantic import BaseModel

from orbiter.config import ModelConfig
from orbiter.models import sdk_clients
from orbiter.models.endpoints import Endpoint
from orbiter.models.model_errors import CallContext
from orbiter.models.provider import ModelProvider
from orbiter.models.sdk_call import ChunkReader, SdkCall, supported_keywords
from orbiter.models.timeouts import ModelTimeouts
from orbiter.models.tool_call_pairs import pair_tool_calls
from orbiter.models.tool_names import ToolNames
from orbiter.models.tool_schemas import with_object_parameters
from orbiter.models.types import ModelResponse, StreamChunk
from orbiter.types import Message


@dataclass(slots=True, frozen=True)
class ModelRequest:
    """What one call asks for, before it takes the vendor's form."""

    messages: list[Message]
    tools: list[dict[str, Any]] | None
    temperature: float | None
    """None: the endpoint's default, which need not be sent (models that reason refuse the parameter)."""
    max_tokens: int | None
    output_type: type[BaseModel] | None
    fields: dict[str, Any]
    """What goes into the request as it is: the provider's options, then the call's own."""


class SdkProvider(ModelProvider):
    """A vendor's models through its SDK. A subclass says how a request is written and how a reply is read.

    Args:
        config: Model, key and base URL; those missing come from the environment.
        endpoint: Where the API lives, and where it differs from the vendor's own.
        **options: Deadlines (`connect_timeout`, `first_token_timeout`, `silence_timeout`, `total_timeout`, in seconds);
            all others go into each request as they are.
    """

    streams: ClassVar[bool] = True
    structured: ClassVar[bool] = True
    sdk: ClassVar[Any]
    """The vendor's module."""

    def __init__(self, config: ModelConfig, *, endpoint: Endpoint, **options: Any) -> None:
        super().__init__(config)
        self._endpoint = endpoint
        self._deadlines = ModelTimeouts.of(config, options)
        self._options = options

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
        """One reply, whole. Further keywords go into the request as they are."""
        fields = {**self._options, **settings}
        request = ModelRequest(messages, tools, temperature, max_tokens, output_type, fields)
        async with self._exchange(request) as (names, sdk_call, send):
            reply: ModelResponse = await sdk_call.complete(send, lambda raw: self._read(raw, sdk_call.call))
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
        fields = {**self._stream_fields(), **self._options, **settings}
        request = ModelRequest(messages, tools, temperature, max_tokens, output_type, fields)
        async with self._exchange(request) as (names, sdk_call, send):
            pieces = sdk_call.stream(partial(send, stream=True), self._reader(sdk_call.call))
            async with aclosing(pieces):
                async for chunk in pieces:
                    yield names.chunk(chunk)

    async def aclose(self) -> None:
        """Close this loop's connections to the endpoint, once no call uses them."""
        await sdk_clients.retire_client(self._client_key())

    @asynccontextmanager
    async def _exchange(
        self, asked: ModelRequest
    ) -> AsyncIterator[tuple[ToolNames, SdkCall, Callable[..., Awaitable[Any]]]]:
        """The names of the tools, how the call is carried out, and what sends the request."""
        self.check()
        names = ToolNames.of(asked.tools)
        default = asked.temperature == self._endpoint.default_temperature
        fitting = replace(
            asked,
            messages=pair_tool_calls(names.messages(asked.messages)),
            tools=with_object_parameters(names.tools(asked.tools)),
            temperature=None if default else asked.temperature,
        )
        call = CallContext(self._endpoint.name, self.config.model_name, (self._key,) if self._key else ())
        request = self._request(fitting, call)
        async with sdk_clients.shared_client(self._client_key(), self._build_client) as client:
            create = self._create(client)
            send = partial(create, **supported_keywords(create, request))
            yield names, SdkCall(call, self._deadlines, self.sdk), send

    def _client_key(self) -> tuple[Any, ...]:
        """What a client depends on: calls with the same key share one."""
        return (self.sdk.__name__, self._endpoint.name, self._base_url, self._key, self._deadlines.connect)

    @property
    def _key(self) -> str | None:
        return self._endpoint.key(self.config.api_key)

    @property
    def _base_url(self) -> str:
        return self._endpoint.url(self.config.base_url)

    def _stream_fields(self) -> dict[str, Any]:
        """What a request for a stream says beside ``stream``, where the caller does not."""
        return {}

    @abstractmethod
    def _request(self, asked: ModelRequest, call: CallContext) -> dict[str, Any]:
        """The request in the vendor's form."""

    @abstractmethod
    def _create(self, client: Any) -> Callable[..., Awaitable[Any]]:
        """The method of the client that sends a request."""

    @abstractmethod
    def _read(self, reply: Any, call: CallContext) -> ModelResponse:
        """A whole reply of the SDK as ours.

        Raises:
            ModelError: It is not a whole reply.
        """

    @abstractmethod
    def _reader(self, call: CallContext) -> ChunkReader:
        """What reads one stream."""

    @abstractmethod
    def _build_client(self) -> Any:
        """A client of the SDK: no retries of its own, no deadline but that of connecting."""
