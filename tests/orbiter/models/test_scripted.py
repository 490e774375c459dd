from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from orbiter.models import Call, Fault, Reply, Script, StreamAssembly, get_provider, script
from orbiter.models.provider import ModelProvider
from orbiter.models.scripted.provider import ScriptedProvider
from orbiter.models.types import ModelError, ModelResponse, StreamChunk
from orbiter.types import AssistantMessage, Message, SystemMessage, ToolCall, ToolResult, UserMessage

HELLO: list[Message] = [SystemMessage(content="You help."), UserMessage(content="Hello")]


def after(reply: ModelResponse, *results: str, start: list[Message] | None = None) -> list[Message]:
    """The conversation with `reply` and the results of its calls put in."""
    said: list[Message] = [
        *(start or HELLO),
        AssistantMessage(content=reply.content, tool_calls=list(reply.tool_calls)),
    ]
    for call, result in zip(reply.tool_calls, results, strict=True):
        said.append(ToolResult(tool_call_id=call.id, tool_name=call.name, content=result))
    return said


async def failure(provider: ModelProvider, messages: list[Message] | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await provider.complete(messages or HELLO)
    return caught.value


async def test_says_its_turns_by_position_in_the_conversation() -> None:
    provider = ScriptedProvider(
        [Reply("Looking.", calls=[Call("read", {"path": "a"}), Call("read", {"path": "b"})]), "Done"]
    )
    first = await provider.complete(HELLO)
    assert first.content == "Looking."
    assert [(call.name, call.arguments) for call in first.tool_calls] == [
        ("read", '{"path": "a"}'),
        ("read", '{"path": "b"}'),
    ]
    assert first.finish_reason == "tool_calls"
    assert len({call.id for call in first.tool_calls}) == 2
    second = await provider.complete(after(first, "A", "B"))
    assert (second.content, second.finish_reason, second.tool_calls) == ("Done", "stop", [])


async def test_another_process_gets_the_same_reply_with_the_same_ids() -> None:
    turns: list[Any] = [Reply(calls=[Call("read")]), "Done"]
    here = await ScriptedProvider(turns).complete(HELLO)
    there = await ScriptedProvider(turns).complete(HELLO)
    assert here == there
    # Asked at the second turn straight away, as after a restart.
    assert (await ScriptedProvider(turns).complete(after(here, "A"))).content == "Done"


async def test_faults_are_used_up_one_per_attempt_and_come_again_after_an_answer() -> None:
    turn: list[Any] = [Fault(429, headers={"retry-after": "1"}), Fault(503), Fault(503), Reply("At last")]
    provider = ScriptedProvider([turn])
    for _ in range(2):
        assert [(await failure(provider)).status for _ in range(3)] == [429, 503, 503]
        assert (await provider.complete(HELLO)).content == "At last"


async def test_attempts_are_counted_per_conversation() -> None:
    provider = ScriptedProvider([[Fault(503), Reply("Yes")]])
    other: list[Message] = [UserMessage(content="Something else")]
    assert (await failure(provider)).status == 503
    assert (await failure(provider, other)).status == 503
    assert (await provider.complete(HELLO)).content == "Yes"


async def test_the_last_fault_stays() -> None:
    provider = ScriptedProvider([[Fault(401), Fault(503)]])
    assert [(await failure(provider)).status for _ in range(4)] == [401, 503, 503, 503]


async def test_reset_forgets_attempts() -> None:
    said = Script([[Fault(500), Fault(503)]])
    provider = ScriptedProvider(said)
    await failure(provider)
    said.reset()
    assert (await failure(provider)).status == 500


async def test_a_fault_carries_everything_a_real_one_does() -> None:
    provider = ScriptedProvider(
        [
            Fault(
                429,
                headers={"Retry-After": "7", "x-request-id": "req_1", "set-cookie": "secret"},
                body={"error": {"message": "Slow down", "type": "tokens", "code": "rate_limit_exceeded"}},
            )
        ]
    )
    error = await failure(provider)
    assert (error.status, error.type, error.code, error.retry_after) == (429, "tokens", "rate_limit_exceeded", 7.0)
    assert (error.provider, error.model, error.request_id, error.where) == ("scripted", "inline", "req_1", "response")
    assert error.headers == {"retry-after": "7", "x-request-id": "req_1"}
    assert str(error) == "[inline] Slow down"
    assert "Slow down" in error.body


async def test_words_type_and_code_make_a_body() -> None:
    error = await failure(ScriptedProvider([Fault(402, message="Pay first", type="billing", code="no_credit")]))
    assert (str(error), error.type, error.code) == ("[inline] Pay first", "billing", "no_credit")
    assert '"Pay first"' in error.body


async def test_a_page_with_status_200_is_no_reply() -> None:
    error = await failure(ScriptedProvider([Fault(200, body="<html><title>Log in</title></html>")]))
    assert (error.code, error.status) == ("bad_response", 200)
    assert "Log in" in str(error)


async def test_refused_connection() -> None:
    error = await failure(ScriptedProvider([Fault(kind="refused")]))
    assert (error.code, error.type, error.status, error.where) == (
        "connection_error",
        "httpx2.ConnectError",
        None,
        "connect",
    )


@pytest.mark.parametrize(
    ("fault", "code", "where"),
    [
        (Fault(kind="truncated", text="one two three", after=2), "truncated", "stream"),
        (Fault(kind="disconnect", text="one two three", after=2), "connection_error", "stream"),
        (Fault(kind="silence", text="one two three", after=2, seconds=0.01), "timeout", "stream"),
        (
            Fault(kind="stream", text="one two three", after=2, type="overloaded_error", message="Overloaded"),
            "",
            "stream",
        ),
    ],
)
async def test_failures_inside_a_stream_come_after_what_was_said(fault: Fault, code: str, where: str) -> None:
    provider = ScriptedProvider([fault])
    seen: list[StreamChunk] = []

    async def listen() -> None:
        async for chunk in provider.stream(HELLO):
            seen.append(chunk)  # noqa: PERF401 - what came before the failure must stay

    with pytest.raises(ModelError) as caught:
        await listen()
    assert "".join(chunk.delta for chunk in seen) == "one two "
    assert (caught.value.code, caught.value.where) == (code, where)


async def test_silence_before_the_first_token_is_a_timeout_by_the_provider_s_deadline() -> None:
    provider = get_provider("scripted:silent", first_token_timeout=0.01)
    script("silent", [Fault(kind="silence")])
    error = await failure(provider)
    assert (error.code, error.where) == ("timeout", "first_token")
    assert isinstance(error, TimeoutError)


async def test_streams_words_and_reassembles_to_what_complete_says() -> None:
    reply = Reply("One  two\nthree ", calls=[Call("f", {"x": [1, 2]})], reasoning="Let me see")
    provider = ScriptedProvider([reply])
    assembly = StreamAssembly()
    chunks = [chunk async for chunk in provider.stream(HELLO, tools=[])]
    for chunk in chunks:
        assembly.add(chunk)
    assert assembly.response() == await provider.complete(HELLO)
    assert [chunk.delta for chunk in chunks if chunk.delta] == ["One  ", "two\n", "three "]
    assert assembly.response().reasoning_content == "Let me see"
    assert provider.streams


async def test_usage_grows_with_the_texts_and_is_the_same_each_time() -> None:
    short = (await ScriptedProvider(["Yes"]).complete([UserMessage(content="abcd")])).usage
    assert (short.input_tokens, short.output_tokens, short.total_tokens) == (1, 1, 2)
    longer = (await ScriptedProvider(["Yes"]).complete([UserMessage(content="abcd" * 100)])).usage
    assert longer.input_tokens == 100


async def test_texts_may_quote_the_conversation() -> None:
    provider = ScriptedProvider(["", "You asked: ${input}; found: ${result}; cost: $5"])
    call = ToolCall(id="c", name="read")
    said: list[Message] = [
        UserMessage(content="What is in a.txt?"),
        AssistantMessage(tool_calls=[call]),
        ToolResult(tool_call_id="c", tool_name="read", content="42"),
    ]
    reply = await provider.complete(said)
    assert reply.content == "You asked: What is in a.txt?; found: 42; cost: $5"


async def test_a_conversation_that_goes_on_too_long_is_an_error_that_says_so() -> None:
    provider = ScriptedProvider(Script(["One"], name="short"))
    reply = await provider.complete(HELLO)
    error = await failure(provider, after(reply))
    assert error.code == "script_exhausted"
    assert "Script 'short' has 1 turns, and the conversation asks for turn 2" in str(error)


async def test_repeat_says_the_last_turn_for_ever() -> None:
    provider = ScriptedProvider(Script(["One", "Again"], repeat=True))
    said = HELLO
    for expected in ("One", "Again", "Again"):
        reply = await provider.complete(said)
        assert reply.content == expected
        said = after(reply, start=said)


async def test_an_agent_that_takes_over_counts_from_the_question() -> None:
    said: list[Message] = [
        UserMessage(content="Fix it"),
        AssistantMessage(content="fixer"),
        UserMessage(content="fixer"),
    ]
    assert (await ScriptedProvider(Script(["Mine"], since="question")).complete(said)).content == "Mine"


async def test_a_callable_sees_conversation_and_tools() -> None:
    @script("echo")
    def echo(messages: list[Message], tools: list[dict[str, Any]]) -> str:
        return f"{messages[-1].content} {len(tools)}"

    assert (await get_provider("scripted:echo").complete(HELLO, tools=[{"type": "function"}])).content == "Hello 1"


async def test_a_callable_may_be_asynchronous_and_may_fail_by_attempts() -> None:
    async def speak(messages: list[Message], tools: list[dict[str, Any]]) -> list[Any]:
        return [Fault(503), Reply("Yes")]

    provider = ScriptedProvider(speak)
    assert (await failure(provider)).status == 503
    assert (await provider.complete(HELLO)).content == "Yes"


async def test_an_unknown_script_names_the_nearest() -> None:
    script("researcher", ["x"])
    provider = get_provider("scripted:resercher")
    with pytest.raises(ModelError, match=r"No script named 'resercher'\. Nearest: 'researcher'"):
        provider.check()
    with pytest.raises(ModelError, match="No script named"):
        await provider.complete(HELLO)


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="no option speed"):
        get_provider("scripted:x", speed=3)


def test_one_string_is_no_list_of_turns() -> None:
    with pytest.raises(TypeError, match=r"written \['text'\]"):
        Script("Hello")


async def test_a_file_is_found_and_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("- fault: 503\n- second\n")
    provider = get_provider(f"scripted:{file}")
    assert (await failure(provider)).status == 503
    file.write_text("- a new first turn\n")
    assert (await provider.complete(HELLO)).content == "a new first turn"


async def test_attempts_are_counted_across_providers_of_one_file(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("- [{fault: 503}, ready]\n")
    assert (await failure(get_provider(f"scripted:{file}"))).status == 503
    assert (await get_provider(f"scripted:{file}").complete(HELLO)).content == "ready"


async def test_a_reply_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("orbiter.models.scripted.provider.sleep", sleep)
    await ScriptedProvider([Reply("one two three", delay=2.0, pace=0.5)]).complete(HELLO)
    assert waited == [2.0, 0.5, 0.5]


async def test_a_turn_of_another_kind_is_refused_where_it_is_written() -> None:
    for turns, said in (([Call("add")], "Reply(calls="), ([["a", 3]], "turn 0 of script 's' is of type int")):
        with pytest.raises(TypeError, match=re.escape(said)):
            Script(turns, name="s")  # type: ignore[arg-type]  # of a file without types
    with pytest.raises(TypeError, match="what the function of script 's' returned is of type Call"):
        await Script(lambda *_: Call("add"), name="s").say([UserMessage(content="go")], [])  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [{"names": {"a"}}, {"data": b"a"}, {(1, 2): "a"}])
def test_arguments_that_are_not_json_are_refused_where_they_are_written(arguments: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"turn 1 of script 's' calls 'add' with arguments that are not JSON \("):
        Script(["first", Reply(calls=[Call("add", arguments)])], name="s")
