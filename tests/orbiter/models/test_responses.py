"""OpenAI's Responses API, for models that know nothing else."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from orbiter.models import ModelResponse, StreamAssembly, get_provider
from orbiter.models.provider import ModelProvider
from orbiter.models.types import ModelError
from orbiter.types import (
    AssistantMessage,
    AudioBlock,
    ContentBlock,
    DocumentBlock,
    ImageDataBlock,
    ImageURLBlock,
    Message,
    SystemMessage,
    TextBlock,
    ToolResult,
    UserMessage,
)
from tests.orbiter.models.loopback import Answer, Loopback, sse

HELLO: list[Message] = [SystemMessage(content="You help."), UserMessage(content="Hello")]
TOOL = {"type": "function", "function": {"name": "read", "description": "Read.", "parameters": {"type": "object"}}}
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm"}],
    "encrypted_content": "secret",
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": '{"path": "a"}'}
TEXT = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Done", "annotations": []}],
}
USAGE = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 7},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 25,
}


def provider(server: Loopback, model: str = "gpt-5-pro", **options: Any) -> ModelProvider:
    return get_provider(f"openai:{model}", api_key="key-123456", base_url=f"{server.url}/v1", **options)


def body(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5-pro-2025",
        "status": status,
        "output": list(output),
        "usage": USAGE,
        **more,
    }


def stream(*output: dict[str, Any], last: str = "response.completed", **more: Any) -> list[bytes]:
    events: list[dict[str, Any]] = [{"type": "response.created", "response": body(status="in_progress")}]
    for index, item in enumerate(output):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        if item["type"] == "reasoning":
            events.append({"type": "response.reasoning_summary_text.delta", "output_index": index, "delta": "Hm"})
        elif item["type"] == "function_call":
            events += [
                {"type": "response.function_call_arguments.delta", "output_index": index, "delta": piece}
                for piece in (item["arguments"][:4], item["arguments"][4:])
            ]
        else:
            events += [
                {"type": "response.output_text.delta", "output_index": index, "delta": piece} for piece in ("Do", "ne")
            ]
    if last:
        events.append({"type": last, "response": body(*output, **more)})
    return [sse(event, event["type"]) for event in events]


async def ask(
    model: ModelProvider, mode: Literal["complete", "stream"], said: list[Message], **keywords: Any
) -> ModelResponse:
    if mode == "complete":
        return await model.complete(said, **keywords)
    assembly = StreamAssembly()
    async for chunk in model.stream(said, **keywords):
        assembly.add(chunk)
    return assembly.response()


BOTH_MODES = pytest.mark.parametrize("mode", ["complete", "stream"])


@BOTH_MODES
async def test_reasoning_call_result_and_answer(server: Loopback, mode: Literal["complete", "stream"]) -> None:
    first, second = (
        Answer(body=json.dumps(body(*output))) if mode == "complete" else Answer(pieces=stream(*output))
        for output in ([REASONING, CALL], [TEXT])
    )
    server.answers = [first, second]
    model = provider(server)
    reply = await ask(model, mode, HELLO, tools=[TOOL], max_tokens=99)
    assert (reply.finish_reason, reply.reasoning_content) == ("tool_calls", "Hm")
    (call,) = reply.tool_calls
    assert (call.id, call.name, call.arguments) == ("call_1", "read", '{"path": "a"}')
    found = reply.usage
    assert (found.input_tokens, found.cached_tokens, found.reasoning_tokens, found.total_tokens) == (20, 7, 3, 25)
    said: list[Message] = [
        *HELLO,
        AssistantMessage(content="", tool_calls=reply.tool_calls, provider_data=reply.provider_data),
        ToolResult(tool_call_id="call_1", tool_name="read", content=[ImageDataBlock(data="aGk=")]),
    ]
    last = await ask(model, mode, said, tools=[TOOL])
    assert (last.content, last.finish_reason) == ("Done", "stop")
    asked = server.asked[0]
    assert asked.path == "/v1/responses"
    assert asked.body["instructions"] == "You help."
    assert asked.body["max_output_tokens"] == 99
    assert asked.body["store"] is False
    assert asked.body["tools"][0]["name"] == "read"
    items = server.asked[1].body["input"]
    assert [item.get("type", item.get("role")) for item in items] == [
        "user",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert items[1]["encrypted_content"] == "secret"
    assert items[3]["output"][1]["image_url"] == "data:image/png;base64,aGk="


async def test_structured_output(server: Loopback) -> None:
    class City(BaseModel):
        name: str

    server.answers = [Answer(body=json.dumps(body(TEXT)))]
    await ask(provider(server), "complete", HELLO, output_type=City)
    form = server.asked[0].body["text"]["format"]
    assert (form["type"], form["name"], form["strict"]) == ("json_schema", "City", True)


@pytest.mark.parametrize(
    ("model", "options", "path"),
    [
        ("o3-pro", {}, "responses"),
        ("gpt-5.2-pro-2026-01-01", {}, "responses"),
        ("gpt-5-codex", {}, "responses"),
        ("o4-mini-deep-research", {}, "responses"),
        ("gpt-4o", {}, "chat/completions"),
        ("gpt-5-mini", {}, "chat/completions"),
        ("gpt-4o", {"api": "responses"}, "responses"),
        ("o3-pro", {"api": "chat"}, "chat/completions"),
    ],
)
async def test_which_models_need_it(server: Loopback, model: str, options: dict[str, str], path: str) -> None:
    server.answers = [Answer(500)]
    with pytest.raises(ModelError):
        await ask(provider(server, model, **options), "complete", HELLO)
    assert server.asked[0].path == f"/v1/{path}"


async def test_other_endpoints_speak_chat_whatever_the_model_s_name(server: Loopback) -> None:
    server.answers = [Answer(500)]
    model = get_provider("openrouter:openai/gpt-5-pro", api_key="key-123456", base_url=f"{server.url}/v1")
    with pytest.raises(ModelError):
        await ask(model, "complete", HELLO)
    assert server.asked[0].path == "/v1/chat/completions"


FAILED: dict[str, Any] = {"status": "failed", "error": {"code": "server_error", "message": "It broke"}}


@BOTH_MODES
async def test_a_failed_response(server: Loopback, mode: Literal["complete", "stream"]) -> None:
    whole = Answer(body=json.dumps(body(**FAILED)))
    server.answers = [whole if mode == "complete" else Answer(pieces=stream(last="response.failed", **FAILED))]
    with pytest.raises(ModelError, match="It broke") as caught:
        await ask(provider(server), mode, HELLO)
    assert caught.value.code == "server_error"


async def test_an_error_event(server: Loopback) -> None:
    event = {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down", "param": None}
    server.answers = [Answer(pieces=[*stream(TEXT, last=""), sse(event, "error")])]
    with pytest.raises(ModelError, match="Slow down") as caught:
        await ask(provider(server), "stream", HELLO)
    assert (caught.value.code, caught.value.where) == ("rate_limit_exceeded", "stream")


async def test_a_stream_without_its_last_event(server: Loopback) -> None:
    server.answers = [Answer(pieces=stream(TEXT, last=""))]
    with pytest.raises(ModelError) as caught:
        await ask(provider(server), "stream", HELLO)
    assert caught.value.code == "truncated"


@pytest.mark.parametrize(("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter")])
async def test_an_incomplete_response(server: Loopback, reason: str, finish: str) -> None:
    told: dict[str, Any] = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    server.answers = [Answer(pieces=stream(TEXT, last="response.incomplete", **told))]
    assert (await ask(provider(server), "stream", HELLO)).finish_reason == finish


async def test_attachments_and_what_has_no_form(server: Loopback) -> None:
    server.answers = [Answer(body=json.dumps(body(TEXT)))]
    blocks: list[ContentBlock] = [
        TextBlock(text="See"),
        ImageURLBlock(url="https://example.com/i.png"),
        DocumentBlock(url="https://example.com/a.pdf"),
        DocumentBlock(data="aGk=", title="b.pdf"),
    ]
    await ask(provider(server), "complete", [UserMessage(content=blocks), AssistantMessage(content="I see")])
    user, assistant = server.asked[0].body["input"]
    kinds = [part["type"] for part in user["content"]]
    assert kinds == ["input_text", "input_image", "input_file", "input_file"]
    assert user["content"][2]["file_url"] == "https://example.com/a.pdf"
    assert user["content"][3]["filename"] == "b.pdf"
    assert assistant == {"role": "assistant", "content": "I see"}
    with pytest.raises(ModelError, match="no content of type 'audio'"):
        await ask(provider(server), "complete", [UserMessage(content=[AudioBlock(data="aGk=")])])


async def test_a_refusal(server: Loopback) -> None:
    refusal = {**TEXT, "content": [{"type": "refusal", "refusal": "No."}]}
    server.answers = [Answer(body=json.dumps(body(refusal)))]
    reply = await ask(provider(server), "complete", HELLO)
    assert (reply.content, reply.finish_reason) == ("No.", "content_filter")


async def test_a_response_that_is_still_going_on_is_no_answer(server: Loopback) -> None:
    server.answers = [Answer(body=json.dumps(body(TEXT, status="in_progress")))]
    with pytest.raises(ModelError) as caught:
        await ask(provider(server), "complete", HELLO)
    assert caught.value.code == "truncated"
