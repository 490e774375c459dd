"""A scripted fault and the same fault of a real server, through a real SDK, make the same `ModelError`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orbiter.models import Fault, get_provider
from orbiter.models.provider import ModelProvider
from orbiter.models.scripted.provider import ScriptedProvider
from orbiter.models.types import ModelError
from orbiter.types import Message, UserMessage
from tests.orbiter.models.loopback import Answer, Loopback, Says

HELLO: list[Message] = [UserMessage(content="Hello")]


async def facts(model: ModelProvider) -> dict[str, Any]:
    async def listen() -> None:
        async for _ in model.stream(HELLO):
            pass

    with pytest.raises(ModelError) as caught:
        await listen()
    error = caught.value
    return {
        "class": type(error).__name__,
        "message": error.message,
        "status": error.status,
        "type": error.type,
        "code": error.code,
        "headers": dict(error.headers),
        "request_id": error.request_id,
        "retry_after": error.retry_after,
        "where": error.where,
        "body": error.body,
    }


def real(says: Says, server: Loopback) -> ModelProvider:
    return get_provider(
        f"{says.name}:{says.model}",
        api_key="sk-test-0123456789",
        base_url=says.base(server.url),
        silence_timeout=0.2,
        first_token_timeout=5,
    )


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (429, {"retry-after": "3", "request-id": "r1"}, ("rate_limit_error", "Slow down", "rate_limit_exceeded")),
        (401, {}, ("authentication_error", "invalid key sk-test-0123456789", "invalid_api_key")),
        (400, {}, ("invalid_request_error", "prompt is too long: 3 tokens > 2 maximum", None)),
        (503, {"retry-after-ms": "20"}, ("server_error", "Overloaded", None)),
        (529, {}, ("overloaded_error", "Overloaded", None)),
    ],
)
async def test_answers_that_refuse(
    says: Says, server: Loopback, status: int, headers: dict[str, str], said: tuple[str, str, str | None]
) -> None:
    body = json.dumps(says.error(*said))
    headers = {**headers, "content-type": "application/json"}
    server.answers = [Answer(status, headers, body)]
    assert await facts(real(says, server)) == await facts(ScriptedProvider([Fault(status, headers, body)]))


async def test_a_proxy_s_page(says: Says, server: Loopback) -> None:
    page = "<html><head><title>502 Bad Gateway</title></head></html>"
    headers = {"content-type": "text/html"}
    for status in (502, 200):
        server.answers = [Answer(status, headers, page)]
        assert await facts(real(says, server)) == await facts(ScriptedProvider([Fault(status, headers, page)]))


async def test_truncation_and_silence(says: Says, server: Loopback) -> None:
    headers = {"content-type": "text/event-stream", "request-id": "r1"}
    pieces = [*says.opening(), *says.text("One two")]
    server.answers = [Answer(200, headers, pieces=pieces)]
    scripted = Fault(headers=headers, kind="truncated", text="One two", after=2)
    assert await facts(real(says, server)) == await facts(ScriptedProvider([scripted]))
    server.answers = [Answer(200, headers, pieces=pieces, then="hang")]
    scripted = Fault(headers=headers, kind="silence", text="One two", after=2, seconds=0.2)
    assert await facts(real(says, server)) == await facts(ScriptedProvider([scripted]))


async def test_an_error_event(says: Says, server: Loopback) -> None:
    headers = {"content-type": "text/event-stream", "request-id": "r1"}
    pieces = [*says.opening(), *says.text("One"), says.failing("overloaded_error", "Overloaded", "busy")]
    server.answers = [Answer(200, headers, pieces=pieces)]
    body = says.error("overloaded_error", "Overloaded", "busy")
    scripted = Fault(headers=headers, kind="stream", text="One", body=body)
    assert await facts(real(says, server)) == await facts(ScriptedProvider([scripted]))


async def test_a_broken_connection(says: Says, server: Loopback) -> None:
    headers = {"content-type": "text/event-stream"}
    server.answers = [Answer(200, headers, pieces=[*says.opening(), *says.text("One")], then="cut")]
    found = await facts(real(says, server))
    scripted = await facts(ScriptedProvider([Fault(headers=headers, kind="disconnect", text="One")]))
    # The network library says a little more than we do.
    assert found.pop("message").startswith(scripted.pop("message"))
    assert found == scripted


async def test_nobody_listens(says: Says, unused_tcp_port: int) -> None:
    model = get_provider(
        f"{says.name}:{says.model}", api_key="key-123", base_url=says.base(f"http://127.0.0.1:{unused_tcp_port}")
    )
    assert await facts(model) == await facts(ScriptedProvider([Fault(kind="refused")]))
