"""One call of an adapter against the server on loopback, whole or as a stream."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from orbiter.models import ModelResponse, StreamAssembly, get_provider
from orbiter.models.provider import ModelProvider
from orbiter.models.types import ModelError
from orbiter.types import (
    Message,
    SystemMessage,
    UserMessage,
)
from tests.orbiter.models.loopback import Answer, Loopback, Says

KEY = "sk-test-0123456789abcdef"
HELLO: list[Message] = [SystemMessage(content="You help."), UserMessage(content="Hello")]
Mode = Literal["complete", "stream"]
BOTH_MODES = pytest.mark.parametrize("mode", ["complete", "stream"])


def provider(says: Says, server: Loopback, **options: Any) -> ModelProvider:
    settings = {"connect_timeout": 5, "first_token_timeout": 20, "silence_timeout": 20, "total_timeout": 20, **options}
    return get_provider(f"{says.name}:{says.model}", api_key=KEY, base_url=says.base(server.url), **settings)


async def ask(
    model: ModelProvider, mode: Mode, messages: list[Message] | None = None, **keywords: Any
) -> ModelResponse:
    if mode == "complete":
        return await model.complete(messages or HELLO, **keywords)
    assembly = StreamAssembly()
    async for chunk in model.stream(messages or HELLO, **keywords):
        assembly.add(chunk)
    return assembly.response()


async def failure(model: ModelProvider, mode: Mode = "stream", **keywords: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(model, mode, **keywords)
    return caught.value


def reply(says: Says, mode: Mode, text: str, calls: list[tuple[str, str, str]] | None = None) -> Answer:
    if mode == "complete":
        return Answer(body=says.whole(text, calls or []))
    return Answer(pieces=says.stream(text, calls or []))
