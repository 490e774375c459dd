"""Both adapters, with the real SDKs, against a real server on loopback."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from typing import Literal

import pytest
from pydantic import BaseModel

from orbiter.models import get_provider
from orbiter.models.tool_names import to_valid_name
from orbiter.types import (
    AssistantMessage,
    ImageDataBlock,
    ImageURLBlock,
    Message,
    TextBlock,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.orbiter.models.contract import BOTH_MODES, HELLO, KEY, Mode, ask, failure, provider, reply
from tests.orbiter.models.loopback import Answer, Loopback, Says

TOOL = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Read a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
CALLS = [("call_a", "read", '{"path": "a"}'), ("call_b", "read", '{"path": "b"}'), ("call_c", "now", "{}")]


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


@pytest.mark.parametrize(
    ("broken", "kept_as"),
    [
        ("{broken", "invalid_json"),
        ('{"x": NaN}', "invalid_json"),
        ("[1]", "arguments"),
        ('{"x": ' + "[" * 150 + "]" * 150 + "}", "arguments"),
        ("[" * 5_000 + "]" * 5_000, "arguments"),
    ],
    ids=["cut", "NaN", "list", "deep", "deepest"],
)
async def test_a_conversation_with_tools_and_images_in_each_wire_form(
    says: Says, server: Loopback, broken: str, kept_as: str
) -> None:
    server.answers = [reply(says, "complete", "Done")]
    said: list[Message] = [
        *HELLO,
        AssistantMessage(
            content="Looking",
            tool_calls=[
                ToolCall(id="call:1/x", name="read", arguments='{"path": "a"}'),
                ToolCall(id="two", name="shot", arguments=broken),
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
        assert used[2]["input"] == {kept_as: broken}
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


async def test_an_agent_without_tools_takes_over_a_conversation_with_calls(says: Says, server: Loopback) -> None:
    server.answers = [reply(says, "complete", "Done")]
    called = AssistantMessage(tool_calls=[ToolCall(id="a", name="read it", arguments="{}")])
    said = [*HELLO, called, ToolResult(tool_call_id="a", tool_name="read it", content="A"), UserMessage(content="so?")]
    await ask(provider(says, server), "complete", said)
    body = server.asked[0].body
    if says.name == "anthropic":
        assert ([each["name"] for each in body["tools"]], body["tool_choice"]) == (
            [to_valid_name("read it")],
            {"type": "none"},
        )
    else:
        assert "tools" not in body


async def test_blank_texts_are_sent_in_a_form_that_is_taken(says: Says, server: Loopback) -> None:
    server.answers = [reply(says, "complete", "Done")]
    called = AssistantMessage(content=" \n", tool_calls=[ToolCall(id="a", name="read", arguments="{}")])
    blank = UserMessage(content=[TextBlock(text="\t"), ImageDataBlock(data="aGk=")])
    result = ToolResult(tool_call_id="a", tool_name="read", content="\n")
    said: list[Message] = [UserMessage(content=" "), called, result, blank]
    await ask(provider(says, server), "complete", said, tools=[TOOL])
    if says.name == "anthropic":
        asked, replied, told = (turn["content"] for turn in server.asked[0].body["messages"])
        assert [block["text"] for block in asked] == ["(no content)"]
        assert [block["type"] for block in replied] == ["tool_use"]
        assert [block["type"] for block in told] == ["tool_result", "image"]
        assert "content" not in told[0]
