"""Both adapters, with the real SDKs, against a real server on loopback."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from orbiter.models import ModelResponse, StreamAssembly, StreamChunk, get_provider
from orbiter.models.provider import ModelProvider
from orbiter.models.tool_names import to_valid_name
from orbiter.models.types import ModelError
from orbiter.types import (
    AssistantMessage,
    ImageDataBlock,
    ImageURLBlock,
    Message,
    SystemMessage,
    TextBlock,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.orbiter.models.loopback import Answer, Loopback, OpenAISays, Says, sse

KEY = "sk-test-0123456789abcdef"
HELLO: list[Message] = [SystemMessage(content="You help."), UserMessage(content="Hello")]
TOOL = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Read a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
CALLS = [("call_a", "read", '{"path": "a"}'), ("call_b", "read", '{"path": "b"}'), ("call_c", "now", "{}")]
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


# --- replies ------------------------------------------------------------------------------------------------------


@BOTH_MODES
async def test_a_reply(says: Says, server: Loopback, mode: Mode) -> None:
    server.answers = [reply(says, mode, "Hello you")]
    found = await ask(provider(says, server), mode, temperature=0.3, max_tokens=77)
    assert (found.content, found.finish_reason, found.tool_calls) == ("Hello you", "stop", [])
    assert found.model == says.model
    assert found.id
    usage = found.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.cached_tokens) == (20, 5, 25, 7)
    (asked,) = server.asked
    assert asked.path == says.path
    assert (asked.body["model"], asked.body["temperature"]) == (says.model, 0.3)
    assert 77 in {asked.body.get("max_tokens"), asked.body.get("max_completion_tokens")}
    assert asked.body.get("stream", False) is (mode == "stream")
    system = asked.body["system"] if says.name == "anthropic" else asked.body["messages"][0]["content"]
    assert system == "You help."


@BOTH_MODES
async def test_tool_calls_side_by_side(says: Says, server: Loopback, mode: Mode) -> None:
    server.answers = [reply(says, mode, "Looking", CALLS)]
    found = await ask(provider(says, server), mode, tools=[TOOL])
    assert found.finish_reason == "tool_calls"
    assert [(call.id, call.name, json.loads(call.arguments or "{}")) for call in found.tool_calls] == [
        ("call_a", "read", {"path": "a"}),
        ("call_b", "read", {"path": "b"}),
        ("call_c", "now", {}),
    ]
    assert found.content == "Looking"
    (sent,) = server.asked[0].body["tools"]
    assert (sent.get("input_schema") or sent["function"]["parameters"])["required"] == ["path"]


@BOTH_MODES
async def test_a_tool_may_have_any_name_though_the_apis_take_few(says: Says, server: Loopback, mode: Mode) -> None:
    # A worker named "Data Analyst" makes a delegate tool of that name, and both APIs refuse a blank in it.
    names = ["delegate_to_Data Analyst", "delegate_to_Data-Analyst", "delegate_to_研究者", "x" * 65, "read"]
    tools = [{**TOOL, "function": {**TOOL["function"], "name": name}} for name in names]  # type: ignore[dict-item]
    fits = [to_valid_name(name) for name in names]
    assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", each) for each in fits)
    assert len(set(fits)) == len(names)
    assert fits[1] == names[1]
    assert fits[4] == names[4]
    server.answers = [reply(says, mode, "", [(f"c{at}", fit, "{}") for at, fit in enumerate(fits)])]
    before = AssistantMessage(tool_calls=[ToolCall(id="a", name=names[2], arguments="{}")])
    said = [*HELLO, before, ToolResult(tool_call_id="a", tool_name=names[2], content="A")]
    found = await ask(provider(says, server), mode, said, tools=tools)
    assert [call.name for call in found.tool_calls] == names
    body = server.asked[0].body
    assert [each.get("name") or each["function"]["name"] for each in body["tools"]] == fits
    (turn,) = [each for each in body["messages"] if each["role"] == "assistant"]
    (sent,) = turn["content"] if says.name == "anthropic" else [turn["tool_calls"][0]["function"]]
    assert sent["name"] == fits[2]
    assert before.tool_calls[0].name == names[2]


async def test_a_conversation_with_tools_and_images_in_each_wire_form(says: Says, server: Loopback) -> None:
    server.answers = [reply(says, "complete", "Done")]
    said: list[Message] = [
        *HELLO,
        AssistantMessage(
            content="Looking",
            tool_calls=[
                ToolCall(id="call:1/x", name="read", arguments='{"path": "a"}'),
                ToolCall(id="two", name="shot", arguments="{broken"),
            ],
        ),
        ToolResult(tool_call_id="call:1/x", tool_name="read", content="A"),
        ToolResult(tool_call_id="two", tool_name="shot", content=[ImageDataBlock(data="aGk=")], error="bad arguments"),
        UserMessage(content=[TextBlock(text="And this?"), ImageURLBlock(url="https://example.com/i.png")]),
    ]
    await ask(provider(says, server), "complete", said)
    wire = server.asked[0].body["messages"]
    if says.name == "anthropic":
        assert [turn["role"] for turn in wire] == ["user", "assistant", "user"]
        used = wire[1]["content"]
        assert [block["type"] for block in used] == ["text", "tool_use", "tool_use"]
        assert used[2]["input"] == {"invalid_json": "{broken"}
        results = wire[2]["content"]
        assert [block["type"] for block in results] == ["tool_result", "tool_result", "text", "image"]
        assert [block["tool_use_id"] for block in results[:2]] == [block["id"] for block in used[1:]]
        assert ":" not in results[0]["tool_use_id"]
        assert results[1]["is_error"]
        assert results[1]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "aGk="}
        assert results[3]["source"] == {"type": "url", "url": "https://example.com/i.png"}
    else:
        assert [turn["role"] for turn in wire] == ["system", "user", "assistant", "tool", "tool", "user", "user"]
        assert wire[2]["tool_calls"][0]["id"] == wire[3]["tool_call_id"] == "call:1/x"
        assert wire[4]["content"].startswith("Error: bad arguments")
        assert wire[5]["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="
        assert wire[6]["content"][1]["image_url"]["url"] == "https://example.com/i.png"


class City(BaseModel):
    name: str
    people: int = 0


@BOTH_MODES
async def test_structured_output_is_demanded_with_the_schema(says: Says, server: Loopback, mode: Mode) -> None:
    server.answers = [reply(says, mode, '{"name": "Ulm", "people": 5}')]
    found = await ask(provider(says, server), mode, output_type=City)
    assert City.model_validate_json(found.content).name == "Ulm"
    body = server.asked[0].body
    form = body["output_config"]["format"] if says.name == "anthropic" else body["response_format"]
    assert form["type"] == "json_schema"
    schema = form["schema"] if says.name == "anthropic" else form["json_schema"]["schema"]
    assert schema["required"] == ["name", "people"]
    assert schema["additionalProperties"] is False


async def test_a_schema_that_cannot_be_strict_is_still_demanded(says: Says, server: Loopback) -> None:
    class Free(BaseModel):
        counts: dict[str, int]

    server.answers = [reply(says, "complete", '{"counts": {}}')]
    await ask(provider(says, server), "complete", output_type=Free)
    body = server.asked[0].body
    if says.name == "anthropic":
        assert '"counts"' in body["system"]
        assert body["system"].startswith("You help.")
    else:
        assert body["response_format"]["json_schema"]["strict"] is False


async def test_the_default_temperature_is_not_sent(says: Says, server: Loopback) -> None:
    server.answers = [reply(says, "complete", "x")]
    await ask(provider(says, server), "complete", temperature=1.0)
    assert "temperature" not in server.asked[0].body


# --- answers that refuse ------------------------------------------------------------------------------------------

REFUSALS = [
    (400, "invalid_request_error", "messages: field required", None),
    (401, "authentication_error", "invalid x-api-key", "invalid_api_key"),
    (402, "billing_error", "Your credit balance is too low", None),
    (403, "permission_error", "Not allowed", None),
    (404, "not_found_error", "model: nope", "model_not_found"),
    (408, "timeout_error", "Request timeout.", None),
    (413, "request_too_large", "Request exceeds the maximum size", None),
    (429, "rate_limit_error", "Slow down", "rate_limit_exceeded"),
    (500, "api_error", "Internal server error", None),
    (503, "api_error", "Service unavailable", None),
    (529, "overloaded_error", "Overloaded", None),
]


@BOTH_MODES
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: str(refusal[0]))
async def test_an_error_answer(
    says: Says, server: Loopback, mode: Mode, refusal: tuple[int, str, str, str | None]
) -> None:
    status, kind, message, code = refusal
    body = json.dumps(says.error(kind, message, code))
    server.answers = [Answer(status, {"request-id": "req_7", "x-ratelimit-remaining-tokens": "0"}, body)]
    error = await failure(provider(says, server), mode)
    assert (error.status, error.type, error.where) == (status, kind, "response")
    assert error.code == ((code or "") if says.name == "openai" else "")
    assert (error.provider, error.model, error.request_id) == (says.name, says.model, "req_7")
    assert str(error) == f"[{says.model}] {message}"
    assert error.body == body
    assert error.headers["x-ratelimit-remaining-tokens"] == "0"
    assert error.__cause__ is not None
    assert len(server.asked) == 1, "the SDK's own retries must be off"


@BOTH_MODES
async def test_a_proxy_s_page_for_an_error(says: Says, server: Loopback, mode: Mode) -> None:
    page = "<html><head><title>502 Bad\nGateway</title></head><body>nginx</body></html>"
    server.answers = [Answer(502, {"content-type": "text/html"}, page)]
    error = await failure(provider(says, server), mode)
    assert (error.status, error.type, error.code) == (502, "", "")
    assert str(error) == f"[{says.model}] 502 Bad Gateway"
    assert error.body == page


@BOTH_MODES
async def test_an_error_without_a_body(says: Says, server: Loopback, mode: Mode) -> None:
    server.answers = [Answer(413)]
    error = await failure(provider(says, server), mode)
    assert (error.status, error.body) == (413, "")
    assert "413 Request Entity Too Large" in str(error)


@BOTH_MODES
async def test_a_page_with_status_200(says: Says, server: Loopback, mode: Mode) -> None:
    page = "<!DOCTYPE html><html><title>Hotel Wi-Fi: log in</title></html>"
    server.answers = [Answer(200, {"content-type": "text/html; charset=utf-8"}, page)]
    error = await failure(provider(says, server), mode)
    assert error.code == "bad_response"
    assert "Hotel Wi-Fi: log in" in str(error)
    assert error.body == page


async def test_json_where_a_stream_was_asked_for(says: Says, server: Loopback) -> None:
    server.answers = [Answer(200, body='{"hello": "world"}')]
    assert (await failure(provider(says, server))).code == "bad_response"


async def test_an_error_body_with_status_200_where_a_stream_was_asked_for(says: Says, server: Loopback) -> None:
    server.answers = [Answer(200, body=json.dumps(says.error("overloaded_error", "Too busy", "overloaded")))]
    error = await failure(provider(says, server))
    assert (error.status, error.type) == (200, "overloaded_error")
    assert "Too busy" in str(error)


SERVER_TIME = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "130"}, 130.0),
        ({"retry-after-ms": "700"}, 0.7),
        ({"retry-after-ms": "700", "retry-after": "2"}, 0.7),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
        (
            {
                "date": format_datetime(SERVER_TIME, usegmt=True),
                "retry-after": format_datetime(SERVER_TIME + timedelta(seconds=90), usegmt=True),
            },
            90.0,
        ),
        (
            {
                "date": format_datetime(SERVER_TIME, usegmt=True),
                "retry-after": format_datetime(SERVER_TIME - timedelta(seconds=90), usegmt=True),
            },
            0.0,
        ),
        ({}, None),
    ],
)
async def test_every_form_of_retry_after(
    says: Says, server: Loopback, headers: dict[str, str], seconds: float | None
) -> None:
    server.answers = [Answer(429, headers, json.dumps(says.error("rate_limit_error", "Slow down")))]
    error = await failure(provider(says, server), "complete")
    assert error.retry_after == seconds
    assert {name: error.headers.get(name) for name in headers} == headers


async def test_a_date_without_the_server_s_own_is_taken_from_now(says: Says, server: Loopback) -> None:
    later = datetime.now(UTC) + timedelta(seconds=600)
    server.answers = [Answer(429, {"retry-after": format_datetime(later, usegmt=True)})]
    error = await failure(provider(says, server), "complete")
    assert error.retry_after is not None
    assert 500 < error.retry_after <= 600


async def test_keys_never_reach_an_error(says: Says, server: Loopback) -> None:
    said = f"Incorrect API key provided: {KEY}. Header was Bearer abcdefghijkl; also AIzaSyA1234567890abcdefghijklmnopq"
    server.answers = [Answer(401, body=json.dumps(says.error("authentication_error", said)))]
    error = await failure(provider(says, server), "complete")
    for text in (str(error), error.body, repr(error), str(error.to_dict())):
        assert KEY not in text
        assert "abcdefghijkl" not in text
        assert "AIza" not in text
    assert "Incorrect API key provided" in str(error)


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    ],
)
async def test_context_length_has_a_code_whoever_says_it(says: Says, server: Loopback, message: str) -> None:
    server.answers = [Answer(400, body=json.dumps(says.error("invalid_request_error", message)))]
    assert (await failure(provider(says, server), "complete")).code == "context_length"


async def test_the_provider_s_own_code_is_kept(server: Loopback) -> None:
    says = OpenAISays()
    text = "This model's maximum context length is 128000 tokens."
    server.answers = [
        Answer(400, body=json.dumps(says.error("invalid_request_error", text, "context_length_exceeded")))
    ]
    assert (await failure(provider(says, server), "complete")).code == "context_length_exceeded"


@pytest.mark.parametrize(
    "message", ["max_tokens: 10000 > 4096, which is the maximum", "Invalid 'user': string too long"]
)
async def test_what_only_looks_like_context_length(says: Says, server: Loopback, message: str) -> None:
    server.answers = [Answer(400, body=json.dumps(says.error("invalid_request_error", message)))]
    assert (await failure(provider(says, server), "complete")).code == ""


# --- failures inside a stream -------------------------------------------------------------------------------------


async def heard(model: ModelProvider) -> tuple[str, ModelError]:
    """What came before the failure, and the failure."""
    chunks: list[StreamChunk] = []

    async def listen() -> None:
        async for chunk in model.stream(HELLO):
            chunks.append(chunk)  # noqa: PERF401 - what came before the failure must stay

    with pytest.raises(ModelError) as caught:
        await listen()
    return "".join(chunk.delta for chunk in chunks), caught.value


async def test_an_error_event(says: Says, server: Loopback) -> None:
    broken = [*says.opening(), *says.text("One two"), says.failing("overloaded_error", "Overloaded", "busy")]
    server.answers = [Answer(200, {"request-id": "req_9"}, pieces=broken)]
    text, error = await heard(provider(says, server))
    assert text == "One two"
    assert (error.status, error.type, error.where) == (200, "overloaded_error", "stream")
    assert error.code == ("busy" if says.name == "openai" else "")
    assert error.request_id == "req_9"
    assert "Overloaded" in str(error)
    assert "overloaded_error" in error.body
    assert error.__cause__ is not None


async def test_a_stream_that_ends_without_a_stop_reason(says: Says, server: Loopback) -> None:
    server.answers = [Answer(200, {"request-id": "req_9"}, pieces=[*says.opening(), *says.text("One two")])]
    text, error = await heard(provider(says, server))
    assert text == "One two"
    assert (error.code, error.where, error.request_id) == ("truncated", "stream", "req_9")
    assert "7 characters" in str(error)


async def test_a_stream_without_anything(says: Says, server: Loopback) -> None:
    server.answers = [Answer(200, pieces=[says.ping])]
    text, error = await heard(provider(says, server))
    assert (text, error.code) == ("", "truncated")


async def test_a_whole_reply_without_a_stop_reason(says: Says, server: Loopback) -> None:
    server.answers = [Answer(body=says.whole("One two", reason=None))]
    assert (await failure(provider(says, server), "complete")).code == "truncated"


@pytest.mark.parametrize("then", ["cut", "reset"])
async def test_a_broken_connection(says: Says, server: Loopback, then: Literal["cut", "reset"]) -> None:
    server.answers = [Answer(pieces=[*says.opening(), *says.text("One two")], then=then)]
    _, error = await heard(provider(says, server))
    assert (error.code, error.status, error.where) == ("connection_error", None, "stream")
    assert error.type in {"httpx2.RemoteProtocolError", "httpx2.ReadError"}
    assert str(error) != f"[{says.model}] "
    assert error.__cause__ is not None


@pytest.mark.parametrize("then", ["hang", "ping"])
async def test_silence_between_pieces_is_noticed_through_pings(
    says: Says, server: Loopback, then: Literal["hang", "ping"]
) -> None:
    server.answers = [Answer(pieces=[*says.opening(), *says.text("One two")], then=then, ping=says.ping)]
    text, error = await heard(provider(says, server, silence_timeout=0.3))
    assert text == "One two"
    assert (error.code, error.where) == ("timeout", "stream")
    assert isinstance(error, TimeoutError)
    assert "No content within 0.3 s" in str(error)
    if then == "ping":
        assert server.pings > 1
    await server.gone.wait()  # the connection is given up, too


@pytest.mark.parametrize("then", ["hang", "ping"])
async def test_silence_before_the_first_piece(says: Says, server: Loopback, then: Literal["hang", "ping"]) -> None:
    server.answers = [Answer(pieces=says.opening(), then=then, ping=says.ping)]
    _, error = await heard(provider(says, server, first_token_timeout=0.3))
    assert (error.code, error.where) == ("timeout", "first_token")


async def test_silence_where_a_whole_reply_was_asked_for(says: Says, server: Loopback) -> None:
    server.answers = [Answer(headers={"content-type": "application/json"}, then="hang")]
    error = await failure(provider(says, server, total_timeout=0.3), "complete")
    assert (error.code, error.where) == ("timeout", "response")


async def test_a_stream_that_stays_open_after_its_end_is_no_failure(
    says: Says, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orbiter.models.sdk_call._AFTER_THE_END", 0.05)
    server.answers = [Answer(pieces=says.stream("Fine"), then="hang")]
    assert (await ask(provider(says, server), "stream")).content == "Fine"


@pytest.mark.parametrize("bad", ['{"type": "content_block_delta", "ind', '{"choices": 42, "type": "message_start"}'])
async def test_a_piece_that_cannot_be_read(says: Says, server: Loopback, bad: str) -> None:
    event = "content_block_delta" if says.name == "anthropic" else ""
    server.answers = [Answer(pieces=[*says.opening(), *says.text("One"), sse(bad, event)])]
    text, error = await heard(provider(says, server))
    assert text == "One"
    assert (error.code, error.where) == ("bad_response", "stream")
    assert error.__cause__ is not None


async def test_bytes_that_are_no_text(says: Says, server: Loopback) -> None:
    broken = b'event: content_block_delta\ndata: {"x": "\xff\xfe"}\n\n'
    server.answers = [Answer(pieces=[*says.opening(), *says.text("One"), broken])]
    _, error = await heard(provider(says, server))
    assert error.code == "bad_response"


# --- connections --------------------------------------------------------------------------------------------------


@BOTH_MODES
async def test_nobody_listens(says: Says, mode: Mode) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        model = get_provider(f"{says.name}:{says.model}", api_key=KEY, base_url=says.base(url))
        error = await failure(model, mode)
    assert (error.code, error.type, error.where, error.status) == (
        "connection_error",
        "httpx2.ConnectError",
        "connect",
        None,
    )
    assert str(error).startswith(f"[{says.model}] Could not connect: ")


async def test_a_base_url_that_is_none(says: Says) -> None:
    model = get_provider(f"{says.name}:{says.model}", api_key=KEY, base_url="ftp://example.com/v1/x")
    error = await failure(model, "complete")
    assert error.where == "connect"
    assert "protocol 'ftp://'" in str(error)


async def test_calls_share_one_connection_pool(says: Says, server: Loopback) -> None:
    server.answers = [reply(says, "complete", "x")]
    for _ in range(3):
        await ask(provider(says, server), "complete")
    assert {asked.connection for asked in server.asked} == {1}


async def test_aclose_lets_go_and_a_later_call_connects_anew(says: Says, server: Loopback) -> None:
    server.answers = [reply(says, "complete", "x")]
    model = provider(says, server)
    await ask(model, "complete")
    await model.aclose()
    await ask(model, "complete")
    assert [asked.connection for asked in server.asked] == [1, 2]


async def test_one_provider_serves_several_event_loops(says: Says, server: Loopback) -> None:
    server.answers = [reply(says, "complete", "x")]
    model = provider(says, server)

    def elsewhere() -> str:
        return asyncio.run(ask(model, "complete")).content

    await ask(model, "complete")
    assert [await asyncio.to_thread(elsewhere) for _ in range(2)] == ["x", "x"]
    await ask(model, "complete")
    assert [asked.connection for asked in server.asked] == [1, 2, 3, 1]


async def test_a_cancelled_call_gives_its_connection_up(says: Says, server: Loopback) -> None:
    server.answers = [Answer(pieces=[*says.opening(), *says.text("One two")], then="hang")]
    began = asyncio.Event()

    async def listen() -> None:
        async for chunk in provider(says, server).stream(HELLO):
            if chunk.delta:
                began.set()

    task = asyncio.create_task(listen())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.gone.wait()


async def test_many_calls_at_once(says: Says, server: Loopback) -> None:
    server.answers = [Answer(pieces=says.stream("Fine"))]
    model = provider(says, server)
    found = await asyncio.gather(*(ask(model, "stream") for _ in range(30)))
    assert {each.content for each in found} == {"Fine"}


@pytest.mark.parametrize("then", ["cut", "reset"])
async def test_a_connection_that_breaks_before_a_whole_reply_is_there(
    says: Says, server: Loopback, then: Literal["cut", "reset"]
) -> None:
    half = says.whole("One two")[:40].encode()
    server.answers = [Answer(headers={"content-type": "application/json"}, pieces=[half], then=then)]
    error = await failure(provider(says, server), "complete")
    assert (error.code, error.where, error.status) == ("connection_error", "response", None)
    assert error.type.startswith("httpx2.")
    assert len(server.asked) == 1


async def test_json_that_is_none_in_a_whole_reply(says: Says, server: Loopback) -> None:
    server.answers = [Answer(body='{"id": "x", "cont')]
    error = await failure(provider(says, server), "complete")
    assert (error.code, error.where) == ("bad_response", "response")


async def test_nobody_accepts(says: Says) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:  # they fill the queue: the next caller gets no answer at all
            each.setblocking(False)
            each.connect_ex(deaf.getsockname())
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        model = get_provider(f"{says.name}:{says.model}", api_key=KEY, base_url=says.base(url), connect_timeout=0.2)
        error = await failure(model, "complete")
        for each in waiting:
            each.close()
    assert (error.code, error.where) == ("timeout", "connect")
    assert "No connection within 0.2 s" in str(error)


async def test_aclose_waits_for_the_call_that_is_under_way(says: Says, server: Loopback) -> None:
    server.answers = [Answer(pieces=says.stream("One two"))]
    model = provider(says, server)
    text = ""
    async for chunk in model.stream(HELLO):
        if chunk.delta and not text:
            await model.aclose()
        text += chunk.delta
    assert text == "One two"
    await ask(model, "stream")
    assert [asked.connection for asked in server.asked] == [1, 2]
