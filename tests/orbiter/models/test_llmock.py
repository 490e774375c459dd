"""Both adapters against `llmock`, an emulation of the two APIs that others wrote."""

from __future__ import annotations

from typing import Literal

import pytest
from llmock.pytest_plugin import LLMock

from orbiter.models import ModelResponse, StreamAssembly, get_provider
from orbiter.models.types import ModelError
from orbiter.types import Message, UserMessage

HELLO: list[Message] = [UserMessage(content="What is the weather in Paris?")]
MODELS = pytest.mark.parametrize("model", ["openai:gpt-4o", "anthropic:claude-sonnet-4-5"])
MODES = pytest.mark.parametrize("mode", ["complete", "stream"])
Mode = Literal["complete", "stream"]


async def ask(model: str, mode: Mode) -> ModelResponse:
    # Keys and base URLs come from the environment, which the fixture has set.
    provider = get_provider(model, silence_timeout=5)
    if mode == "complete":
        return await provider.complete(HELLO)
    assembly = StreamAssembly()
    async for chunk in provider.stream(HELLO):
        assembly.add(chunk)
    return assembly.response()


@MODELS
@MODES
async def test_an_answer(llmock: LLMock, model: str, mode: Mode) -> None:
    reply = await ask(model, mode)
    assert reply.content
    assert reply.finish_reason == "stop"
    assert reply.usage.total_tokens > 0


@MODELS
@MODES
async def test_a_rate_limit(llmock: LLMock, model: str, mode: Mode) -> None:
    llmock.rate_limit(times=1, retry_after=3)
    with pytest.raises(ModelError) as caught:
        await ask(model, mode)
    assert (caught.value.status, caught.value.retry_after) == (429, 3.0)
    assert (await ask(model, mode)).content


@MODELS
@pytest.mark.parametrize("status", [400, 401, 403, 404, 500, 503])
async def test_statuses(llmock: LLMock, model: str, status: int) -> None:
    llmock.fail(status)
    with pytest.raises(ModelError) as caught:
        await ask(model, "complete")
    assert caught.value.status == status
    assert caught.value.provider == model.partition(":")[0]


@MODELS
async def test_a_context_overflow(llmock: LLMock, model: str) -> None:
    llmock.context_overflow()
    with pytest.raises(ModelError) as caught:
        await ask(model, "complete")
    assert "context_length" in caught.value.code


@MODELS
@pytest.mark.parametrize(("fault", "code"), [("disconnect", "connection_error"), ("truncate", "truncated")])
async def test_streams_that_break(llmock: LLMock, model: str, fault: str, code: str) -> None:
    getattr(llmock, fault)(after_chunks=2)
    with pytest.raises(ModelError) as caught:
        await ask(model, "stream")
    assert (caught.value.code, caught.value.where) == (code, "stream")
