"""Agent.run, call_runner and run: the tool loop, its record, its failures. D and 3.2: the lists of the facts page."""

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
from orbiter import Agent, FailurePolicy, HookPoint, ParallelGroup, Swarm, Tool, ToolContext, run, tool
from orbiter._internal.call_runner import CallRunnerError, call_runner
from orbiter._internal.state import RunNodeStatus, RunState
from orbiter.agent import AgentError
from orbiter.errors import GroupError, LoopDetectedError, OutputParseError, SwarmError, ToolError
from orbiter.models.message_parts import render_result
from orbiter.models.types import ModelError, ModelResponse
from orbiter.types import (
    AgentOutput,
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from tests.orbiter.engine_fakes import ONE, Script, calls, skip_waits, text


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was waited between attempts, without waiting."""
    return skip_waits(monkeypatch)


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


# --- failures and retries ---------------------------------------------------------------------------------------------


async def test_a_model_is_tried_again_after_1_2_4_seconds(waits: list[float]) -> None:
    provider = Script(*[ConnectionError("down")] * 3, text("up"))
    output = await Agent(name="a").run("x", provider=provider, max_retries=4)
    assert output.text == "up"
    assert waits == [1.0, 2.0, 4.0]


async def test_attempts_spent(waits: list[float]) -> None:
    provider = Script(*[ConnectionError("down")] * 3)
    with pytest.raises(AgentError, match=r"^Agent 'a' failed after 3 retries: down$") as caught:
        await Agent(name="a").run("x", provider=provider)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert waits == [1.0, 2.0]


@pytest.mark.parametrize(
    "error",
    [
        ModelError("bad key", code="invalid_api_key", status=401),
        ModelError("may not", status=403),
        ModelError("Invalid API key"),
    ],
)
async def test_authentication_fails_at_once(waits: list[float], error: Exception) -> None:
    # 3.2.7: all retries were burnt.
    provider = Script(error, text("never"))
    with pytest.raises(AgentError, match="failed after 1 retries"):
        await Agent(name="a").run("x", provider=provider)
    assert waits == []
    assert len(provider.seen) == 1


@pytest.mark.parametrize("error", [ModelError("too long", code="context_length"), ValueError("context length is 8")])
async def test_context_length_fails_at_once(waits: list[float], error: Exception) -> None:
    with pytest.raises(AgentError, match=r"^Context length exceeded on agent 'a': ") as caught:
        await Agent(name="a").run("x", provider=Script(error))
    assert caught.value.__cause__ is error
    assert waits == []


async def test_max_retries_of_0_is_one_try(waits: list[float]) -> None:
    # 3.2.7: failed with "after 0 retries: None".
    assert (await Agent(name="a").run("x", provider=Script(text("hi")), max_retries=0)).text == "hi"
    with pytest.raises(AgentError, match="failed after 1 retries: no"):
        await Agent(name="a").run("x", provider=Script(ValueError("no")), max_retries=0)


async def test_a_tool_error_with_the_words_context_length_is_no_fatal_one() -> None:
    # 3.2.14
    @tool
    def fails() -> str:
        raise ValueError("the context length of the form is wrong")

    provider = Script(calls(("fails", {})), text("done"))
    assert (await Agent(name="a", tools=[fails]).run("x", provider=provider)).text == "done"


async def test_the_seeds_sample_catches_agent_error_from_run(waits: list[float]) -> None:
    # D7, D12: always CallRunnerError, AgentError only in __cause__.
    down = ConnectionError("down")
    with pytest.raises(AgentError) as caught:
        await run(Agent(name="a"), "x", provider=Script(*[down] * 3))
    error = caught.value
    assert isinstance(error, CallRunnerError)
    assert type(error).__name__ == "CallRunnerError"
    assert str(error) == "Call runner failed for agent 'a': Agent 'a' failed after 3 retries: down"
    assert isinstance(error.__cause__, AgentError)
    assert error.__cause__.__cause__ is down


async def test_without_a_provider() -> None:
    with pytest.raises(AgentError, match=r"^Agent 'a' requires a provider for run\(\)$"):
        await Agent(name="a").run("x")


async def test_a_missing_key_is_said_by_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(AgentError, match=r"Agent 'a' requires a provider for run\(\): .*ANTHROPIC_API_KEY"):
        await run(Agent(name="a", model="anthropic:claude-x"), "x")


async def test_an_unknown_provider_is_said_at_run() -> None:
    with pytest.raises(AgentError, match=r"Provider 'nobody' not registered. Available: ") as caught:
        await run(Agent(name="a", model="nobody:x"), "x")
    assert isinstance(caught.value, CallRunnerError)
    assert orbiter.runner._resolve_provider(Agent(name="a", model="nobody:x")) is None


async def test_the_resolver_is_looked_up_at_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def resolve(agent: Any) -> Any:
        asked.append(agent.model)
        return Script(text("hi"))

    monkeypatch.setattr(orbiter.runner, "_resolve_provider", resolve)
    assert (await run(Agent(name="a", model="cheap:one"), "x")).output == "hi"
    assert asked == ["cheap:one"]


# --- policies ---------------------------------------------------------------------------------------------------------


async def test_a_tool_that_must_not_fail_fails_the_run() -> None:
    @tool(failure="fail")
    def pay(amount: int) -> str:
        raise ValueError("declined")

    agent = Agent(name="a", tools=[pay])
    with pytest.raises(ToolError, match=r"Call runner failed for agent 'a': Tool 'pay' failed: declined"):
        await run(agent, "x", provider=Script(calls(("pay", {"amount": 1}))))
    # Arguments that do not fit are the model's mistake, not the tool's failure.
    provider = Script(calls(("pay", {})), text("sorry"))
    assert (await run(agent, "x", provider=provider)).output == "sorry"


async def test_policies_of_an_agent() -> None:
    @tool
    def fails() -> str:
        raise ValueError("broken")

    degraded = Agent(name="a", tools=[fails], failure=FailurePolicy(tool="degrade"))
    result = await run(degraded, "x", provider=Script(calls(("fails", {})), text("done")))
    assert (result.output, result.state) == ("done", "degraded")
    assert "broken" in str(result.error)
    strict = Agent(name="a", tools=[fails], failure={"tool": "fail"})
    with pytest.raises(ToolError, match="broken"):
        await run(strict, "x", provider=Script(calls(("fails", {}))))


async def test_a_model_that_fails_under_degrade_leaves_what_was_said(waits: list[float]) -> None:
    first = calls(("add", {"a": 1, "b": 1})).model_copy(update={"content": "so far"})
    agent = Agent(name="a", tools=[add], failure={"model": "degrade"})
    result = await run(agent, "x", provider=Script(first, *[ValueError("down")] * 3))
    assert (result.output, result.state) == ("so far", "degraded")
    assert "failed after 3 retries: down" in str(result.error)


async def test_fallback_models_stand_in(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    others = {"two:x": Script(ValueError("also down")), "three:x": Script(text("third"))}
    monkeypatch.setattr(orbiter.runner, "_resolve_provider", lambda agent: others.get(agent.model))
    agent = Agent(name="a", model="one:x", fallbacks=["none:x", "two:x", "three:x"])
    result = await run(agent, "x", provider=Script(ValueError("down")), max_retries=1)
    assert result.output == "third"
    assert any("three:x" in warning for warning in result.warnings)
    others["three:x"].replies = [ValueError("down as well")]
    others["two:x"].replies = [ValueError("also down")]
    with pytest.raises(AgentError, match="Agent 'a' failed after 1 retries: down") as caught:
        await run(agent, "x", provider=Script(ValueError("down")), max_retries=1)
    assert caught.value.__cause__ is not None
    notes = "\n".join(caught.value.__cause__.__notes__)
    assert "'none:x' cannot be asked" in notes
    assert "'two:x' failed too: also down" in notes


async def test_plain_run_says_once_what_it_does_not_honour(caplog: pytest.LogCaptureFixture) -> None:
    @tool(permissions=("fs.write",), timeout=1.0)
    def touches() -> str:
        return "touched"

    def policy() -> dict[str, Any]:
        return {"max_attempts": 2}

    agent = Agent(name="warned", tools=[touches], get_retry_policy=policy)
    for _ in range(2):
        await run(agent, "x", provider=Script(calls(("touches", {})), text("done")))
        with pytest.raises(AgentError):
            await run(agent, "x", provider=Script(ValueError("down")), max_retries=1)
    said = [record.getMessage() for record in caplog.records if "only a runtime" in record.getMessage()]
    assert len(said) == 2
    assert "Tool 'touches' declares permissions" in said[0]
    assert "Agent 'warned' declares classify_error or get_retry_policy" in said[1]


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


# --- the record -------------------------------------------------------------------------------------------------------


async def test_the_transcript_is_whole_and_usage_is_summed() -> None:
    # D2, D3: usage of the last call alone, no user, assistant or tool message.
    provider = Script(calls(("add", {"a": 1, "b": 2})), text("3"))
    history: list[Message] = [UserMessage(content="hi"), AssistantMessage(content="ho")]
    result = await run(Agent(name="a", instructions="be", tools=[add]), "1+2?", messages=history, provider=provider)
    assert [message.role for message in result.messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert result.usage == Usage(input_tokens=20, output_tokens=10, total_tokens=30)
    assert (result.steps, result.output, result.agent, result.state) == (1, "3", "a", "completed")


async def test_agent_outputs_usage_is_that_of_the_last_call() -> None:
    provider = Script(calls(("add", {"a": 1, "b": 2})), text("3"))
    assert (await Agent(name="a", tools=[add]).run("x", provider=provider)).usage == ONE


async def test_the_state_has_a_node_per_agent_run_and_a_child_per_call() -> None:
    # D1; 3.2.13: tool_calls was never filled.
    state = RunState("a")
    provider = Script(calls(("add", {"a": 1, "b": 2})), text("3"))
    await call_runner(Agent(name="a", tools=[add]), "x", state=state, provider=provider)
    [node] = state.nodes
    assert (state.status, node.status) == (RunNodeStatus.SUCCESS, RunNodeStatus.SUCCESS)
    assert [child.usage for child in node.children] == [ONE, ONE]
    assert [call.name for call in node.children[0].tool_calls] == ["add"]
    assert [call.name for call in node.tool_calls] == ["add"]
    assert node.metadata["tool_signature"]
    assert state.total_usage.total_tokens == 30
    assert len(state.messages) == 4


async def test_a_failed_run_leaves_terminal_states(waits: list[float]) -> None:
    state = RunState("a")
    with pytest.raises(CallRunnerError):
        await call_runner(Agent(name="a"), "x", state=state, provider=Script(*[ValueError("no")] * 3))
    assert (state.status, state.nodes[0].status) == (RunNodeStatus.FAILED, RunNodeStatus.FAILED)
    assert "no" in str(state.nodes[0].error)
    assert state.nodes[0].children[0].status is RunNodeStatus.FAILED


async def test_a_time_out_that_spent_its_retries_is_one(waits: list[float]) -> None:
    state = RunState("a")
    with pytest.raises(CallRunnerError):
        await call_runner(Agent(name="a"), "x", state=state, provider=Script(*[TimeoutError("slow")] * 3))
    assert (state.status, state.nodes[0].status) == (RunNodeStatus.TIMEOUT, RunNodeStatus.TIMEOUT)
    assert "slow" in str(state.error)


async def test_a_time_out_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # D21: nothing ever set it.
    state = RunState("a")
    monkeypatch.setattr(Agent, "run", _times_out)
    with pytest.raises(CallRunnerError):
        await call_runner(Agent(name="a"), "x", state=state, provider=Script())
    assert (state.status, state.nodes[0].status) == (RunNodeStatus.TIMEOUT, RunNodeStatus.TIMEOUT)


async def _times_out(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise TimeoutError("too late")


async def test_cancellation_sets_terminal_states() -> None:
    # 3.2.2: state and node stayed running for ever.
    started = asyncio.Event()

    class Slow:
        async def complete(self, messages: Any, **kwargs: Any) -> Any:
            started.set()
            await asyncio.Event().wait()

    state = RunState("a")
    task = asyncio.create_task(call_runner(Agent(name="a"), "x", state=state, provider=Slow()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert state.is_terminal
    assert state.nodes[0].is_terminal
    assert state.nodes[0].children[0].is_terminal
    assert state.cancelled


async def test_cancelling_stops_tools_that_run_side_by_side() -> None:
    stopped: list[int] = []
    running = asyncio.Semaphore(0)

    @tool
    async def slow(n: int) -> str:
        running.release()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(n)
        return ""

    agent = Agent(name="a", tools=[slow])
    task = asyncio.create_task(run(agent, "x", provider=Script(calls(("slow", {"n": 1}), ("slow", {"n": 2})))))
    await running.acquire()
    await running.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(stopped) == [1, 2]


# --- loops ------------------------------------------------------------------------------------------------------------


async def test_a_loop_is_detected_in_run_before_the_call_is_made_again() -> None:
    # D4: in the original ten identical calls pass. D5: the order of keys does not matter.
    made: list[int] = []

    @tool
    async def again(a: int, b: int) -> str:
        made.append(a)
        return "again"

    replies = [calls(("again", given)) for given in ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a":1,"b":2}')]
    state = RunState("a")
    with pytest.raises(CallRunnerError) as caught:
        await call_runner(Agent(name="a", tools=[again]), "x", state=state, provider=Script(*replies))
    assert str(caught.value) == "Endless loop detected: same tool calls repeated 3 times (threshold=3)"
    assert isinstance(caught.value, LoopDetectedError)
    assert made == [1, 1]
    assert (state.error, state.nodes[0].error) == ("Endless loop detected", "Endless loop detected")


async def test_the_order_of_parallel_calls_does_not_matter_and_other_calls_break_the_row() -> None:
    one, two = ("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2})
    provider = Script(calls(one, two), calls(two, one), calls(one), calls(one, two), calls(two, one), text("done"))
    assert (await run(Agent(name="a", tools=[add]), "x", provider=provider)).output == "done"
    provider = Script(calls(one, two), calls(two, one))
    with pytest.raises(LoopDetectedError):
        await run(Agent(name="a", tools=[add]), "x", provider=provider, loop_threshold=2)


async def test_agent_run_alone_and_a_threshold_of_0_do_not_look() -> None:
    same = calls(("add", {"a": 1, "b": 1}))
    agent = Agent(name="a", tools=[add], max_steps=6)
    await agent.run("x", provider=Script(*[same] * 6))
    await run(agent, "x", provider=Script(*[same] * 6), loop_threshold=0)


async def test_a_shared_state_counts_over_calls() -> None:
    state = RunState("a")
    agent = Agent(name="a", tools=[add], max_steps=1)
    same = calls(("add", {"a": 1, "b": 1}))
    for expected in (1, 2):
        result = await call_runner(agent, "x", state=state, provider=Script(same))
        assert result.steps == expected
    with pytest.raises(LoopDetectedError):
        await call_runner(agent, "x", state=state, provider=Script(same))


async def test_a_nested_failure_is_not_relabelled_as_a_loop() -> None:
    # 3.2.12
    state = RunState("a")

    class Wrapped(Agent):
        async def run(self, *args: Any, **kwargs: Any) -> Any:
            raise CallRunnerError("something else")

    with pytest.raises(CallRunnerError, match=r"^something else$"):
        await call_runner(Wrapped(name="a"), "x", state=state)
    assert state.error == "something else"


# --- agents of other kinds --------------------------------------------------------------------------------------------


async def test_an_agent_that_only_quacks() -> None:
    class Duck:
        name = "duck"

        async def run(self, input: str, *, messages: Any = None, provider: Any = None, max_retries: int = 3) -> Any:
            return AgentOutput(text=f"quack {input}", usage=ONE)

    result = await run(Duck(), "x")
    assert (result.output, result.usage, result.steps) == ("quack x", ONE, 1)
    assert [message.role for message in result.messages] == ["user", "assistant"]


async def test_a_duck_in_a_circle_is_caught_over_a_shared_state() -> None:
    class Duck:
        name = "duck"

        async def run(self, input: str, **kwargs: Any) -> Any:
            return AgentOutput(tool_calls=[ToolCall(id="1", name="t", arguments='{"a": 1}')])

    state = RunState("duck")
    for _ in range(2):
        await call_runner(Duck(), "x", state=state)
    with pytest.raises(LoopDetectedError):
        await call_runner(Duck(), "x", state=state)


async def test_a_subclass_that_wraps_run_keeps_transcript_usage_and_loop_check() -> None:
    class Polite(Agent):
        async def run(self, input: str, **kwargs: Any) -> AgentOutput:
            output = await super().run(f"please, {input}", **kwargs)
            return output.model_copy(update={"text": f"{output.text}, thanks"})

    provider = Script(calls(("add", {"a": 1, "b": 2})), text("3"))
    result = await run(Polite(name="a", tools=[add]), "1+2", provider=provider)
    assert result.output == "3, thanks"
    assert result.usage.total_tokens == 30
    assert result.messages[0] == UserMessage(content="please, 1+2")
    with pytest.raises(LoopDetectedError):
        await run(Polite(name="a", tools=[add]), "x", provider=Script(*[calls(("add", {"a": 1, "b": 1}))] * 3))


async def test_a_run_inside_a_tool() -> None:
    inner = Agent(name="inner")

    @tool
    async def ask(question: str) -> str:
        return (await run(inner, question, provider=Script(text("inside")))).output

    provider = Script(calls(("ask", {"question": "?"})), text("done"))
    result = await run(Agent(name="a", tools=[ask]), "x", provider=provider)
    assert result.messages[2] == ToolResult(tool_call_id="call_0", tool_name="ask", content="inside")


async def test_one_agent_a_thousand_times_at_once_leaves_no_trace() -> None:
    # 3.2.3: agents were not re-entrant.
    agent = Agent(name="a", tools=[add])
    before = {name: dict(value) if isinstance(value, dict) else value for name, value in vars(agent).items()}

    class Echo:
        async def complete(self, messages: list[Message], **kwargs: Any) -> ModelResponse:
            await asyncio.sleep(0)
            if isinstance(messages[-1], ToolResult):
                return text(f"{messages[0].content}={messages[-1].content}")
            return calls(("add", {"a": int(str(messages[0].content)), "b": 1}))

    provider = Echo()
    results = await asyncio.gather(*(run(agent, str(n), provider=provider) for n in range(1000)))
    assert [result.output for result in results] == [f"{n}={n + 1}" for n in range(1000)]
    assert {name: dict(value) if isinstance(value, dict) else value for name, value in vars(agent).items()} == before


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
