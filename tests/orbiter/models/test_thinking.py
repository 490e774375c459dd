"""Claude's signed thoughts: they come with a reply and must go back with it."""

from __future__ import annotations

import json
from typing import Literal

import pytest

from orbiter.models import ModelResponse, StreamAssembly, get_provider
from orbiter.models.provider import ModelProvider
from orbiter.types import AssistantMessage, Message, ToolResult, UserMessage
from tests.orbiter.models.loopback import Answer, AnthropicSays, Loopback, sse

SAYS = AnthropicSays()
HELLO: list[Message] = [UserMessage(content="Hello")]
THINKING = {"type": "enabled", "budget_tokens": 2000}


def provider(server: Loopback) -> ModelProvider:
    return get_provider("anthropic:claude-x", api_key="key-123456", base_url=server.url, thinking=THINKING)


def thoughtful(mode: Literal["complete", "stream"]) -> Answer:
    blocks = [
        {"type": "thinking", "thinking": "Let me see", "signature": "signed"},
        {"type": "redacted_thinking", "data": "hidden"},
    ]
    call = [("call_1", "f", '{"x": 1}')]
    if mode == "complete":
        message = json.loads(SAYS.whole("", call))
        message["content"] = [*blocks, *message["content"]]
        return Answer(body=json.dumps(message))
    events = [
        {"type": "content_block_start", "index": 0, "content_block": {**blocks[0], "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Let me "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "see"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "signed"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 7, "content_block": blocks[1]},
        {"type": "content_block_stop", "index": 7},
        {"type": "something_new", "index": 9},
    ]
    pieces = [sse(event, str(event["type"])) for event in events]
    return Answer(pieces=[*SAYS.opening(), *pieces, *SAYS.calls(call), *SAYS.closing("tool_use")])


@pytest.mark.parametrize("mode", ["complete", "stream"])
async def test_thoughts_are_heard_and_given_back(server: Loopback, mode: Literal["complete", "stream"]) -> None:
    server.answers = [thoughtful(mode), Answer(body=SAYS.whole("Done"))]
    model = provider(server)
    if mode == "complete":
        reply = await model.complete(HELLO)
    else:
        assembly = StreamAssembly()
        async for chunk in model.stream(HELLO):
            assembly.add(chunk)
        reply = assembly.response()
    assert reply.reasoning_content == "Let me see"
    await model.complete(going_on(reply, keep=True))
    first, second = (asked.body for asked in server.asked)
    assert first["thinking"] == second["thinking"] == THINKING
    assert first["max_tokens"] > THINKING["budget_tokens"]
    assert second["messages"][1]["content"][:2] == [
        {"type": "thinking", "thinking": "Let me see", "signature": "signed"},
        {"type": "redacted_thinking", "data": "hidden"},
    ]


async def test_without_its_thoughts_a_tool_loop_goes_on_without_thinking(server: Loopback) -> None:
    server.answers = [thoughtful("complete"), Answer(body=SAYS.whole("Done"))]
    model = provider(server)
    reply = await model.complete(HELLO)
    await model.complete(going_on(reply, keep=False))
    assert "thinking" not in server.asked[1].body
    assert [block["type"] for block in server.asked[1].body["messages"][1]["content"]] == ["tool_use"]


def going_on(reply: ModelResponse, *, keep: bool) -> list[Message]:
    data = reply.provider_data if keep else None
    return [
        *HELLO,
        AssistantMessage(content=reply.content, tool_calls=reply.tool_calls, provider_data=data),
        ToolResult(tool_call_id="call_1", tool_name="f", content="1"),
    ]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("max_tokens", "length"), ("refusal", "content_filter"), ("stop_sequence", "stop"), ("brand_new", "stop")],
)
async def test_reasons_to_stop(server: Loopback, reason: str, finish: str) -> None:
    server.answers = [Answer(body=SAYS.whole("x", reason=reason))]
    assert (await provider(server).complete(HELLO)).finish_reason == finish


async def test_a_token_from_the_environment_goes_into_its_own_header(
    server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-123456")
    server.answers = [Answer(body=SAYS.whole("x"))]
    await get_provider("anthropic:claude-x", base_url=f"{server.url}/v1").complete(HELLO)
    assert server.asked[0].headers["authorization"] == "Bearer token-123456"
    assert "x-api-key" not in server.asked[0].headers
    assert server.asked[0].path == "/v1/messages"


async def test_empty_turns_are_never_sent_empty(server: Loopback) -> None:
    server.answers = [Answer(body=SAYS.whole("x"))]
    said: list[Message] = [UserMessage(content=""), AssistantMessage(content=" \n"), UserMessage(content="So?")]
    await provider(server).complete(said)
    texts = [turn["content"][0]["text"] for turn in server.asked[0].body["messages"]]
    assert texts == ["(no content)", "(no content)", "So?"]
