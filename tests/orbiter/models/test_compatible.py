"""What compatible endpoints bend, each against a real server with the real SDK."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from pydantic import BaseModel

from orbiter import tool
from orbiter.models import ModelResponse, StreamAssembly, get_provider
from orbiter.models.endpoints import ENDPOINTS
from orbiter.models.provider import ModelProvider
from orbiter.models.types import ModelError
from orbiter.types import AssistantMessage, AudioBlock, DocumentBlock, Message, ToolResult, UserMessage, VideoBlock
from tests.orbiter.models.loopback import Answer, Loopback, OpenAISays, sse

SAYS = OpenAISays()
HELLO: list[Message] = [UserMessage(content="Hello")]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


class City(BaseModel):
    name: str


def provider(name: str, server: Loopback, model: str = "some-model", **options: Any) -> ModelProvider:
    return get_provider(f"{name}:{model}", api_key="key-123456", base_url=f"{server.url}/v1", **options)


async def streamed(model: ModelProvider, **keywords: Any) -> ModelResponse:
    assembly = StreamAssembly()
    async for chunk in model.stream(HELLO, **keywords):
        assembly.add(chunk)
    return assembly.response()


def chunks(*deltas: dict[str, Any], reason: str = "stop") -> Answer:
    return Answer(pieces=[*(SAYS.chunk(delta) for delta in deltas), *SAYS.closing(reason)])


@pytest.mark.parametrize("name", sorted(set(ENDPOINTS) - {"anthropic"}))
async def test_every_endpoint_by_name(name: str, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    row = ENDPOINTS[name]
    monkeypatch.setenv(row.key_variables[0], "key-from-environment")
    for variable in row.url_variables[1:]:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(row.url_variables[0], f"{server.url}/base")
    server.answers = [Answer(body=SAYS.whole("Hi"))]
    reply = await get_provider(f"{name}:m/x").complete(HELLO, max_tokens=9)
    assert reply.content == "Hi"
    (asked,) = server.asked
    assert asked.path == "/base/chat/completions"
    assert asked.headers["authorization"] == "Bearer key-from-environment"
    assert asked.body["model"] == "m/x"
    assert asked.body[row.max_tokens_field] == 9
    assert ("openai-organization" in asked.headers) is (name == "openai")


async def test_usage_is_asked_for_unless_the_endpoint_refuses_the_question(server: Loopback) -> None:
    server.answers = [Answer(pieces=SAYS.stream("x"))]
    await streamed(provider("groq", server))
    await streamed(provider("mistral", server))
    assert server.asked[0].body["stream_options"] == {"include_usage": True}
    assert "stream_options" not in server.asked[1].body


async def test_mistral_s_call_ids_have_nine_characters(server: Loopback) -> None:
    server.answers = [Answer(body=SAYS.whole("x"))]
    reply = ModelResponse.model_validate({"tool_calls": [{"id": "toolu_01ABCDEF", "name": "f"}]})
    said = [
        *HELLO,
        AssistantMessage(tool_calls=reply.tool_calls),
        ToolResult(tool_call_id="toolu_01ABCDEF", tool_name="f", content="y"),
    ]
    await provider("mistral", server).complete(said)
    wire = server.asked[0].body["messages"]
    assert len(wire[1]["tool_calls"][0]["id"]) == 9
    assert wire[1]["tool_calls"][0]["id"] == wire[2]["tool_call_id"]
    assert wire[1]["tool_calls"][0]["function"]["arguments"] == "{}"


async def test_deepseek_takes_no_schema_but_instructions(server: Loopback) -> None:
    server.answers = [Answer(body=SAYS.whole('{"name": "Ulm"}'))]
    model = provider("deepseek", server)
    assert model.structured
    await model.complete(HELLO, output_type=City)  # type: ignore[call-arg]
    body = server.asked[0].body
    assert body["response_format"] == {"type": "json_object"}
    assert '"name"' in body["messages"][0]["content"]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_under_both_its_names(field: str, server: Loopback) -> None:
    server.answers = [chunks({field: "Let me "}, {field: "see"}, {"content": "42"})]
    reply = await streamed(provider("openrouter", server))
    assert (reply.reasoning_content, reply.content) == ("Let me see", "42")


async def test_what_deepseek_wants_back_it_gets_and_others_do_not(server: Loopback) -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}}
    server.answers = [
        chunks({"reasoning_content": "Hm"}, {"tool_calls": [call]}, reason="tool_calls"),
        Answer(body=SAYS.whole("x")),
    ]
    reply = await streamed(provider("deepseek", server), tools=[TOOL])
    said = [
        *HELLO,
        AssistantMessage(tool_calls=reply.tool_calls, provider_data=reply.provider_data),
        ToolResult(tool_call_id="c1", tool_name="f", content="y"),
    ]
    await provider("deepseek", server).complete(said)
    await provider("groq", server).complete(said)
    assert server.asked[1].body["messages"][1]["reasoning_content"] == "Hm"
    assert "reasoning_content" not in server.asked[2].body["messages"][1]


async def test_google_s_thought_signatures_travel_with_their_calls(server: Loopback) -> None:
    signed = {"google": {"thought_signature": "abc"}}
    call = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{}"}, "extra_content": signed}
    server.answers = [chunks({"tool_calls": [call]}, reason="stop"), Answer(body=SAYS.whole("x"))]
    reply = await streamed(provider("google", server), tools=[TOOL])
    assert reply.finish_reason == "tool_calls", "Google says stop although it calls a tool"
    said = [*HELLO, AssistantMessage(tool_calls=reply.tool_calls, provider_data=reply.provider_data)]
    await provider("google", server).complete(said)
    assert server.asked[1].body["messages"][1]["tool_calls"][0]["extra_content"] == signed


@pytest.mark.parametrize(
    "deltas",
    [
        # Every call numbered 0, told apart by id.
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x"'}},
            {"index": 0, "function": {"arguments": ": 1}"}},
            {"index": 0, "id": "b", "function": {"name": "g", "arguments": "{}"}},
        ],
        # No index at all.
        [
            {"id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"id": "b", "function": {"name": "g", "arguments": "{}"}},
        ],
        # Neither index nor id.
        [
            {"function": {"name": "f", "arguments": '{"x"'}},
            {"function": {"arguments": ": 1}"}},
            {"function": {"name": "g", "arguments": "{}"}},
        ],
        # Numbers, but no id.
        [
            {"index": 0, "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"index": 1, "function": {"name": "g", "arguments": "{}"}},
        ],
        # Pieces of two calls interleaved.
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x"'}},
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}},
            {"index": 0, "function": {"arguments": ": 1}"}},
            {"index": 1, "function": {"arguments": "}"}},
        ],
        # The id comes late.
        [
            {"index": 0, "function": {"name": "f", "arguments": '{"x"'}},
            {"index": 0, "id": "a", "function": {"arguments": ": 1}"}},
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}},
        ],
        # The id and the name are said again with every piece.
        [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x"'}},
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": ": 1}"}},
            {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}},
        ],
    ],
    ids=["index 0", "no index", "neither", "no id", "interleaved", "late id", "repeated"],
)
async def test_botched_numbers_and_ids_of_streamed_calls(deltas: list[dict[str, Any]], server: Loopback) -> None:
    server.answers = [chunks(*({"tool_calls": [delta]} for delta in deltas), reason="tool_calls")]
    reply = await streamed(provider("vllm", server), tools=[TOOL])
    assert [(call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [("f", {"x": 1}), ("g", {})]
    ids = [call.id for call in reply.tool_calls]
    assert all(ids)
    assert len(set(ids)) == 2


async def test_an_error_object_in_a_good_answer(server: Loopback) -> None:
    body = {"error": {"message": "Upstream is gone", "code": 502}, "user_id": "u"}
    server.answers = [Answer(body=json.dumps(body))]
    with pytest.raises(ModelError, match="Upstream is gone") as caught:
        await provider("openrouter", server).complete(HELLO)
    assert (caught.value.status, caught.value.provider) == (502, "openrouter")


async def test_an_error_as_reason_to_finish(server: Loopback) -> None:
    server.answers = [Answer(pieces=[SAYS.chunk({"content": "So"}), SAYS.chunk({}, "error")])]
    with pytest.raises(ModelError, match="stopped with an error") as caught:
        await streamed(provider("openrouter", server))
    assert caught.value.where == "stream"


async def test_an_error_in_a_chunk_with_choices(server: Loopback) -> None:
    server.answers = [Answer(pieces=[SAYS.chunk({"content": ""}, "error", error={"code": 429, "message": "Busy"})])]
    with pytest.raises(ModelError, match="Busy"):
        await streamed(provider("openrouter", server))


async def test_no_choice_at_all(server: Loopback) -> None:
    server.answers = [Answer(body='{"id": "x", "choices": []}')]
    with pytest.raises(ModelError) as caught:
        await provider("vllm", server).complete(HELLO)
    assert caught.value.code == "bad_response"


async def test_a_refusal_is_content_filtered(server: Loopback) -> None:
    server.answers = [chunks({"refusal": "I will "}, {"refusal": "not."})]
    reply = await streamed(provider("openai", server))
    assert (reply.content, reply.finish_reason) == ("I will not.", "content_filter")


@pytest.mark.parametrize(("said", "meant"), [("model_length", "length"), ("eos", "stop"), ("content_filter",) * 2])
async def test_reasons_to_finish(said: str, meant: str, server: Loopback) -> None:
    server.answers = [chunks({"content": "x"}, reason=said)]
    assert (await streamed(provider("vllm", server))).finish_reason == meant


async def test_usage_without_details_and_in_deepseek_s_words(server: Loopback) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4}
    last = sse({"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage})
    server.answers = [Answer(pieces=[last])]
    found = (await streamed(provider("deepseek", server))).usage
    assert (found.input_tokens, found.cached_tokens, found.total_tokens) == (9, 4, 10)


async def test_options_go_into_each_request_known_to_the_sdk_or_not(server: Loopback) -> None:
    server.answers = [Answer(body=SAYS.whole("x"))]
    model = provider("vllm", server, seed=7, top_k=40, extra_headers={"x-tenant": "t"})
    await model.complete(HELLO, response_format={"type": "json_object"})  # type: ignore[call-arg]
    body = server.asked[0].body
    assert (body["seed"], body["top_k"], body["response_format"]) == (7, 40, {"type": "json_object"})
    assert server.asked[0].headers["x-tenant"] == "t"


async def test_sound_and_documents_have_a_form_and_films_have_none(server: Loopback) -> None:
    server.answers = [Answer(body=SAYS.whole("x"))]
    model = provider("openai", server)
    document = DocumentBlock(data="aGk=", title="a.pdf")
    await model.complete([UserMessage(content=[AudioBlock(data="aGk="), document])])
    parts = server.asked[0].body["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["input_audio", "file"]
    with pytest.raises(ModelError, match="no content of type 'video'") as caught:
        await model.complete([UserMessage(content=[VideoBlock(data="aGk=")])])
    assert (caught.value.code, len(server.asked)) == ("unsupported_content", 1)


def pick(names: list, nested: dict, kinds: list[str] | None = None) -> str:  # type: ignore[type-arg]
    """Choose among what is there."""
    return "ok"


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_list_without_a_type_says_on_the_wire_that_it_is_of_anything(server: Loopback, api: str) -> None:
    schema = tool(pick).to_schema()
    assert schema["function"]["parameters"]["properties"]["names"] == {"type": "array"}
    kept = {"type": "string", "default": {"type": "array"}}
    named_so = {"type": "object", "properties": {"enum": {"anyOf": [{"type": ["array", "null"]}, kept]}}}
    given = {"type": "function", "function": {"name": "given", "parameters": named_so}}
    server.answers = [Answer(body=SAYS.whole("Hi"))]
    with suppress(ModelError):  # only what was sent counts
        await provider("openai", server, "gpt-4.1", api=api).complete(HELLO, tools=[schema, given])
    body = server.asked[0].body
    sent = [each.get("function", each)["parameters"]["properties"] for each in body["tools"]]
    assert sent[0]["names"] == {"type": "array", "items": {}}
    assert sent[0]["kinds"]["items"] == {"type": "string"}
    assert "items" not in sent[0]["nested"]
    assert sent[1]["enum"]["anyOf"] == [{"type": ["array", "null"], "items": {}}, kept]
    assert tool(pick).to_schema() == schema


async def test_calls_that_a_server_gives_one_number_and_no_id_are_told_apart(server: Loopback) -> None:
    pieces = [{"name": "f", "arguments": '{"a"'}, {"name": "f", "arguments": ": 1}"}, {"name": "g", "arguments": "{}"}]
    server.answers = [chunks(*({"tool_calls": [{"index": 0, "function": each}]} for each in pieces), reason="stop")]
    reply = await streamed(provider("vllm", server), tools=[TOOL])
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("f", '{"a": 1}'), ("g", "{}")]
    assert len({call.id for call in reply.tool_calls}) == 2


@pytest.mark.parametrize("last", ["", None, " "])
async def test_a_name_that_a_server_repeats_in_its_last_piece_is_no_second_call(last: Any, server: Loopback) -> None:
    pieces = [{"name": "f", "arguments": "{}"}, {"name": "f", "arguments": last}]
    server.answers = [chunks(*({"tool_calls": [{"index": 0, "function": each}]} for each in pieces), reason="stop")]
    reply = await streamed(provider("vllm", server), tools=[TOOL])
    assert [(call.name, call.arguments.strip()) for call in reply.tool_calls] == [("f", "{}")]


async def test_arguments_that_a_server_sends_as_an_object_are_read(server: Loopback) -> None:
    function: dict[str, Any] = {"name": "f", "arguments": {"a": 1}}
    whole = json.loads(SAYS.whole("", [("c1", "f", "{}")]))
    whole["choices"][0]["message"]["tool_calls"][0]["function"] = function
    server.answers = [
        chunks({"tool_calls": [{"index": 0, "id": "c1", "function": function}]}, reason="tool_calls"),
        Answer(body=json.dumps(whole)),
    ]
    model = provider("ollama", server)
    for reply in (await streamed(model, tools=[TOOL]), await model.complete(HELLO, tools=[TOOL])):
        assert [(call.name, call.arguments) for call in reply.tool_calls] == [("f", '{"a": 1}')]
