"""Agent.run, call_runner and run: the tool loop and its mistakes. D and 3.2: the lists of the facts page."""

from __future__ import annotations

import asyncio
import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

import orbiter.agent
import orbiter.runner
from orbiter import Agent, HookPoint, ParallelGroup, Swarm, Tool, ToolContext, run, tool
from orbiter._internal.call_runner import CallRunnerError
from orbiter.agent import AgentError
from orbiter.errors import GroupError, OutputParseError, SwarmError
from orbiter.models.message_parts import render_result
from orbiter.types import (
    AgentOutput,
    SystemMessage,
    ToolResult,
    UserMessage,
)
from tests.orbiter.engine_fakes import ONE, Script, add, calls, text

# --- the loop ---------------------------------------------------------------------------------------------------------


async def test_the_provider_gets_messages_first_and_the_rest_by_keyword() -> None:
    seen: dict[str, Any] = {}

    class Provider:
        async def complete(self, *args: Any, **kwargs: Any) -> Any:
            seen.update(args=args, kwargs=kwargs)
            return text("hi")

    agent = Agent(name="a", instructions="be brief", temperature=0.3, max_tokens=7)
    output = await agent.run("hello", provider=Provider())
    assert output == AgentOutput(text="hi", usage=ONE)
    assert seen["args"] == ([SystemMessage(content="be brief"), UserMessage(content="hello")],)
    assert seen["kwargs"] == {"tools": None, "temperature": 0.3, "max_tokens": 7}


async def test_a_reply_needs_only_content_tool_calls_and_usage() -> None:
    class Bare:
        content = None
        tool_calls: Any = None
        usage: Any = None

    class Provider:
        async def complete(self, messages: Any, **kwargs: Any) -> Any:
            return Bare()

    assert await Agent(name="a").run("x", provider=Provider()) == AgentOutput()


async def test_who_replaces_asyncio_sleep_replaces_the_waits_between_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not asyncio's own attribute: other threads of this process sleep too.
    seen: list[float] = []

    async def sleep(seconds: float) -> None:
        seen.append(seconds)

    monkeypatch.setattr("orbiter._internal.seam.direct_scope.asyncio", SimpleNamespace(sleep=sleep))
    provider = Script(ConnectionError("1"), ConnectionError("2"), text("up"))
    assert (await Agent(name="a").run("x", provider=provider)).text == "up"
    assert seen == [1, 2]
    assert orbiter.agent.asyncio is asyncio  # where seed 000 shows the wait


@pytest.mark.parametrize("instructions", [None, lambda name: None, lambda name: ""])
async def test_instructions_that_are_none_are_no_instructions(instructions: Any) -> None:
    provider = Script(text("hi"))
    await Agent(name="a", instructions=instructions).run("x", provider=provider)
    assert provider.seen[0] == [UserMessage(content="x")]


async def test_no_instructions_no_system_message() -> None:
    provider = Script(text("hi"))
    await Agent(name="a").run("x", messages=[UserMessage(content="before")], provider=provider)
    assert provider.seen == [[UserMessage(content="before"), UserMessage(content="x")]]


async def test_tools_run_and_their_results_go_back() -> None:
    provider = Script(calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})), text("done"))
    output = await Agent(name="a", tools=[add]).run("x", provider=provider)
    assert output.text == "done"
    assert provider.seen[1][-2:] == [
        ToolResult(tool_call_id="call_0", tool_name="add", content="3"),
        ToolResult(tool_call_id="call_1", tool_name="add", content="7"),
    ]
    assert provider.tools[0] is not None
    assert provider.tools[0][0]["function"]["name"] == "add"


async def test_each_call_gets_a_message_list_of_its_own() -> None:
    # 3.2.11: the live list was shared with providers.
    provider = Script(calls(("add", {"a": 1, "b": 2})), text("done"))
    await Agent(name="a", tools=[add]).run("x", provider=provider)
    assert [len(seen) for seen in provider.seen] == [1, 3]


async def test_max_steps_returns_the_last_output_and_warns() -> None:
    provider = Script(*[calls(("add", {"a": n, "b": n})) for n in range(3)])
    result = await run(Agent(name="a", tools=[add], max_steps=3), "x", provider=provider)
    assert result.output == ""
    assert result.stop_reason == "max_steps"
    assert "max_steps=3" in result.warnings[0]


async def test_instructions_may_be_a_function_of_the_name_also_an_async_one() -> None:
    async def late(name: str) -> str:
        return f"late {name}"

    for instructions, expected in ((lambda name: f"I am {name}", "I am a"), (late, "late a")):
        provider = Script(text("hi"))
        await Agent(name="a", instructions=instructions).run("x", provider=provider)
        assert provider.seen[0][0] == SystemMessage(content=expected)


async def test_own_instructions_do_not_pile_up_over_turns_of_a_conversation() -> None:
    agent = Agent(name="a", instructions="be")
    first = await run(agent, "one", provider=Script(text("1")))
    provider = Script(text("2"))
    await run(agent, "two", messages=first.messages, provider=provider)
    assert [message.role for message in provider.seen[0]] == ["system", "user", "assistant", "user"]


async def test_sync_tools_dicts_and_models_become_json() -> None:
    class Point(BaseModel):
        x: int

    @tool
    def table() -> dict[str, Any]:
        return {"straße": [1, None]}

    @tool
    def point() -> Point:
        return Point(x=1)

    provider = Script(calls(("table", {}), ("point", "")), text("done"))
    await Agent(name="a", tools=[table, point]).run("x", provider=provider)
    results = provider.seen[1][-2:]
    assert [json.loads(str(result.content)) for result in results] == [{"straße": [1, None]}, {"x": 1}]


async def test_text_that_cannot_be_encoded_does_not_reach_the_model() -> None:
    @tool
    def names(fail: bool) -> str:
        if fail:
            raise ValueError("no \udcff")
        return "caf\u00e9 \udcff"

    provider = Script(calls(("names", {"fail": False}), ("names", {"fail": True})), text("done"))
    await Agent(name="a", tools=[names]).run("x", provider=provider)
    good, bad = provider.seen[1][-2:]
    assert good.content == "caf\u00e9 \ufffd"
    assert isinstance(bad, ToolResult)
    assert str(bad.error).endswith("no \ufffd")


async def test_a_tool_that_only_quacks_is_called() -> None:
    class Duck:
        name = "duck"

        def to_schema(self) -> dict[str, Any]:
            return {"type": "function", "function": {"name": "duck"}}

        async def execute(self, **kwargs: Any) -> str:
            return f"quack {kwargs}"

    provider = Script(calls(("duck", {"n": 1})), text("done"))
    duck: Any = Duck()
    await Agent(name="a", tools=[duck]).run("x", provider=provider)
    assert provider.seen[1][-1] == ToolResult(tool_call_id="call_0", tool_name="duck", content="quack {'n': 1}")


# --- what a model does wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("nope", {}, "Unknown tool 'nope'"),
        ("add", {"a": 1}, "b"),
        ("add", {"a": 1, "b": "many"}, "integer"),
        ("add", "{broken", "Invalid JSON in arguments for tool 'add'"),
        ("add", "[1]", "Tool 'add' arguments must be a JSON object, got list"),
        ("add", '{"a": NaN}', "Invalid JSON in arguments for tool 'add': NaN is not a number in JSON"),
        ("add", '{"a": -Infinity}', "Invalid JSON in arguments for tool 'add': -Infinity is not a number in JSON"),
        ("add", '{"a": 1e999}', "Invalid JSON in arguments for tool 'add': the number 1e999 is too large"),
        ("add", '{"a": 1' + "0" * 400 + ".5}", "is too large"),
    ],
)
async def test_a_bad_call_goes_back_to_the_model(name: str, arguments: Any, error: str) -> None:
    # D9: bad argument JSON ended the run. 3.2.10: arguments were not validated.
    provider = Script(calls((name, arguments)), text("sorry"))
    output = await Agent(name="a", tools=[add]).run("x", provider=provider)
    assert output.text == "sorry"
    result = provider.seen[1][-1]
    assert isinstance(result, ToolResult)
    assert error in str(result.error)


@pytest.mark.parametrize(("tools", "hint"), [([add], "Available tools: add"), ([], "You have no tools")])
async def test_an_unknown_tool_has_the_original_error_and_below_it_what_there_is(tools: Any, hint: str) -> None:
    provider = Script(calls(("nope", {})), text("sorry"))
    await Agent(name="a", tools=tools).run("x", provider=provider)
    result = provider.seen[1][-1]
    assert isinstance(result, ToolResult)
    assert result.error == "Unknown tool 'nope'"
    assert str(result.content).startswith(hint)
    assert render_result(result).startswith(f"Error: Unknown tool 'nope'\n{hint}")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": None}, "model must be a string, got None"),
        ({"output_type": dict}, "output_type must be a pydantic model, got <class 'dict'>"),
        ({"output_type": list[int]}, "output_type must be a pydantic model, got list"),
        ({"hooks": [HookPoint.START]}, "hooks are pairs of a hook point and a function"),
        ({"handoffs": ["b"]}, "handoffs are agents, got 'b'"),
    ],
)
def test_what_cannot_be_meant_is_refused_where_it_is_written(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(AgentError, match=re.escape(said)) as caught:
        Agent(name="a", **settings)
    assert caught.value.hint


async def test_members_and_runs_want_agents_and_not_their_names() -> None:
    not_an_agent: Any = "writer"
    with pytest.raises(SwarmError, match="got 'writer'"):
        Swarm(agents=[not_an_agent])
    with pytest.raises(GroupError, match="got 'writer'"):
        ParallelGroup(name="g", agents=[not_an_agent])
    wrong: tuple[Any, ...] = (None, "writer", Agent)
    for nothing in wrong:
        with pytest.raises(AgentError, match="needs an agent, a group or a swarm"):
            await run(nothing, "x")
        with pytest.raises(AgentError, match="needs an agent, a group or a swarm"):
            run.stream(nothing, "x")


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_model_string_without_a_model_is_refused_before_any_call(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "sk-test")
    with pytest.raises(AgentError, match=f"The model string '{provider}:' names no model"):
        await run(Agent(name="a", model=f"{provider}:"), "x")


async def test_a_cancellation_that_nobody_asked_for_is_the_tools_failure() -> None:
    @tool
    async def waits_for_a_dead_task() -> None:
        helper = asyncio.create_task(asyncio.sleep(3600))
        helper.cancel()
        await helper

    class Foreign:
        name = "foreign"

        def to_schema(self) -> dict[str, Any]:
            return {"type": "function", "function": {"name": "foreign", "parameters": {}}}

        async def execute(self) -> None:
            raise asyncio.CancelledError

    foreign: Any = Foreign()
    provider = Script(calls(("waits_for_a_dead_task", {}), ("foreign", {})), text("went on"))
    result = await run(Agent(name="a", tools=[waits_for_a_dead_task, foreign]), "x", provider=provider)
    assert result.output == "went on"
    said = "failed: something that it waited for was cancelled"
    assert [m.error for m in result.messages if isinstance(m, ToolResult)] == [
        f"Tool 'waits_for_a_dead_task' {said}",
        f"Tool 'foreign' {said}",
    ]


async def test_a_cancellation_of_the_run_passes_through_its_tool() -> None:
    begun = asyncio.Event()

    @tool
    async def long() -> None:
        begun.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(run(Agent(name="a", tools=[long]), "x", provider=Script(calls(("long", {})))))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_malformed_arguments_are_corrected_within_max_retries() -> None:
    bad = [calls(("add", "{")) for _ in range(3)]
    with pytest.raises(CallRunnerError, match="Invalid JSON in arguments for tool 'add'") as caught:
        await run(Agent(name="a", tools=[add]), "x", provider=Script(*bad), max_retries=3, loop_threshold=0)
    assert isinstance(caught.value, OutputParseError)
    # A good call in between starts the count again, and spoiled replies cost none of the agent's steps.
    replies = [bad[0], bad[1], calls(("add", {"a": 1, "b": 1})), bad[0], bad[1], text("done")]
    result = await run(
        Agent(name="a", tools=[add], max_steps=2), "x", provider=Script(*replies), max_retries=3, loop_threshold=0
    )
    assert result.output == "done"


async def test_an_agent_called_as_a_tool_is_explained() -> None:
    agent = Agent(name="a", handoffs=[Agent(name="b")])
    provider = Script(calls(("b", {})), text("b"))
    await agent.run("x", provider=provider)
    result = provider.seen[1][-1]
    assert isinstance(result, ToolResult)
    assert result.error is not None
    assert result.error.startswith("Unknown tool 'b': 'b' is an agent, not a tool.")
    assert "reply with exactly its name" in result.error


class Answer(BaseModel):
    city: str
    people: int


async def test_structured_output_is_asked_for_validated_and_corrected() -> None:
    # D10: parse_structured_output was never called, nothing was sent to the model.
    agent = Agent(name="a", instructions="be", output_type=Answer, max_steps=1)
    provider = Script(text("not json"), text('{"city": "Bern"}'), text('{"city": "Bern", "people": 7}'))
    result = await run(agent, "x", provider=provider)
    assert result.parsed == Answer(city="Bern", people=7)
    assert "people" in str(provider.seen[0][0].content)
    assert "Structured output is not valid JSON" in str(provider.seen[1][-1].content)
    assert "Structured output failed Answer validation" in str(provider.seen[2][-1].content)


async def test_structured_output_that_never_fits_fails_the_run() -> None:
    provider = Script(*[text("no")] * 2)
    with pytest.raises(CallRunnerError, match="Structured output is not valid JSON") as caught:
        await run(Agent(name="a", output_type=Answer), "x", provider=provider, max_retries=2)
    assert isinstance(caught.value, OutputParseError)
    assert provider.replies == []


async def test_a_provider_that_can_is_given_the_output_type() -> None:
    seen: list[Any] = []

    class Structured(Script):
        structured = True

        async def complete(self, messages: Any, *, output_type: Any = None, **kwargs: Any) -> Any:
            seen.append(output_type)
            return await super().complete(messages, **kwargs)

    provider = Structured(text('{"city": "Bern", "people": 7}'))
    result = await run(Agent(name="a", instructions="be", output_type=Answer), "x", provider=provider)
    assert result.parsed == Answer(city="Bern", people=7)
    assert seen == [Answer]
    assert provider.seen[0][0] == SystemMessage(content="be")


async def test_a_tool_gets_the_agents_context() -> None:
    seen: list[Any] = []

    @tool
    def look(context: ToolContext) -> str:
        seen.append((context.agent, context.tool_name, dict(context.metadata), context.run_id))
        return ""

    for given, metadata in (({"user": 7}, {"user": 7}), ("anything", {"context": "anything"}), (None, {})):
        agent = Agent(name="a", tools=[look], context=given)
        await run(agent, "x", provider=Script(calls(("look", {})), text("done")))
        assert seen.pop() == ("a", "look", metadata, "")


def test_configuration_mistakes_are_refused_in_the_words_of_the_seed() -> None:
    with pytest.raises(AgentError, match=r"^Duplicate tool name 'add' on agent 'a'$"):
        Agent(name="a", tools=[add, add])
    with pytest.raises(AgentError, match=r"^Duplicate handoff agent 'b' on agent 'a'$"):
        Agent(name="a", handoffs=[Agent(name="b"), Agent(name="b")])
    with pytest.raises(AgentError, match="max_steps"):
        Agent(name="a", max_steps=0)


def test_describe_repr_and_attributes() -> None:
    agent = Agent(name="a", model="anthropic:claude:x", tools=[add], handoffs=[Agent(name="b")], output_type=Answer)
    assert agent.describe() == {
        "name": "a",
        "model": "anthropic:claude:x",
        "tools": ["add"],
        "handoffs": ["b"],
        "max_steps": 10,
        "output_type": "Answer",
    }
    assert (agent.provider_name, agent.model_name) == ("anthropic", "claude:x")
    assert repr(agent) == "Agent(name='a', model='anthropic:claude:x', tools=['add'], handoffs=['b'])"
    assert repr(Agent(name="c")) == "Agent(name='c', model='openai:gpt-4o')"
    assert isinstance(agent.tools["add"], Tool)
    assert Agent(name="c").model == "openai:gpt-4o"
